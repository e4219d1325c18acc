package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type config struct {
	Debug bool `json:"debug"`
}

func fixed[Out any](out Out, opts ...framework.Option) framework.Component {
	return framework.Resource("a://b/c.txt", func(context.Context) (Out, error) { return out, nil }, opts...)
}

func TestResourceResults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		component framework.Component
		want      string
	}{
		"text":      {fixed("hi"), `[{"uri":"a://b/c.txt","mimeType":"text/plain","text":"hi"}]`},
		"empty":     {fixed(""), `[{"uri":"a://b/c.txt","mimeType":"text/plain","text":""}]`},
		"mime":      {fixed("# hi", framework.MIME("text/markdown")), `[{"uri":"a://b/c.txt","mimeType":"text/markdown","text":"# hi"}]`},
		"bytes":     {fixed([]byte("\x89PNG\r\n\x1a\n")), `[{"uri":"a://b/c.txt","mimeType":"image/png","blob":"iVBORw0KGgo="}]`},
		"no bytes":  {fixed([]byte(nil), framework.MIME("a/b")), `[{"uri":"a://b/c.txt","mimeType":"a/b","blob":""}]`},
		"json":      {fixed(config{true}), `[{"uri":"a://b/c.txt","mimeType":"application/json","text":"{\"debug\":true}"}]`},
		"raw":       {fixed(json.RawMessage(`[1]`)), `[{"uri":"a://b/c.txt","mimeType":"application/json","text":"[1]"}]`},
		"contents":  {fixed(framework.Contents{Text: "x", MIME: "a/b"}), `[{"uri":"a://b/c.txt","mimeType":"a/b","text":"x"}]`},
		"several":   {fixed([]framework.Contents{{Text: "x", MIME: "a/b"}, {URI: "d://e", Text: "y", MIME: "a/b"}}), `[{"uri":"a://b/c.txt","mimeType":"a/b","text":"x"},{"uri":"d://e","mimeType":"a/b","text":"y"}]`},
		"embedded":  {fixed(framework.Embedded{Contents: framework.Contents{Text: "x", MIME: "a/b"}}), `[{"uri":"a://b/c.txt","mimeType":"a/b","text":"x"}]`},
		"no parts":  {fixed([]framework.Contents{}), `[]`},
		"of nobody": {fixed(map[string]int(nil)), `[{"uri":"a://b/c.txt","mimeType":"application/json","text":"{}"}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Add(tt.component))
			for _, rev := range protocol.Revisions() {
				got, _ := json.Marshal(dial(t, s, rev).read("a://b/c.txt").field("contents"))
				if !sameJSON(t, string(got), tt.want) {
					t.Errorf("%s: got %s, want %s", rev, got, tt.want)
				}
			}
		})
	}
}

func TestResourceListing(t *testing.T) {
	t.Parallel()
	a := protocol.Annotations{Priority: new(0.5), Audience: []protocol.Role{protocol.RoleUser}}
	annotated := framework.Annotate(a)
	*a.Priority, a.Audience[0] = 0.9, protocol.RoleAssistant // the option has copied them
	s := build(t, quiet().Add(
		fixed("x", framework.Title("T"), framework.Describe("D"), framework.Size(5), framework.MIME("a/b"), annotated),
		framework.Resource("config://app", text, framework.Name("conf")),
		framework.Resource("time://", text),
		framework.Resource("x://hidden", text, framework.Hidden()),
		framework.ResourceTemplate("users://{id}/profile", func(context.Context, struct{ ID string }) (config, error) { return config{}, nil }),
	))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		list := p.call("resources/list", "")
		if got := fmt.Sprint(list.names("resources", "name")); got != "[c.txt conf time]" {
			t.Errorf("names = %s", got)
		}
		for path, want := range map[string]any{
			"resources.0.uri": "a://b/c.txt", "resources.0.title": "T", "resources.0.description": "D", "resources.0.size": 5.0,
			"resources.0.mimeType": "a/b", "resources.0.annotations.priority": 0.5, "resources.0.annotations.audience.0": "user", "resources.1.mimeType": "text/plain",
		} {
			if got := list.field(path); got != want {
				t.Errorf("%s = %v, want %v", path, got, want)
			}
		}
		templates := p.call("resources/templates/list", "")
		if templates.field("resourceTemplates.0.name") != "profile" || templates.field("resourceTemplates.0.mimeType") != "application/json" {
			t.Errorf("templates = %s", templates.Result)
		}
		p.read("x://hidden").ok()
	})
}

func TestCacheHints(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		fixed("x", framework.Cache(90*time.Second, framework.CachePrivate)),
		framework.Resource("a://plain", text),
	))
	p := dial(t, s, protocol.Rev20260728)
	if r := p.read("a://b/c.txt"); r.field("ttlMs") != 90000.0 || r.field("cacheScope") != "private" {
		t.Errorf("hints = %s", r.Result)
	}
	if r := p.read("a://plain"); r.field("ttlMs") != 0.0 || r.field("cacheScope") != "public" {
		t.Errorf("hints = %s", r.Result)
	}
	if r := p.call("resources/list", ""); r.field("cacheScope") != "public" {
		t.Errorf("list = %s", r.Result)
	}
}

// TestCacheHintsOfAnAsker: what a user has answered is not the next one's.
func TestCacheHintsOfAnAsker(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Resource("a://asks", func(ctx context.Context) (string, error) {
		return framework.Elicit[string](ctx, "Who?")
	}, framework.Cache(time.Minute, framework.CachePublic))))
	a := newAsker(t, s, protocol.Rev20260728, byMessage(map[string]string{"Who?": said(`"Ada"`)}))
	r := a.do("resources/read", `{"uri":"a://asks"}`)
	if r.field("contents.0.text") != "Ada" || r.field("ttlMs") != 0.0 || r.field("cacheScope") != "private" {
		t.Errorf("result = %s", r.Result)
	}
}

func notFoundCode(rev protocol.Revision) int {
	if rev == protocol.Rev20260728 {
		return protocol.CodeInvalidParams
	}
	return -32002
}

func TestResourceErrors(t *testing.T) {
	t.Parallel()
	fail := func(uri string, err error) framework.Component {
		return framework.Resource(uri, func(context.Context) (string, error) { return "", err })
	}
	s := build(t, quiet().Add(
		fail("a://plain", errors.New("secret")),
		fail("a://user", framework.UserErrorf("the disk sleeps")),
		fail("a://gone", framework.NotFoundf("no such order")),
		fail("a://sentinel", fmt.Errorf("x: %w", framework.ErrNotFound)),
		fail("a://argument", framework.InvalidArgumentf("x", "is wrong")),
		fail("a://own", &protocol.Error{Code: -32050, Message: "mine"}),
		framework.Resource("a://none", func(context.Context) ([]framework.Contents, error) { return nil, nil }),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.read("a://plain").code(protocol.CodeInternal).omits("secret").mentions("The resource failed")
		p.read("a://user").code(protocol.CodeInternal).mentions("the disk sleeps")
		p.read("a://argument").code(protocol.CodeInvalidParams).mentions("/x: is wrong.")
		p.read("a://own").code(-32050).mentions("mine")
		for _, uri := range []string{"a://gone", "a://sentinel", "a://none", "a://unknown"} {
			r := p.read(uri).code(notFoundCode(rev))
			if !strings.Contains(string(r.Error.Data), `"uri":"`+uri+`"`) {
				t.Errorf("%s: data = %s", uri, r.Error.Data)
			}
		}
	})
}

type orderKey struct {
	User string `uri:"user"`
	Year int    `uri:"year" validate:"min=2000"`
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	byYear := framework.ResourceTemplate("orders://{user}/{year}", func(_ context.Context, k orderKey) (string, error) {
		return fmt.Sprintf("%s in %d", k.User, k.Year), nil
	})
	s := build(t, quiet().Add(
		framework.ResourceTemplate("orders://{user}{?q}", func(_ context.Context, k struct {
			User string `uri:"user"`
			Q    string `uri:"q" json:"q,omitempty"`
		},
		) (string, error) {
			return "all of " + k.User + " " + k.Q, nil
		}),
		byYear,
		framework.ResourceTemplate("orders://{user}/latest", func(_ context.Context, k struct {
			User string `uri:"user"`
		},
		) (string, error) {
			return "latest of " + k.User, nil
		}),
		framework.Resource("orders://ann/latest", func(context.Context) (string, error) { return "fixed", nil }),
	))
	for key, want := range map[orderKey]string{
		{"a b+c", 2024}: "orders://a%20b%2Bc/2024",
		{"a/b", 2024}:   "", // what reading refuses
		{"a", 1999}:     "",
		{"", 2024}:      "",
	} {
		if got := byYear.URI(key); got != want {
			t.Errorf("URI of %v = %q, want %q", key, got, want)
		}
	}
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for uri, want := range map[string]string{
			"orders://bob/2024":    "bob in 2024",
			"orders://b%20b/2024":  "b b in 2024",
			"orders://bob/latest":  "latest of bob",
			"orders://ann/latest":  "fixed",
			"orders://bob?q=x%20y": "all of bob x y",
			"orders://bob":         "all of bob ",
		} {
			r := p.read(uri).ok()
			if r.field("contents.0.text") != want || r.field("contents.0.uri") != uri {
				t.Errorf("%s = %s, want %s", uri, r.Result, want)
			}
		}
		p.read("orders://b%20b/1999").code(protocol.CodeInvalidParams).mentions("/year", "2000", "Try: orders://b%20b/2000")
		for _, uri := range []string{"orders://../2024", "orders://a%2Fb/2024", "orders://a%00/2024", "orders:///2024", "orders://%zz/2024"} {
			p.read(uri).code(notFoundCode(rev))
		}
	})
}
