package framework_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

type paint string

func (paint) Values() []paint { return []paint{"matt", "gloss"} }

type paintBase struct {
	Wall string `json:"wall"`
}

type paintIn struct {
	paintBase
	Paint paint  `json:"paint"`
	Own   string `json:"own" doc:"by the tag"`
}

type painter[T any] struct{}

func (*painter[T]) Paint(context.Context, paintIn) (string, error) { return "", nil }

func (*painter[T]) Clean() {}

func paintAll(context.Context, paintIn) (string, error) { return "", nil }

// TestRegisterDocs: registered comments describe functions, methods, members and constants; what the
// program says itself has precedence.
func TestRegisterDocs(t *testing.T) {
	t.Parallel()
	framework.RegisterDocs(map[string]string{
		"paintAll": "Paints all.", "painter.Paint": "Paints.", "painter.Clean": "Cleans.",
		"paintBase.Wall": "of the room", "paintIn.Own": "by the comment", "paint=gloss": "Shines.",
	})
	app := framework.New("painter", "1").Add(
		framework.Tool("all", paintAll),
		framework.Tool("own", paintAll, framework.Describe("Its own.")),
		framework.Tool("method", (&painter[int]{}).Paint),
		framework.Methods(&painter[int]{}),
	)
	s := testkit.New(t, app)
	for _, tool := range s.Tools() {
		want := map[string]string{"all": "Paints all.", "own": "Its own.", "method": "Paints.", "paint": "Paints.", "clean": "Cleans."}[tool.Name]
		if tool.Description != want {
			t.Errorf("%s: %q, want %q", tool.Name, tool.Description, want)
		}
		for _, part := range []string{`"of the room"`, `"by the tag"`, `"gloss: Shines."`} {
			if schema := string(tool.InputSchema); tool.Name != "clean" && !strings.Contains(schema, part) {
				t.Errorf("%s: there is no %s in %s", tool.Name, part, schema)
			}
		}
	}
}
