package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func TestServerIdentity(t *testing.T) {
	t.Parallel()
	s := build(t, quiet(framework.WithTitle("A Title"), framework.WithInstructions("Be kind.")).Add(framework.Tool("t", none)))
	modern := dial(t, s, protocol.Rev20260728).call("server/discover", "")
	if modern.field("instructions") != "Be kind." {
		t.Errorf("discover = %s", modern.Result)
	}
	old := dial(t, s, protocol.Rev20251125)
	old.mu.Lock()
	opened := old.answers["1"]
	old.mu.Unlock()
	opened.t = t
	for path, want := range map[string]any{
		"instructions": "Be kind.", "serverInfo.title": "A Title", "serverInfo.name": "test", "serverInfo.version": "1.0.0",
		"capabilities.tools.listChanged": true, "capabilities.resources": nil,
	} {
		if got := opened.field(path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

// TestServerCard: the server shows itself where the revision has words for it, and once: it
// says in every answer on 2026-07-28 who it is, which does not repeat its icons.
func TestServerCard(t *testing.T) {
	t.Parallel()
	s := build(t, quiet(
		framework.WithDescription("Weather of the world."), framework.WithWebsiteURL("https://weather.example.com/"),
		framework.WithIcons(protocol.Icon{Src: "data:image/png;base64,AA", Sizes: []string{"48x48"}}),
	).Add(framework.Tool("t", none)))
	newest := dial(t, s, protocol.Rev20260728)
	meta, _ := newest.call("server/discover", "").field("_meta").(map[string]any)
	cards := map[string]any{"server/discover": meta["io.modelcontextprotocol/serverInfo"]}
	for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125} {
		p := dial(t, s, rev)
		p.mu.Lock()
		opened := p.answers["1"]
		p.mu.Unlock()
		opened.t = t
		cards[rev.String()] = opened.field("serverInfo")
	}
	const full = `{"description":"Weather of the world.","icons":[{"sizes":["48x48"],"src":"data:image/png;base64,AA"}],"name":"test","version":"1.0.0","websiteUrl":"https://weather.example.com/"}`
	for where, want := range map[string]string{
		"server/discover": full, "2025-11-25": full, "2025-06-18": `{"name":"test","version":"1.0.0"}`,
	} {
		if got, _ := json.Marshal(cards[where]); string(got) != want {
			t.Errorf("%s says %s, want %s", where, got, want)
		}
	}
	if r := newest.call("tools/list", ""); strings.Contains(string(r.Result), "websiteUrl") || !strings.Contains(string(r.Result), `"name":"test"`) {
		t.Errorf("tools/list says %s", r.Result)
	}
}

func TestToolListing(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", search, framework.Title("T"), framework.Idempotent(), framework.OpenWorld(false),
		framework.Icons(protocol.Icon{Src: "https://a/b.png"}), framework.Meta("example.com/k", 7))))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		r := dial(t, s, rev).call("tools/list", "")
		for path, want := range map[string]any{
			"tools.0.title": "T", "tools.0.annotations.idempotentHint": true, "tools.0.annotations.openWorldHint": false,
			"tools.0.annotations.readOnlyHint": nil, "tools.0.icons.0.src": "https://a/b.png",
			"tools.0.outputSchema.type": "object", "tools.0.inputSchema.properties.limit.default": 10.0,
		} {
			if got := r.field(path); got != want {
				t.Errorf("%s = %v, want %v", path, got, want)
			}
		}
		if meta, _ := r.field("tools.0._meta").(map[string]any); meta["example.com/k"] != 7.0 {
			t.Errorf("_meta = %v", meta)
		}
	})
}

// TestHandlesKnowThemselves: what was registered is what the handle says.
func TestHandlesKnowThemselves(t *testing.T) {
	t.Parallel()
	if got := framework.Resource("a://b", text).URI(); got != "a://b" {
		t.Errorf("URI = %q", got)
	}
	if got := framework.ResourceTemplate("a://{b", orders).URI(orderURI{}); got != "" {
		t.Errorf("a faulty template makes %q", got)
	}
	empty := framework.ResourceTemplate("a://{user}", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	if got := empty.URI(struct{ C chan int }{}); got != "" {
		t.Errorf("a faulty type makes %q", got)
	}
}

func TestQuestionsFromResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Resource("a://b", func(ctx context.Context) (bool, error) { return framework.Elicit[bool](ctx, "?") }),
		framework.Prompt("p", func(ctx context.Context, _ struct{}) (framework.Messages, error) {
			_, err := framework.Elicit[bool](ctx, "?")
			return nil, err
		}),
	))
	modern := dial(t, s, protocol.Rev20260728)
	modern.read("a://b").code(-32021)
	modern.call("prompts/get", `{"name":"p"}`).code(-32021)
	legacy := dial(t, s, protocol.Rev20251125)
	legacy.read("a://b").code(protocol.CodeInternal).mentions("not possible")
	asked := dial(t, s, protocol.Rev20251125, withCaps(`{"elicitation":{}}`), answering(func(string, rawJSON) string { return accept(`{"value":true}`) }))
	if got := asked.read("a://b").field("contents.0.text"); got != "true" {
		t.Errorf("read %v", got)
	}
}

