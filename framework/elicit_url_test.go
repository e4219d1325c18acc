package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

var idPattern = regexp.MustCompile(`^https://example\.com/go\?e=([A-Za-z0-9_-]{22})$`)

const pageURL = "https://example.com/go?e={elicitationId}"

func TestElicitURL(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		if err := framework.ElicitURL(ctx, "first", pageURL); err != nil {
			return err
		}
		return framework.ElicitURL(ctx, "second", pageURL, framework.Key("two"))
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		ids := map[string]bool{}
		for range 2 { // calls
			a := newAsker(t, s, rev, func(_ string, q question) string {
				m := idPattern.FindStringSubmatch(q.URL)
				if m == nil {
					t.Fatalf("asked to visit %q", q.URL)
				}
				ids[m[1]] = true
				if want := map[bool]string{true: m[1]}[rev == protocol.Rev20251125]; q.ID != want {
					t.Errorf("elicitationId %q, in the URL %q", q.ID, m[1])
				}
				return `{"action":"accept"}`
			})
			if got := a.do("tools/call", `{"name":"t"}`).text(); got != "done" {
				t.Errorf("got %q", got)
			}
		}
		if len(ids) != 4 {
			t.Errorf("ids %v", ids)
		}
	})
}

func TestElicitationComplete(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		doing(func(ctx context.Context) error { return framework.ElicitURL(ctx, "visit", pageURL) }),
		framework.Tool("required", func(context.Context, struct{}) (string, error) {
			return "", framework.URLRequired("log in", pageURL)
		}),
	))
	var id string
	accepting := func(_ string, q question) string {
		id = q.ID
		return `{"action":"accept"}`
	}
	a, other := newAsker(t, s, protocol.Rev20251125, accepting), newAsker(t, s, protocol.Rev20251125, accepting)
	a.tool("t", `{}`).ok()
	complete := func(id string) {
		t.Helper()
		if err := s.ElicitationComplete(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	complete("unknown")
	complete(id)
	complete(id) // again: it is done
	got := a.notifications(protocol.NotificationElicitationComplete)
	if len(got) != 1 || !sameJSON(t, string(got[0]), fmt.Sprintf(`{"elicitationId":%q}`, id)) {
		t.Errorf("notified %s", got)
	}
	var data struct {
		Elicitations []struct{ ElicitationID string }
	}
	if err := json.Unmarshal(a.tool("required", `{}`).code(-32042).Error.Data, &data); err != nil {
		t.Fatal(err)
	}
	complete(data.Elicitations[0].ElicitationID)
	if got := a.notifications(protocol.NotificationElicitationComplete); len(got) != 2 {
		t.Errorf("notified %s", got)
	}
	if got := other.notifications(protocol.NotificationElicitationComplete); got != nil {
		t.Errorf("another client is told %s", got)
	}
	modern := newAsker(t, s, protocol.Rev20260728, func(_ string, q question) string {
		id = idPattern.FindStringSubmatch(q.URL)[1]
		return `{"action":"accept"}`
	})
	modern.do("tools/call", `{"name":"t"}`).ok()
	complete(id)
	if got := modern.notifications(protocol.NotificationElicitationComplete); got != nil {
		t.Errorf("2026-07-28 has no such notification: %s", got)
	}
}

func TestElicitationCompleteOfAnEndedSession(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error { return framework.ElicitURL(ctx, "visit", pageURL) })))
	var id string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := newAsker(t, s, protocol.Rev20251125, func(_ string, q question) string {
		id = q.ID
		return `{"action":"accept"}`
	}, func(p *peer) { p.ctx = ctx })
	a.tool("t", `{}`).ok()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.ElicitationComplete(t.Context(), id); err == nil {
		t.Error("told nobody, and said nothing")
	}
}

