package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

// counting is a tool t that says how often it ran.
func counting(runs *int, opts ...framework.Option) framework.Component {
	return framework.Tool("t", func(context.Context, map[string]any) (string, error) {
		*runs++
		return fmt.Sprint("run ", *runs), nil
	}, opts...)
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := build(t, quiet().Use(middleware.Cache(time.Minute, 2)).Add(counting(&runs, framework.ReadOnly(), framework.Idempotent())))
		is := func(arguments, want string) {
			t.Helper()
			if got := call(t.Context(), t, s, arguments); got.text() != want {
				t.Errorf("%s: %s, want %s", arguments, got.raw, want)
			}
		}
		is(`{"a":1,"b":["x"]}`, "run 1")
		is(`{"a":1,"b":["x"]}`, "run 1")
		is(` { "b" : [ "\u0078" ] , "a" : 1 } `, "run 1")
		is(`{"a":2}`, "run 2")
		time.Sleep(59 * time.Second)
		is(`{"a":1,"b":["x"]}`, "run 1")
		is(`{"a":3}`, "run 3") // and {"a":2} is forgotten
		is(`{"a":1,"b":["x"]}`, "run 1")
		is(`{"a":2}`, "run 4")
		time.Sleep(time.Second)
		is(`{"a":1,"b":["x"]}`, "run 5")
		time.Sleep(time.Minute)
		is(`{"a":2}`, "run 6")
	})
}

// What must never come from a cache.
func TestCacheKeepsOut(t *testing.T) {
	t.Parallel()
	both := []framework.Option{framework.ReadOnly(), framework.Idempotent()}
	for name, tool := range map[string]func(runs *int) framework.Component{
		"not idempotent": func(runs *int) framework.Component { return counting(runs, framework.ReadOnly()) },
		"not read-only":  func(runs *int) framework.Component { return counting(runs, framework.Idempotent()) },
		"an error": func(runs *int) framework.Component {
			return doing(func(context.Context) error { *runs++; return errors.New("EOF") }, both...)
		},
		"an isError result": func(runs *int) framework.Component {
			fails := framework.OnToolCall("fails", func(context.Context, *framework.Call, framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
				*runs++
				return &protocol.CallToolResult{IsError: true}, nil
			})
			return doing(nothing, append(both, framework.With(fails))...)
		},
		"a large one": func(runs *int) framework.Component {
			return framework.Tool("t", func(context.Context, struct{}) (string, error) {
				*runs++
				return strings.Repeat("x", 256<<10+1), nil
			}, both...)
		},
	} {
		runs := 0
		s := build(t, quiet().Use(middleware.Cache(time.Hour, 10)).Add(tool(&runs)))
		call(t.Context(), t, s, `{}`)
		call(t.Context(), t, s, `{}`)
		if runs != 2 {
			t.Errorf("%s: ran %d times, want 2", name, runs)
		}
	}
}

// What one caller has asked for is not another's.
func TestCacheByPrincipal(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.Cache(time.Hour, 100)).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		p := framework.Caller(ctx).Principal
		if p == nil {
			return "nobody", nil
		}
		return fmt.Sprint(p.Issuer, " ", p.Subject, " ", p.Scopes), nil
	}, framework.ReadOnly(), framework.Idempotent())))
	for range 2 {
		for _, p := range []framework.Principal{
			{Issuer: "i", Subject: "ann"},
			{Issuer: "i", Subject: "bob"},
			{Issuer: "j", Subject: "ann"},
			{Issuer: "", Subject: "iann"},
			{Issuer: "i", Subject: "ann", Scopes: []string{"admin"}},
			{Issuer: "i", Subject: "ann", Scopes: []string{"admi", "n"}},
		} {
			want := fmt.Sprint(p.Issuer, " ", p.Subject, " ", p.Scopes)
			if got := call(withPrincipal(t.Context(), &p), t, s, `{}`); got.text() != want {
				t.Errorf("answered %q, want %q", got.text(), want)
			}
		}
		if got := call(t.Context(), t, s, `{}`); got.text() != "nobody" {
			t.Errorf("answered %q to nobody", got.text())
		}
	}
}

// Two servers, and two components, behind one value do not see each other's.
func TestCacheByComponent(t *testing.T) {
	t.Parallel()
	mw := middleware.Cache(time.Hour, 100)
	for i := range 2 {
		runs := i * 10
		s := build(t, quiet().Use(mw).Add(counting(&runs, framework.ReadOnly(), framework.Idempotent())))
		if got := call(t.Context(), t, s, `{}`); got.text() != fmt.Sprint("run ", i*10+1) {
			t.Errorf("answered %s", got.raw)
		}
	}
}

// A call that asked is another's answer, in rounds and live.
func TestCacheOfCallsThatAsk(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.Cache(time.Hour, 100)).Add(asking(1, framework.ReadOnly(), framework.Idempotent())))
	for range 2 {
		if got := again(t.Context(), t, s, call(t.Context(), t, s, `{}`), true); got.text() != "done" {
			t.Errorf("answered %s", got.raw)
		}
	}
	runs := 0
	live := build(t, quiet().Use(middleware.Cache(time.Hour, 100)).Add(doing(func(ctx context.Context) error {
		runs++
		_, err := framework.Elicit[confirm](ctx, "Sure?")
		return err
	}, framework.ReadOnly(), framework.Idempotent())))
	p := shake(t, live)
	for range 2 {
		if got := p.call(t, `{}`); got.text() != "done" {
			t.Errorf("answered %s", got.raw)
		}
	}
	if runs != 2 {
		t.Errorf("ran %d times", runs)
	}
}

// What a step further out does to an answer does not get into the cache.
func TestCacheIsItsOwn(t *testing.T) {
	t.Parallel()
	stamp := framework.OnToolCall("stamp", func(ctx context.Context, c *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		r, err := next(ctx, c)
		if err == nil {
			r.Content[0] = framework.Text("stamped " + c.ID)
			r.Meta["example.com/x"] = c.ID
		}
		return r, err
	})
	stamp.Phase = framework.PhaseTrace
	s := build(t, quiet().Use(stamp, middleware.Cache(time.Hour, 100)).Add(framework.Tool("t", func(context.Context, struct{}) (framework.Rich[string], error) {
		return framework.Rich[string]{Value: "x", Meta: protocol.Meta{"example.com/y": json.Number("1")}}, nil
	}, framework.ReadOnly(), framework.Idempotent())))
	seen := map[string]bool{}
	for range 3 {
		got := call(t.Context(), t, s, `{}`)
		if got.Error != nil || seen[got.text()] {
			t.Errorf("answered %s", got.raw)
		}
		seen[got.text()] = true
	}
}

// The note that all arguments came as one string is for that call only.
func TestCacheOfQuotedArguments(t *testing.T) {
	t.Parallel()
	runs := 0
	s := build(t, quiet().Use(middleware.Cache(time.Hour, 10)).Add(counting(&runs, framework.ReadOnly(), framework.Idempotent())))
	if got := call(t.Context(), t, s, `"{}"`); !strings.Contains(got.raw, `"kagami/repaired":[""]`) {
		t.Errorf("answered %s", got.raw)
	}
	if got := call(t.Context(), t, s, `{}`); got.text() == "" || strings.Contains(got.raw, "kagami/repaired") {
		t.Errorf("answered %s", got.raw)
	}
}
