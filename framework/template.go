package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/framework/internal/uritemplate"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// ResourceTemplate registers a family of resources. P is a struct whose uri:"name" fields
// match the template's variables, or map[string]string for a template that is known only at
// run time. Values that could lead out of the family (.. as a part of a path, an absolute path,
// an encoded slash, control characters) are answered as not found before fn sees them; a field
// with uri:"name,slashes" takes slashes nevertheless. Values of {?name} and {&name} are data, and
// may be any text without NUL. Out is as for Resource.
func ResourceTemplate[P, Out any](uriTemplate string, fn func(context.Context, P) (Out, error), opts ...Option) *TemplateOf[P, Out] {
	t := &TemplateOf[P, Out]{fn: fn, declaration: declare(kindTemplate, uriTemplate, fn, opts)}
	t.declaration.compile = t.compile
	t.template, t.parseErr = uritemplate.Parse(uriTemplate)
	t.alone = sync.OnceValue(func() *variablePlan {
		plan, _ := binding.Compile(reflect.TypeFor[P](), binding.Strings, binding.Options{})
		if plan == nil || t.template == nil {
			return nil
		}
		return planOf(plan, t.template)
	})
	return t
}

// variablePlan is a template with the type of its variables.
type variablePlan struct {
	plan     *binding.Plan
	template *uritemplate.Template // with what the type's fields allow
}

func planOf(plan *binding.Plan, template *uritemplate.Template) *variablePlan {
	var open []string
	for _, f := range plan.Fields() {
		if f.Slashes {
			open = append(open, f.Name)
		}
	}
	if len(open) > 0 {
		template = template.AllowSlashes(open...)
	}
	return &variablePlan{plan, template}
}

// TemplateOf is a typed handle.
type TemplateOf[P, Out any] struct {
	fn          func(context.Context, P) (Out, error)
	declaration *declaration
	template    *uritemplate.Template
	parseErr    error
	latest      atomic.Pointer[variablePlan] // as the last Build compiled it
	alone       func() *variablePlan         // before any Build; nil if P has faults
}

func (*TemplateOf[P, Out]) component() {}

func (t *TemplateOf[P, Out]) declared() *declaration {
	if t == nil {
		return nil
	}
	return t.declaration
}

// URI expands the template. It returns "" if no URI of the template can be read as p: because a
// value could lead out of the family, is not allowed by P's tags, or would be read as another,
// as "a-b" in "{x}-{y}"; also if the template or P is faulty, which Build reports, and before
// Build for a P with tags of Validation. It may be called concurrently.
func (t *TemplateOf[P, Out]) URI(p P) string {
	if t == nil || t.template == nil {
		return ""
	}
	v := reflect.ValueOf(&p).Elem()
	if isTextMap(v.Type()) {
		vars := make(map[string]string, v.Len())
		maps.Copy(vars, v.Convert(textMap).Interface().(map[string]string))
		uri, _ := t.template.Build(vars) // "" if that fails
		return uri
	}
	known := t.latest.Load()
	if known == nil {
		known = t.alone()
	}
	if known == nil {
		return ""
	}
	return known.uri(v)
}

// uri is the URI of a value of the type; "" if it could not be read.
func (k *variablePlan) uri(p reflect.Value) string {
	vars, err := k.plan.Strings(p)
	if err != nil {
		return ""
	}
	uri, err := k.template.Build(vars)
	if err != nil || k.plan.DecodeStrings(noContext{}, vars, reflect.New(k.plan.Type()).Elem()) != nil {
		return ""
	}
	return uri
}