func TestMultiChoice(t *testing.T) {
	t.Parallel()
	mint, plum := framework.Choice{Value: "mint", Title: "Mint"}, framework.Choice{Value: "plum"}
	type cone struct {
		Balls []string `json:"balls" validate:"min=1,max=2"`
	}
	for name, tt := range map[string]struct {
		pick    func(context.Context) (string, error)
		answers []string
		items   string
	}{
		"of an enum": {func(ctx context.Context) (string, error) {
			v, err := framework.Elicit[[]flavor](ctx, "?", framework.Choices("value", mint))
			return fmt.Sprint(v), err
		}, []string{`{"value":["plum"]}`, `{"value":["mint"]}`}, `{"anyOf":[{"const":"mint","title":"Mint"}]}`},
		"of texts": {func(ctx context.Context) (string, error) {
			v, err := framework.Elicit[[]string](ctx, "?", framework.Choices("value", plum, framework.Choice{Value: "mint"}))
			return fmt.Sprint(v), err
		}, []string{`{"value":["lime"]}`, `{"value":["mint"]}`}, `{"type":"string","enum":["plum","mint"]}`},
		"of a member": {func(ctx context.Context) (string, error) {
			v, err := framework.Elicit[cone](ctx, "?", framework.Choices("balls", plum, mint))
			return fmt.Sprint(v.Balls), err
		}, []string{`{"balls":[]}`, `{"balls":["mint"]}`}, `{"anyOf":[{"const":"plum","title":"plum"},{"const":"mint","title":"Mint"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := make([]string, len(tt.answers))
			for i, a := range tt.answers {
				answers[i] = accept(a)
			}
			r, asked := elicits(t, tt.pick, answers...)
			if r.text() != "[mint]" || len(asked) != 2 || !strings.Contains(string(asked[0]), `"items":`+tt.items) {
				t.Errorf("got %s after %s", r.text(), asked)
			}
		})
	}
}

// TestListWithoutChoices: a form cannot ask for texts of any kind.
func TestListWithoutChoices(t *testing.T) {
	t.Parallel()
	type cone struct {
		Balls []string `json:"balls"`
		Name  string   `json:"name"`
	}
	for name, ask := range map[string]func(ctx context.Context) error{
		"plain": func(ctx context.Context) error { _, err := framework.Elicit[[]string](ctx, "?"); return err },
		"member": func(ctx context.Context) error {
			_, err := framework.Elicit[cone](ctx, "?", framework.Choices("name", framework.Choice{Value: "a"}))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := elicits(t, func(ctx context.Context) (string, error) { return ask(ctx).Error(), nil })
			if !strings.Contains(r.text(), "give it Choices") || len(asked) != 0 {
				t.Errorf("got %s after %s", r.text(), asked)
			}
		})
	}
}

// TestNothingToChoose: a question without choices is an error, because it cannot be answered.
func TestNothingToChoose(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(ctx context.Context) error{
		"text": func(ctx context.Context) error {
			_, err := framework.Elicit[string](ctx, "?", framework.Choices("value"))
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := framework.Elicit[[]string](ctx, "?", framework.Choices("value", []framework.Choice{}...))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := elicits(t, func(ctx context.Context) (string, error) { return fmt.Sprint(ask(ctx)), nil })
			if !strings.Contains(r.text(), `Choices: the list for "value" is empty`) || len(asked) != 0 {
				t.Errorf("got %s after %s", r.text(), asked)
			}
		})
	}
}

type flavor string

func (flavor) Values() []flavor { return []flavor{"mint", "plum"} }

// TestCancellation: a cancelled call ends its handler, and is not answered.
func TestCancellation(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan error, 1)
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})))
	p := dial(t, s, protocol.Rev20251125)
	var work sync.WaitGroup
	work.Go(func() {
		p.frame(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"t"}}`)
	})
	<-started
	p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler saw %v", err)
	}
	work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, answered := p.answers["77"]; answered {
		t.Errorf("answered %s", r.Result)
	}
}

