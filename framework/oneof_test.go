package framework_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type shape interface{ area() float64 }

// TestUnionWithoutApp checks the error of DecodeJSON outside of an app: only an app knows the
// structs of an interface.
func TestUnionWithoutApp(t *testing.T) {
	t.Parallel()
	type drawing struct {
		Shape shape `json:"shape"`
	}
	_, err := framework.DecodeJSON[drawing](json.RawMessage(`{"shape":{"kind":"circle"}}`))
	if err == nil || !strings.Contains(err.Error(), "Want null: what stands behind framework_test.shape is known only to handles of an app with framework.OneOf") {
		t.Error(err)
	}
}

type circle struct {
	Radius float64 `json:"radius" validate:"gt=0"`
}

func (c circle) area() float64 { return 3 * c.Radius * c.Radius }

type square struct {
	Side float64 `json:"side" validate:"gt=0"`
}

func (s *square) area() float64 { return s.Side * s.Side }

type drawing struct {
	Shapes []shape `json:"shapes" validate:"min=1"`
	Frame  shape   `json:"frame,omitempty"`
}

type drawn struct {
	Largest shape   `json:"largest"`
	Area    float64 `json:"area"`
}

func draw(_ context.Context, in drawing) (drawn, error) {
	var out drawn
	for _, s := range in.Shapes {
		out.Area += s.area()
		if out.Largest == nil || s.area() > out.Largest.area() {
			out.Largest = s
		}
	}
	return out, nil
}

func shapes() framework.AppOption {
	return framework.OneOf("kind", map[string]shape{"circle": circle{}, "square": (*square)(nil)})
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	tool := framework.Tool("draw", draw)
	s := build(t, quiet(shapes()).Add(tool))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		r := p.tool("draw", `{"shapes":[{"kind":"circle","radius":1},{"side":2,"kind":"square"}]}`)
		if want := `{"largest":{"kind":"square","side":2},"area":7}`; r.text() != want {
			t.Errorf("text = %s, want %s", r.text(), want)
		}
		variants := p.call("tools/list", "").field("tools.0.inputSchema.properties.shapes.items.anyOf")
		if list, ok := variants.([]any); !ok || len(list) != 2 {
			t.Errorf("anyOf = %v", variants)
		}
	})
	out, err := tool.Call(t.Context(), drawing{Shapes: []shape{circle{2}}})
	if err != nil || out.Largest != (circle{2}) {
		t.Errorf("Call = %+v, %v", out, err)
	}
	err = tool.Check([]byte(`{"shapes":[{"kind":"squere","side":-1}]}`))
	for _, want := range []string{`/shapes/0/kind: got "squere" (text). Want one of "circle", "square". Did you mean "square"?`, `Try: {"shapes":[{"kind":"square","side":`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

func TestOneOfFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		opts []framework.AppOption
		want string
	}{
		"no interface": {[]framework.AppOption{framework.OneOf("kind", map[string]circle{"circle": {}})}, "circle is not an interface"},
		"any":          {[]framework.AppOption{framework.OneOf("kind", map[string]any{"circle": circle{}})}, "every type implements interface {}"},
		"none":         {[]framework.AppOption{framework.OneOf[shape]("kind", nil)}, "has no variants"},
		"nil":          {[]framework.AppOption{framework.OneOf("kind", map[string]shape{"circle": nil})}, `variant "circle" is nil`},
		"twice":        {[]framework.AppOption{shapes(), shapes()}, "given twice"},
		"no name":      {[]framework.AppOption{framework.OneOf("", map[string]shape{"circle": circle{}})}, "not a name of a member"},
		"not given":    {nil, "interface framework_test.shape cannot be decoded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := faultsOf(t, quiet(tc.opts...).Add(framework.Tool("draw", draw)))
			if !strings.Contains(report.Error(), tc.want) {
				t.Errorf("%s\nwant %s", report, tc.want)
			}
		})
	}
}
