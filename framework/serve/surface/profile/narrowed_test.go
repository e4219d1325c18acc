package profile_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

type shape interface{ shape() }

type circle struct {
	Radius float64 `json:"radius" validate:"gt=0"`
}

type square struct {
	Side int `json:"side"`
}

func (circle) shape() {}
func (square) shape() {}

type tree struct {
	Name   string           `json:"name"`
	Inside []tree           `json:"inside,omitempty"`
	Shape  shape            `json:"shape"`
	Counts map[string]*int  `json:"counts,omitempty"`
	Ratio  *float64         `json:"ratio" validate:"omitempty,gt=0,lt=1"`
	Byname map[string]shape `json:"byName,omitempty"`
}

// TestNarrowedSchemas: with WithProfile, no client of the profile has anything against the schemas. A
// program knows the same profiles as this package.
func TestNarrowedSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range append(profile.Names(), "all") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := findings(t, name, framework.WithProfile(name))
			for _, f := range found {
				t.Errorf("%s", f)
			}
		})
	}
	if len(findings(t, "all", framework.WithDescription("no profile"))) == 0 {
		t.Error("without a profile there is nothing to narrow: the test tests nothing")
	}
}

func findings(t *testing.T, name string, option framework.AppOption) []profile.Finding {
	t.Helper()
	server, err := framework.New("narrowed", "1", option, framework.OneOf[shape]("kind", map[string]shape{"circle": circle{}, "square": square{}})).
		Add(framework.Tool("draw", func(context.Context, tree) (string, error) { return "", nil }, framework.Describe("Draws."))).Build()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(protocol.Rev20251125))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	all, err := surface.Read(t.Context(), c, surface.All)
	if err != nil {
		t.Fatal(err)
	}
	return profile.Check(all, name)
}
