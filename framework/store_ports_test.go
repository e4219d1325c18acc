package framework_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// claimless is a store that wraps another one by embedding, and so loses its Claims.
type claimless struct{ framework.Store }

// onlyTasks is a store that shares its tasks, and nothing else.
type onlyTasks struct{ *memory.Store }

func (onlyTasks) Sessions() session.Store { return nil }
func (onlyTasks) Changes() change.Bus     { return nil }

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
