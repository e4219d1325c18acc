package framework_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func failing(err error, opts ...framework.Option) framework.Component {
	return framework.Tool("t", func(context.Context, struct{}) (string, error) { return "", err }, opts...)
}

func TestErrorsOfTools(t *testing.T) {
	t.Parallel()
	const generic = "The tool failed. The error was logged."
	tests := map[string]struct {
		err    error
		text   string // of an isError result
		code   int    // of a JSON-RPC error
		logged bool
	}{
		"plain":             {errors.New("secret dsn"), generic, 0, true},
		"user":              {framework.UserErrorf("no order %d", 7), "no order 7", 0, false},
		"user wraps":        {framework.UserErrorf("cannot read: %w", io.EOF), "cannot read: EOF", 0, false},
		"wrapped user":      {fmt.Errorf("loading secret: %w", framework.UserErrorf("no order")), "no order", 0, false},
		"not found":         {framework.NotFoundf("no order %d", 7), "no order 7", 0, false},
		"outermost":         {framework.UserErrorf("%w", &protocol.Error{Code: 5, Message: "inner"}), "inner (JSON-RPC error 5)", 0, false},
		"protocol":          {&protocol.Error{Code: -32050, Message: "mine"}, "mine", -32050, false},
		"wrapped protocol":  {fmt.Errorf("x: %w", &protocol.Error{Code: -32050, Message: "mine"}), "mine", -32050, false},
		"declined":          {framework.ErrDeclined, "The user declined", 0, false},
		"cancelled":         {fmt.Errorf("asking: %w", framework.ErrCancelled), "dismissed", 0, false},
		"unsupported":       {framework.ErrUnsupported, "cannot be asked", 0, false},
		"because":           {framework.Because(framework.UserErrorf("try later"), errors.New("secret dsn")), "try later", 0, true},
		"because of plain":  {framework.Because(errors.New("try later"), errors.New("secret dsn")), "try later", 0, true},
		"joined user":       {errors.Join(framework.UserErrorf("a"), framework.UserErrorf("b"), errors.New("secret")), "a\nb", 0, false},
		"someone's cancel":  {context.Canceled, generic, 0, true},
		"someone's timeout": {context.DeadlineExceeded, generic, 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.InfoLevel)
			s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(failing(tt.err)))
			for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
				r := dial(t, s, rev).tool("t", `{}`).omits("secret")
				if tt.code != 0 {
					r.code(tt.code)
				} else {
					r.isError()
				}
				if !strings.Contains(strings.ToLower(r.text()), strings.ToLower(tt.text)) {
					t.Errorf("%s: text = %q, want %q", rev, r.text(), tt.text)
				}
			}
			if got := logs.Len() > 0; got != tt.logged {
				t.Errorf("logged %v, want %v: %v", got, tt.logged, logs.All())
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(failing(errors.Join(
		framework.InvalidArgumentf("from.city", "there is no city %q", "Xyz"),
		framework.InvalidArgumentf("/to", "must be later"),
	))))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		dial(t, s, rev).tool("t", `{}`).isError().mentions("t: 2 problems.", `/from/city: there is no city "Xyz".`, "/to: must be later.")
	})
	dial(t, s, protocol.Rev20250618).tool("t", `{}`).code(protocol.CodeInvalidParams).mentions("t: 2 problems.")
}

func TestErrorIdentity(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	shown := framework.UserErrorf("shown")
	because := framework.Because(shown, cause)
	for name, ok := range map[string]bool{
		"because is cause":        errors.Is(because, cause),
		"because is shown":        errors.Is(because, shown),
		"because nil error":       errors.Is(framework.Because(nil, cause), cause),
		"because nil cause":       errors.Is(framework.Because(shown, nil), shown),
		"not found":               errors.Is(framework.NotFoundf("x"), framework.ErrNotFound),
		"user is not not found":   !errors.Is(framework.UserErrorf("x"), framework.ErrNotFound),
		"user wraps":              errors.Is(framework.UserErrorf("x: %w", cause), cause),
		"unsupported":             errors.Is(framework.ErrUnsupported, errors.ErrUnsupported),
		"cancelled is not ctx's":  !errors.Is(framework.ErrCancelled, context.Canceled),
		"argument wraps":          errors.Is(framework.InvalidArgumentf("a", "x: %w", cause), cause),
		"argument names its path": framework.InvalidArgumentf("a.b", "x").Error() == "/a/b: x",
	} {
		if !ok {
			t.Error(name)
		}
	}
}

