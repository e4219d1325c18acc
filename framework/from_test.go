package framework_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// provider has components, or is nil.
type provider struct{ components []framework.Component }

func (p *provider) Components() []framework.Component { return p.components }

// TestAddedAt: reports and inspections show the given call site for what was added on behalf of
// other code.
func TestAddedAt(t *testing.T) {
	t.Parallel()
	const where = "shop.NewOrders (shop/orders.go:31)"
	s := build(t, quiet().AddAt(where, &provider{[]framework.Component{framework.Tool("t", none)}}).UseAt(where, (&recorder{}).step("step", framework.PhaseApp)))
	if got := s.Inspect().Components[0]; got.Added != where || got.Chain[2].Name != "step" {
		t.Errorf("%+v", got)
	}
	for want, app := range map[string]*framework.App{
		"the provider is nil":   quiet().AddAt(where, nil).AddAt(where, (*provider)(nil)),
		"the component is nil":  quiet().AddAt(where, &provider{[]framework.Component{nil, nil}}),
		"its function is nil":   quiet().UseAt(where, framework.Middleware{Name: "a"}, framework.Middleware{Name: "b"}),
		"registered twice: ":    quiet().AddAt(where, &provider{[]framework.Component{framework.Tool("t", none), framework.Tool("t", none)}}),
		"handle is registered ": quiet().AddAt(where, twice()),
	} {
		_, err := app.Build()
		var report *framework.BuildError
		if !errors.As(err, &report) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			continue
		}
		for _, f := range report.Faults {
			if f.Component == "app" && f.Where != where {
				t.Errorf("%+v is not at %s", f, where)
			}
		}
	}
}

func twice() *provider {
	tool := framework.Tool("t", none)
	return &provider{[]framework.Component{tool, tool}}
}
