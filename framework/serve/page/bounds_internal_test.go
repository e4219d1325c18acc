package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeysExpire checks that a printed address works once and for ten minutes, and that only the most
// recent addresses work.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard()
		old, other := g.key(), g.key()
		time.Sleep(keyLife - time.Second)
		if !g.use(old) || g.use(old) {
			t.Error("a key does not work exactly once")
		}
		time.Sleep(time.Second)
		if g.use(other) {
			t.Error("an old key is accepted")
		}
		first := g.key()
		for range maxKeys {
			time.Sleep(time.Second)
			other = g.key()
		}
		if len(g.keys) != maxKeys || g.use(first) || !g.use(other) {
			t.Errorf("%d keys are known", len(g.keys))
		}
	})
}

// TestRunningCallsAreBounded checks that a call above the limit is refused and not kept.
func TestRunningCallsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCalls()
	for i := range maxRunning {
		if err := c.add(&call{ID: fmt.Sprint(i), Phase: phaseSent}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.add(&call{ID: "more", Phase: phaseSent}); err == nil || c.running != maxRunning || c.byID["more"] != nil {
		t.Errorf("%d calls run, %v", c.running, err)
	}
}

// TestQuestionsAreBounded checks that a server cannot ask an unlimited number of questions.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPage(Options{})
	t.Cleanup(func() { _ = p.Close() })
	for i := range maxQuestions {
		p.asked.open[fmt.Sprint(i)] = &question{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.ask(ctx, &question{Kind: "form"}); err == nil || !strings.Contains(err.Error(), "too many questions") {
		t.Error(err)
	}
}

// TestHiddenHeaders checks that proofs, and header fields that the user has set, are not shown. The
// request keeps them.
func TestHiddenHeaders(t *testing.T) {
	t.Parallel()
	sent := http.Header{"X-Tenant": {"acme"}, "Dpop": {"eyJ"}, "Authorization": {"Bearer x"}, "Accept": {"application/json"}}
	kept := sent.Clone()
	got := (&recorder{own: http.Header{"X-Tenant": {"acme"}, "X-Other": {"y"}}}).hide(sent)
	for name, want := range map[string]string{"X-Tenant": "•••", "Dpop": "•••", "Authorization": "•••", "Accept": "application/json", "X-Other": ""} {
		if got.Get(name) != want {
			t.Errorf("%s is shown as %q", name, got.Get(name))
		}
	}
	for name := range kept {
		if sent.Get(name) != kept.Get(name) {
			t.Errorf("the request has %s: %q", name, sent.Get(name))
		}
	}
}