type panicky struct{}

func (*panicky) Validate() error { panic("secret") }

// TestPanicsOfTypes: user code in decoding and encoding is guarded like the function.
func TestPanicsOfTypes(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Tool("in", func(context.Context, panicky) (string, error) { return "", nil }),
		framework.Tool("out", func(context.Context, struct{}) (loud, error) { return loud{}, nil }),
	))
	p := dial(t, s, protocol.Rev20251125)
	p.tool("in", `{}`).isError().omits("secret")
	p.tool("out", `{}`).isError().omits("secret")
}

type loud struct{}

func (loud) MarshalJSON() ([]byte, error) { panic("secret") }

func TestPanics(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	var seen error
	mw := framework.OnToolCall("see", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		r, err := next(ctx, call)
		seen = err
		return r, err
	})
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Use(mw).Add(
		framework.Tool("t", func(context.Context, struct{}) (string, error) { panic("secret") }),
		framework.Func("f", func() string { panic("secret") }),
		framework.Resource("a://b", func(context.Context) (string, error) { panic("secret") }),
		framework.Prompt("p", func(context.Context, struct{}) (framework.Messages, error) { panic("secret") }),
		framework.Tool("m", none, framework.With(framework.Middleware{Name: "bad", Wrap: func(framework.Handler) framework.Handler {
			return func(context.Context, *framework.Call) (*framework.Result, error) { panic("secret") }
		}})),
	))
	p := dial(t, s, protocol.Rev20260728)
	p.tool("t", `{}`).isError().omits("secret").mentions("The tool failed")
	if seen == nil || !strings.Contains(seen.Error(), "secret") {
		t.Errorf("the middleware saw %v", seen)
	}
	p.tool("f", `{}`).isError().omits("secret")
	p.read("a://b").code(protocol.CodeInternal).omits("secret")
	p.call("prompts/get", `{"name":"p"}`).code(protocol.CodeInternal).omits("secret")
	p.tool("m", `{}`).code(protocol.CodeInternal).omits("secret")
	if logs.Len() != 5 {
		t.Errorf("%d of 5 panics were logged", logs.Len())
	}
	for _, e := range logs.All() {
		if stack, _ := e.ContextMap()["stack"].(string); !strings.Contains(stack, "errors_test.go") {
			t.Errorf("no stack in %v", e.ContextMap())
		}
	}
}

func TestErrorDetailAndMapper(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		detail := build(t, quiet(framework.WithErrorDetail()).Add(failing(errors.New("the dsn"))))
		dial(t, detail, rev).tool("t", `{}`).isError().mentions("the dsn")
		domain := errors.New("domain")
		mapper := func(_ context.Context, err error) error {
			if errors.Is(err, domain) {
				return framework.UserErrorf("mapped")
			}
			return nil
		}
		s := build(t, quiet(framework.WithErrorMapper(mapper)).Add(failing(fmt.Errorf("x: %w", domain))))
		if got := dial(t, s, rev).tool("t", `{}`).isError().text(); got != "mapped" {
			t.Errorf("got %q", got)
		}
		s = build(t, quiet(framework.WithErrorMapper(mapper)).Add(failing(errors.New("secret"))))
		dial(t, s, rev).tool("t", `{}`).isError().omits("secret").mentions("The tool failed")
		s = build(t, quiet(framework.WithErrorMapper(func(context.Context, error) error { panic("secret") })).Add(failing(domain)))
		dial(t, s, rev).tool("t", `{}`).isError().omits("secret")
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, framework.Timeout(3*time.Second))))
		began := time.Now()
		dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().mentions("The tool took longer than 3s")
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestTimeoutInAnEffect: the context of an effect ends as canceled, and the timeout is still the reason.
func TestTimeoutInAnEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outcome framework.Outcome
		s := build(t, quiet().Use(keeping(&outcome)).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			return framework.Once(ctx, "query", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
		}, framework.Timeout(3*time.Second))))
		dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().mentions("The tool took longer than 3s")
		if outcome != framework.OutcomeTimeout {
			t.Errorf("the outcome is %s", outcome)
		}
	})
}

