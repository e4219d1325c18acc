package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
)

// TestNodesBusWasAway checks that updates that are published while the bus is away still arrive.
func TestNodesBusWasAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hooks{}
		all := twoHooked(t, h, "x://1", "x://2", "x://3")
		p := dial(t, all[0], core)
		for _, uri := range []string{"x://1", "x://2", "x://3"} {
			p.call("resources/subscribe", `{"uri":"`+uri+`"}`).ok()
		}
		synctest.Wait()
		var tries atomic.Int32
		h.publish = func() error {
			if tries.Add(1) > 1 {
				return nil
			}
			time.Sleep(time.Second) // the other updates come meanwhile
			return errors.New("away")
		}
		for _, uri := range []string{"x://1", "x://2", "x://3"} {
			all[1].ResourceUpdated(t.Context(), uri)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := fmt.Sprintf("%s", p.notifications("notifications/resources/updated"))
		for _, uri := range []string{"x://1", "x://2", "x://3"} { // the first was lost
			if !strings.Contains(got, uri) {
				t.Errorf("%s is not in what was told: %s", uri, got)
			}
		}
	})
}

// oblivious is a bus that reports, for each value from lose, that messages may have been lost.
type oblivious struct {
	*memory.Store
	lose chan struct{}
}

type obliviousChanges struct {
	change.Bus
	lose chan struct{}
}

func (s oblivious) Changes() change.Bus { return obliviousChanges{s.Store.Changes(), s.lose} }

func (c obliviousChanges) Subscribe(ctx context.Context, fn func([]byte)) error {
	fn(nil)
	for {
		select {
		case <-c.lose:
			fn(nil)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TestNodesBusLosesMessages checks that clients are notified of the resources that they watch, and
// of no others, because these may have changed. However often messages are lost, that happens at
// most once in a second.
func TestNodesBusLosesMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lose := make(chan struct{})
		app := quiet(framework.WithStore(oblivious{memory.New(), lose}))
		for _, uri := range []string{"x://1", "x://2"} {
			app.Add(framework.Resource(uri, func(context.Context) (string, error) { return "", nil }))
		}
		s := build(t, app)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := dial(t, s, core)
		synctest.Wait()
		p.call("resources/subscribe", `{"uri":"x://2"}`).ok()
		for range 100 {
			lose <- struct{}{}
			time.Sleep(100 * time.Millisecond)
		}
		got := fmt.Sprintf("%s", p.notifications("notifications/resources/updated"))
		if n := strings.Count(got, "x://2"); n < 10 || n > 11 || strings.Contains(got, "x://1") {
			t.Errorf("%d times within 10 s: %s", n, got)
		}
	})
}

// TestNodesKeepTheSecret: if the store loses its data, nodes that run and nodes that start later still open
// each other's states.
func TestNodesKeepTheSecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, lose := memory.New(), make(chan struct{})
		node := func() *framework.Server {
			s := build(t, quiet(framework.WithStore(oblivious{store, lose})).Add(asksWho))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return s
		}
		first := node()
		if err := store.Claims().Delete(t.Context(), "secret/states", nil); err != nil {
			t.Fatal(err)
		}
		lose <- struct{}{}
		synctest.Wait()
		p, later := dial(t, first, protocol.Rev20260728, withCaps(canElicit)), dial(t, node(), protocol.Rev20260728, withCaps(canElicit))
		var round struct{ RequestState string }
		if err := json.Unmarshal(p.tool("ask", `{}`).ok().Result, &round); err != nil || round.RequestState == "" {
			t.Fatalf("no round: %v", err)
		}
		got := later.call("tools/call", fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, round.RequestState, accepted))
		if text := got.text(); text != "Hello Ada" {
			t.Errorf("got %q", text)
		}
	})
}
