package framework_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
)

// claimless is a store that wraps another one by embedding, and so loses its Claims.
type claimless struct{ framework.Store }

// onlyTasks is a store that shares its tasks, and nothing else.
type onlyTasks struct{ *memory.Store }

func (onlyTasks) Sessions() session.Store { return nil }
func (onlyTasks) Changes() change.Bus     { return nil }

// mortal is a store that can fail permanently.
type mortal struct {
	framework.Store
	failed chan struct{}
}

func (m mortal) Failed() <-chan struct{} { return m.failed }

// TestStoreFailed: if the store takes no more writes, its server ends with an error, so that a restart opens
// the store again. Running calls have their grace period before.
func TestStoreFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := mortal{memory.New(), make(chan struct{})}
		s := build(t, quiet(framework.WithStore(store)))
		time.AfterFunc(time.Minute, func() { close(store.failed) })
		began := time.Now()
		err := s.Serve(t.Context(), carrier(func(ctx context.Context, _ transport.Host) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		}))
		if d := time.Since(began); err == nil || !strings.Contains(err.Error(), "no more writes") || d != time.Minute+time.Second {
			t.Errorf("Serve ended after %s with %v", d, err)
		}
	})
}

// TestStoreWithoutClaims: Build warns of a shared store without Claims, because each node then seals
// states with a secret of its own, and counts alone.
func TestStoreWithoutClaims(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts  []framework.AppOption
		warns bool
	}{
		"no store":        {nil, false},
		"claims":          {[]framework.AppOption{framework.WithStore(memory.New())}, false},
		"embedded":        {[]framework.AppOption{framework.WithStore(claimless{memory.New()})}, true},
		"private":         {[]framework.AppOption{framework.WithStore(claimless{onlyTasks{memory.New()}})}, false},
		"secrets are set": {[]framework.AppOption{framework.WithStore(claimless{memory.New()}), framework.WithStateSecrets([]byte(strings.Repeat("k", 32)))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := quiet(append(tt.opts, framework.WithStrict())...).Add(framework.Tool("t", func(context.Context, struct{}) (string, error) {
				return "", nil
			}, framework.Describe("d"))).Build()
			if warned := err != nil && strings.Contains(err.Error(), "Claims"); warned != tt.warns || err != nil && !warned {
				t.Errorf("%v", err)
			}
		})
	}
}