// TestPanicAfterTheTimeout: the client sees the timeout, and the log has the panic.
func TestPanicAfterTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			panic("too late")
		}, framework.Timeout(3*time.Second))))
		dial(t, s, protocol.Rev20260728).tool("t", `{}`).isError().omits("too late").mentions("The tool took longer than 3s")
		if logs.Len() != 1 || logs.All()[0].ContextMap()["stack"] == nil {
			t.Errorf("logged %v", logs.All())
		}
	})
}

// TestFailureHasTheRequestID: a client's report of "request req-7" leads to the entry in the log.
func TestFailureHasTheRequestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{`"req-\"7"`: `req-"7`, `17`: "17", `"` + strings.Repeat("x", 200) + `"`: strings.Repeat("x", 128) + "…"} {
		core, logs := observer.New(zap.ErrorLevel)
		s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(failing(io.EOF)))
		dial(t, s, protocol.Rev20251125).frame(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t","arguments":{}}}`)
		if logs.Len() != 1 || logs.All()[0].ContextMap()["requestId"] != want {
			t.Errorf("%s: logged %v", id, logs.All())
		}
	}
}

// TestFailureOfACancelledCall: many dependencies answer a cancellation with an error of their own. It
// is not a failure of the server. Panics are.
func TestFailureOfACancelledCall(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"t","arguments":{}}}`
	for title, test := range map[string]struct {
		fail    func(context.Context) error
		outcome framework.Outcome
		logged  []zapcore.Level
	}{
		"the context's error": {func(ctx context.Context) error { return ctx.Err() }, framework.OutcomeCancelled, nil},
		"an error of its own": {func(context.Context) error { return errors.New("canceling statement") }, framework.OutcomeCancelled, []zapcore.Level{zap.WarnLevel}},
		"a panic":             {func(context.Context) error { panic("x") }, framework.OutcomeFailed, []zapcore.Level{zap.ErrorLevel}},
	} {
		for way, end := range map[string]func(*peer, context.CancelFunc){
			"cancelled": func(p *peer, _ context.CancelFunc) {
				p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
			},
			"the client is gone": func(_ *peer, leave context.CancelFunc) { leave() },
		} {
			t.Run(title+", "+way, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					core, logs := observer.New(zap.InfoLevel)
					var outcome framework.Outcome
					s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Use(keeping(&outcome)).Add(
						framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
							<-ctx.Done()
							return "", test.fail(ctx)
						})))
					p := dial(t, s, protocol.Rev20251125)
					ctx, leave := context.WithCancel(p.ctx)
					defer leave()
					served := make(chan struct{})
					go func() {
						defer close(served)
						if x, err := s.Accept(ctx, []byte(call)); err == nil {
							_ = x.Serve(ctx, transport.OutboundFunc(p.receive))
						}
					}()
					synctest.Wait()
					end(p, leave)
					<-served
					var levels []zapcore.Level
					for _, entry := range logs.All() {
						levels = append(levels, entry.Level)
					}
					if outcome != test.outcome || !slices.Equal(levels, test.logged) {
						t.Errorf("the outcome is %s, logged %v", outcome, logs.All())
					}
				})
			})
		}
	}
}

// keeping is middleware that keeps the outcome of the last call.
func keeping(outcome *framework.Outcome) framework.Middleware {
	return framework.Middleware{Name: "keeping", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			*outcome = framework.OutcomeOf(ctx, result, err)
			return result, err
		}
	}}
}