func TestURLRequired(t *testing.T) {
	t.Parallel()
	logged := false // in
	required := func(context.Context) (string, error) {
		if !logged {
			return "", fmt.Errorf("listing: %w", framework.URLRequired("Log in first.", pageURL))
		}
		return "welcome", nil
	}
	s := build(t, quiet().Add(
		framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return required(ctx) }),
		framework.Resource("r://x", required),
		framework.Prompt("p", func(ctx context.Context, _ struct{}) (framework.Messages, error) {
			text, err := required(ctx)
			return framework.Messages{framework.User(text)}, err
		}),
	))
	calls := map[string]string{"tools/call": `{"name":"t","arguments":{}}`, "resources/read": `{"uri":"r://x"}`, "prompts/get": `{"name":"p"}`}
	for method, params := range calls {
		logged = false
		r := newAsker(t, s, protocol.Rev20251125, nil).call(method, params).code(-32042)
		var data struct {
			Elicitations []struct{ Mode, Message, URL, ElicitationID string }
		}
		if err := json.Unmarshal(r.Error.Data, &data); err != nil || len(data.Elicitations) != 1 {
			t.Fatalf("data = %s", r.Error.Data)
		}
		e := data.Elicitations[0]
		if m := idPattern.FindStringSubmatch(e.URL); e.Mode != "url" || e.Message != "Log in first." || m == nil || m[1] != e.ElicitationID {
			t.Errorf("data = %s", r.Error.Data)
		}

		visits, pages := 0, map[string]bool{}
		a := newAsker(t, s, protocol.Rev20260728, func(_ string, q question) string {
			pages[q.URL] = true
			visits++
			logged = visits == 3 // the page takes its time
			return `{"action":"accept"}`
		})
		if got := textOf(t, a.do(method, params)); got != "welcome" || visits != 3 || len(pages) != 1 {
			t.Errorf("%s: got %q after %d visits of %v", method, got, visits, pages)
		}

		logged = false
		a = newAsker(t, s, protocol.Rev20260728, func(string, question) string { return `{"action":"decline"}` })
		if got := textOf(t, a.do(method, params)); got != "The user declined to answer." || len(a.asked) != 1 {
			t.Errorf("%s: got %q after %q", method, got, a.asked)
		}

		a = newAsker(t, s, protocol.Rev20260728, func(string, question) string { return `{"action":"accept"}` })
		a.between = func() {
			if a.rounds > 40 {
				t.Fatal("the rounds have no bound")
			}
		}
		if got := textOf(t, a.do(method, params)); !strings.HasPrefix(got, "Log in first.\nVisit: https://") || len(a.asked) != 3 {
			t.Errorf("%s: after %d visits: %s", method, len(a.asked), got)
		}
		for _, rev := range protocol.Revisions() {
			got := textOf(t, dial(t, s, rev, withCaps(`{"elicitation":{}}`)).call(method, params))
			if !strings.HasPrefix(got, "Log in first.\nVisit: https://example.com/go?e=") || strings.Contains(got, "{") {
				t.Errorf("%s at %s: %q", method, rev, got)
			}
		}
	}
}

func TestURLRequiredOfMiddleware(t *testing.T) {
	t.Parallel()
	logged := false
	guard := framework.Middleware{Name: "guard", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			if !logged {
				return nil, errors.New("no token")
			}
			return next(ctx, call)
		}
	}}
	s := build(t, quiet(framework.WithErrorMapper(func(context.Context, error) error {
		return framework.URLRequired("Log in first.", pageURL)
	})).Use(guard).Add(framework.Tool("t", none)))
	newAsker(t, s, protocol.Rev20251125, nil).tool("t", `{}`).code(-32042)
	a := newAsker(t, s, protocol.Rev20260728, func(string, question) string {
		logged = true
		return `{"action":"accept"}`
	})
	a.do("tools/call", `{"name":"t"}`).ok()
}

func TestPagesWithoutAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "/login", "javascript:alert(1)", "https://", "https://exa mple.com/"} {
		s := build(t, quiet().Add(
			framework.Tool("elicit", func(ctx context.Context, _ struct{}) (string, error) {
				return "", framework.ElicitURL(ctx, "m", address)
			}),
			framework.Tool("require", func(context.Context, struct{}) (string, error) { return "", framework.URLRequired("m", address) }),
		))
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			a := newAsker(t, s, rev, byMessage(nil))
			a.tool("elicit", `{}`).isError().mentions("failed")
			a.tool("require", `{}`).code(protocol.CodeInternal)
			if a.asked != nil {
				t.Errorf("asked %q", a.asked)
			}
		})
	}
}

// TestURLRequiredIsAQuestion: steps see the page that a handler demands in rounds as a question.
func TestURLRequiredIsAQuestion(t *testing.T) {
	t.Parallel()
	var steps atomic.Int32
	var outcomes []framework.Outcome
	watch := framework.Middleware{Name: "watch", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			outcomes = append(outcomes, framework.OutcomeOf(ctx, result, err))
			return result, err
		}
	}}
	logged := false
	s := build(t, quiet().Use(watch, counting(&steps)).Add(framework.Tool("t", func(context.Context, struct{}) (string, error) {
		if !logged {
			return "", framework.URLRequired("Log in first.", pageURL)
		}
		return "welcome", nil
	})))
	a := newAsker(t, s, protocol.Rev20260728, func(string, question) string {
		logged = true
		return `{"action":"accept"}`
	})
	if got := a.do("tools/call", `{"name":"t"}`).text(); got != "welcome" {
		t.Errorf("got %q", got)
	}
	if want := []framework.Outcome{framework.OutcomePending, framework.OutcomeOK}; !slices.Equal(outcomes, want) || steps.Load() != 1 {
		t.Errorf("outcomes %q, and the step ran %d times", outcomes, steps.Load())
	}
}