func TestUseFrames(t *testing.T) {
	t.Parallel()
	var order []string
	frame := func(name string) transport.Middleware {
		return func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				order = append(order, name)
				return next(ctx, frame, out)
			}
		}
	}
	s := build(t, quiet().UseFrames(frame("a"), frame("b")).Add(framework.Tool("t", none)))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).ok()
	if len(order) != 2 || order[0] != "a" {
		t.Errorf("ran %v", order)
	}
}

// A request that frame middleware refuses is answered with its error.
func TestFramesRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refusal error
		code    int
		text    string
	}{
		{framework.UserErrorf("not at night"), protocol.CodeInternal, "not at night"},
		{&protocol.Error{Code: -31000, Message: "gone"}, -31000, "gone"},
		{protocol.Faultf(protocol.FaultInvalidParams, "odd"), protocol.CodeInvalidParams, "odd"},
		{errors.New("the password is x"), protocol.CodeInternal, "internal error"},
		{framework.ErrUnsupported, protocol.CodeInternal, "internal error"},
		{framework.URLRequired("log in", "https://example.com"), protocol.CodeInternal, "internal error"},
	} {
		mapper := framework.WithErrorMapper(func(_ context.Context, err error) error { return framework.UserErrorf("mapped: %w", err) })
		s := build(t, quiet(mapper).UseFrames(func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				if strings.Contains(string(frame), "/list") {
					return tt.refusal
				}
				return next(ctx, frame, out)
			}
		}).Add(framework.Tool("t", none)))
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			p := dial(t, s, rev)
			p.call("tools/list", "").code(tt.code).mentions(tt.text)
			p.tool("t", `{}`).ok()
		})
	}
}

// TestTimeoutIsNotTheUsersError: a handler that fails in time is not blamed on the clock.
func TestTimeoutIsNotTheUsersError(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(failing(framework.UserErrorf("mine"), framework.Timeout(time.Hour))))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().mentions("mine")
}

// TestExtensions checks that all revisions declare the extensions of the program. Revisions with
// the tasks extension also declare it.
func TestExtensions(t *testing.T) {
	t.Parallel()
	s := build(t, quiet(
		framework.WithExtension("io.modelcontextprotocol/ui", nil), framework.WithExtension("example.com/x", map[string]int{"a": 1}),
	).Add(framework.Tool("t", none, framework.Task(framework.TaskOptional))))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		declared, want := p.answers["1"], `{"example.com/x":{"a":1},"io.modelcontextprotocol/ui":{}}`
		if !p.handshake() {
			declared = p.call("server/discover", "")
			want = `{"example.com/x":{"a":1},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}`
		}
		if got, _ := json.Marshal(declared.field("capabilities.extensions")); string(got) != want {
			t.Errorf("declared %s, want %s", got, want)
		}
	})
}

// A step that hides components from a list hides them from the answer to a misspelled name, too.
func TestHiddenNamesAreNotSuggested(t *testing.T) {
	t.Parallel()
	hide := framework.OnList("hide", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
		_, err := next(ctx, call)
		return nil, err
	})
	s := build(t, quiet().Use(hide).Add(framework.Tool("search", search)))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		dial(t, s, rev).tool("serch", `{}`).code(protocol.CodeInvalidParams).mentions(`unknown tool "serch"`).omits("Did you mean")
	})
}

// TestFramesRefuseAsHandlersDo: the log has the cause, and the client gets the text about an argument.
func TestFramesRefuseAsHandlersDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refusal error
		code    int
		text    string
		logged  int
	}{
		{framework.Because(framework.UserErrorf("not at night"), errors.New("the clock says 3")), protocol.CodeInternal, "not at night", 1},
		{framework.InvalidArgumentf("cursor", "is too old"), protocol.CodeInvalidParams, "is too old", 0},
	} {
		core, logs := observer.New(zap.ErrorLevel)
		s := build(t, quiet(framework.WithLogger(zap.New(core))).UseFrames(func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				if strings.Contains(string(frame), "/list") {
					return tt.refusal
				}
				return next(ctx, frame, out)
			}
		}).Add(framework.Tool("t", none)))
		dial(t, s, protocol.Rev20260728).call("tools/list", "").code(tt.code).mentions(tt.text).omits("clock")
		if logs.Len() != tt.logged || tt.logged > 0 && !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["error"]), "clock") {
			t.Errorf("%v: logged %v", tt.refusal, logs.All())
		}
	}
}
