package framework

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Method serves a JSON-RPC method that is not in the specification, such as "example.com/reindex".
// It is typed, validated and wrapped by middleware like a tool. Params and result are JSON objects;
// _meta is not part of them. Errors become JSON-RPC errors.
func Method[P, R any](name string, fn func(context.Context, P) (R, error), opts ...Option) Component {
	d := declare(kindMethod, name, fn, opts)
	d.compile = func(b *builder, m *member) { compileMethod(fn, b, m) }
	return d
}

// compileMethod sets the innermost step of a method for one server.
func compileMethod[P, R any](fn func(context.Context, P) (R, error), b *builder, m *member) {
	plan := b.method(m, reflect.TypeFor[P](), reflect.TypeFor[R]())
	if plan == nil {
		return
	}
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		var in P
		if _, err := plan.in.decode(ctx, call.Arguments, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		raw := []byte("{}")
		if plan.out.shape != shapeNone {
			if raw, err = plan.out.json(reflect.ValueOf(&out).Elem(), nil); err != nil {
				return nil, err
			}
		}
		if !isObject(raw) {
			return nil, errors.New("the result of a method must be a JSON object")
		}
		return &Result{Body: &protocol.CustomResult{Raw: raw}}, nil
	}
}

// method compiles a method's types. It returns nil if they have faults. The result must be an
// object, like every JSON-RPC result of the protocol (basic, "Responses").
func (b *builder) method(m *member, p, r reflect.Type) *toolPlan {
	if problem := methodProblem(m.name); problem != "" {
		m.fault(b, "", problem, `Name it after a domain of yours, such as "example.com/reindex"`)
	}
	if what, _ := protocolType(r); what != "" {
		m.noMethod(b, r)
		return nil
	}
	plan, faults := compileTool(p, r, &m.options, &b.plans)
	m.adopt(b, faults)
	if plan == nil {
		m.failed = true
		return nil
	}
	switch {
	case plan.out.shape == shapeNone, plan.out.shape == shapeRaw:
	case plan.out.shape != shapeValue, plan.out.wrapped:
		m.noMethod(b, r)
		return nil
	}
	m.handler.refuse = m.handler.refusePlain
	m.handler.mask = binding.MaskOf(plan.in.plan)
	m.entry.Kind = catalog.Method
	return plan
}

func (m *member) noMethod(b *builder, r reflect.Type) {
	m.fault(b, "Out", "the result of a method must be a JSON object, not "+r.String(), "Return a struct or a map")
}

func methodProblem(name string) string {
	switch {
	case name == "":
		return "the method has no name"
	case strings.HasPrefix(name, "rpc."):
		return "JSON-RPC reserves names that begin with rpc."
	case strings.HasPrefix(name, "notifications/"):
		return "a notification has no result"
	case dialect.Known(name):
		return "the specification has a method of this name"
	}
	return unprintable(name)
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool { return jsontext.KindOf(raw) == jsontext.KindObject }