func (t *TemplateOf[P, Out]) compile(b *builder, m *member) {
	if t.parseErr != nil {
		m.fault(b, "", t.parseErr.Error(), "Correct the template (RFC 6570)")
		return
	}
	if m.name == "" {
		m.fault(b, "", "the template has no URI", `Use a template of absolute URIs, such as "orders://{user}"`)
		return
	}
	out := b.read(m, reflect.TypeFor[Out]())
	in := b.variables(m, reflect.TypeFor[P](), t.template)
	if out == nil || in == nil {
		return
	}
	template := t.template
	if !in.open {
		known := planOf(in.plan, t.template)
		t.latest.Store(known)
		template = known.template
	}
	m.bound.mask = binding.MaskOf(in.plan)
	m.entry.Kind = catalog.Template
	m.entry.Prefix = t.template.Prefix()
	m.entry.Specificity = t.template.Specificity()
	m.entry.Match = m.bound.matcher(template)
	m.entry.Complete = b.completion(m, in.plan)
	m.bound.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		var vars map[string]string
		if h := handlingFrom(ctx); h != nil {
			vars = h.vars
		}
		var p P
		if err := in.decode(ctx, vars, reflect.ValueOf(&p).Elem()); err != nil {
			return nil, tryURI(template, err)
		}
		value, err := t.fn(ctx, p)
		if err != nil {
			return nil, err
		}
		return out.answer(ctx, call.Name, reflect.ValueOf(&value).Elem())
	}
	listed := protocol.ResourceTemplate{
		URITemplate: m.name, Name: resourceName(m), Title: titled(m.options.title, resourceName(m)), Description: m.options.description,
		MIME: out.mime, Annotations: m.options.annotations, Icons: m.options.icons, Meta: m.options.meta,
	}
	m.write(b, func(d *dialect.Dialect) ([]byte, error) { return d.AppendTemplate(nil, &listed) })
}

// tryURI changes the error so that it shows the corrected variables as a URI, which is what a
// client sends.
func tryURI(template *uritemplate.Template, err error) error {
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok || invalid.Try == "" {
		return err
	}
	var vars map[string]string
	err = json.Unmarshal([]byte(invalid.Try), &vars)
	invalid.Try = ""
	if err == nil {
		invalid.Try, _ = template.Build(vars) // "" if that fails
	}
	return invalid
}

// variables compiles P and compares its fields with the template's variables.
func (b *builder) variables(m *member, p reflect.Type, template *uritemplate.Template) *texts {
	variables := template.Variables()
	in := b.texts(m, p, variables, func(i int) bool { return template.Optional(variables[i]) })
	if in == nil {
		return nil
	}
	var fields []string
	for _, f := range in.plan.Fields() {
		fields = append(fields, f.Name)
		if !slices.Contains(variables, f.Name) {
			m.adopt(b, []binding.Fault{{
				Path: p.Name() + "." + f.GoName, Owner: p, Member: f.GoName,
				Problem: fmt.Sprintf("uri %q is not in %s", f.Name, m.name), Fix: didYouMean(f.Name, variables),
			}})
		} else if f.Required && template.Optional(f.Name) {
			m.adopt(b, []binding.Fault{{
				Path: p.Name() + "." + f.GoName, Owner: p, Member: f.GoName, Warning: true,
				Problem: fmt.Sprintf("%s matches without %q, but the field is required", m.name, f.Name), Fix: "Give the field a default or omitempty",
			}})
		}
	}
	for _, v := range variables {
		if !slices.Contains(fields, v) {
			m.fault(b, p.Name(), fmt.Sprintf("no field takes the variable %q of %s", v, m.name), fmt.Sprintf("Add a field with `uri:%q`", v))
		}
	}
	return in
}

func didYouMean(name string, candidates []string) string {
	if near := catalog.Nearest(name, candidates); near != "" {
		return fmt.Sprintf("Did you mean %q?", near)
	}
	return ""
}

// matcher finds the handler for a URI of the template.
func (b *bound) matcher(template *uritemplate.Template) func(uri string) (engine.Handler, error) {
	return func(uri string) (engine.Handler, error) {
		vars, ok, err := template.Match(uri)
		switch {
		case err != nil: // unsafe: no such resource exists
			return nil, &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: "resource not found: the URI has an unsafe value", URI: uri}
		case !ok:
			return nil, nil
		}
		return &templateCall{bound: b, vars: vars}, nil
	}
}

// templateCall is a call for one URI of a template.
type templateCall struct {
	bound *bound
	vars  map[string]string
}

// Handle reads the resource.
func (t *templateCall) Handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	p, ok := c.Params.(*protocol.ReadResourceParams)
	if !ok {
		return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %q", c.Params.Method())
	}
	h := &handling{Context: ctx, server: t.bound.server, call: c, bound: t.bound, uri: p.URI, vars: t.vars}
	return t.bound.serve(h, p.URI, nil)
}
