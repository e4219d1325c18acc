package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/framework/internal/uritemplate"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// ResourceTemplate registers a family of resources. P is a struct whose uri:"name" fields match the
// template's variables. It is map[string]string if the template is known only at run time. Out is
// as for Resource.
//
// Values that could lead out of the family are answered as not found, and fn is not called. Such
// values are . and .. as a path segment, an absolute path, an encoded slash, and control
// characters. A field with uri:"name,slashes" accepts slashes. Values of {?name} and {&name} are
// data. They may be any text without NUL.
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

// variablePlan is a template with the compiled type of its variables.
type variablePlan struct {
	plan     *binding.Plan
	template *uritemplate.Template // allows slashes in the fields that accept them
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

// TemplateOf is the typed handle of a resource template.
type TemplateOf[P, Out any] struct {
	fn          func(context.Context, P) (Out, error)
	declaration *declaration
	template    *uritemplate.Template
	parseErr    error
	latest      atomic.Pointer[variablePlan] // compiled by the last Build; nil before
	alone       func() *variablePlan         // compiles P for use before Build; returns nil if P or the template has faults
}

func (*TemplateOf[P, Out]) component() {}

func (t *TemplateOf[P, Out]) declared() *declaration {
	if t == nil {
		return nil
	}
	return t.declaration
}

// URI expands the template with the values of p. It may be called concurrently.
//
// It returns "" if reading the URI would not give p back. That is so if a value could lead out of
// the family, breaks a rule of P's tags, or would be read as another value, as "a-b" in "{x}-{y}".
// It also returns "" if the template or P has faults, which Build reports. Before Build, it returns
// "" if P has tags of Validation.
func (t *TemplateOf[P, Out]) URI(p P) string {
	if t == nil || t.template == nil {
		return ""
	}
	v := reflect.ValueOf(&p).Elem()
	if isTextMap(v.Type()) {
		return uriOf(t.template, v.Convert(textMap).Interface().(map[string]string))
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

// uri returns the URI for p, or "" if the URI could not be read back.
func (k *variablePlan) uri(p reflect.Value) string {
	vars, err := k.plan.Strings(p)
	if err != nil {
		return ""
	}
	uri := uriOf(k.template, vars)
	if uri == "" {
		return ""
	}
	back := reflect.New(k.plan.Type()).Elem()
	if k.plan.DecodeStrings(background(), vars, back) != nil {
		return ""
	}
	// A value that is left out is read as its default.
	if again, err := k.plan.Strings(back); err != nil || !maps.Equal(again, vars) {
		return ""
	}
	return uri
}

// uriOf returns the URI of a template with the values. It returns "" if a read of the URI would
// return other values: a read matches the normal form of a URI, so https://{name} cannot carry
// capital letters.
func uriOf(template *uritemplate.Template, values map[string]string) string {
	uri, err := template.Build(values)
	if err != nil {
		return ""
	}
	entry := catalog.Entry{Kind: catalog.Template, Key: template.String(), Prefix: template.Prefix()}
	if read := entry.Spelling(protocol.NormalURI(uri)); read != uri {
		if found, ok, err := template.Match(read); err != nil || ok && !maps.Equal(found, values) {
			return ""
		}
	}
	return uri
}

// keepsValue reports whether a URI can carry a value of a variable, so that a read gets the same
// value.
func keepsValue(template *uritemplate.Template, variable, value string) bool {
	values := make(map[string]string)
	for _, name := range template.Variables() {
		values[name] = "1"
	}
	values[variable] = value
	return uriOf(template, values) != ""
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
	if prefix := t.template.Prefix(); prefix != "" && !strings.Contains(prefix, ":") {
		m.fault(b, "", "the URIs of the template have no scheme", `Use a template of absolute URIs, such as "orders://{user}"`)
		return
	}
	out := b.read(m, reflect.TypeFor[Out]())
	in := b.variables(m, reflect.TypeFor[P](), t.template)
	if out == nil || in == nil {
		return
	}
	template := t.template
	m.warnBrowserURI(b, literalURI(m.name))
	if !in.open {
		known := planOf(in.plan, t.template)
		t.latest.Store(known)
		template = known.template
	}
	m.handler.mask = binding.MaskOf(in.plan)
	m.entry.Kind = catalog.Template
	m.entry.Prefix = t.template.Prefix()
	m.entry.Specificity = t.template.Specificity()
	m.entry.Match = m.handler.matcher(template)
	m.entry.Complete = b.completion(m, in.plan, func(variable, value string) bool { return keepsValue(template, variable, value) })
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		var vars map[string]string
		if h := callCtxFrom(ctx); h != nil {
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
		URITemplate: m.name, Name: resourceName(m), Title: resourceTitle(m.options.title, resourceName(m)), Description: m.options.description,
		MIME: out.mime, Annotations: m.options.annotations, Icons: m.options.icons, Meta: m.options.meta,
	}
	m.write(b, func(d *dialect.Dialect) ([]byte, error) { return d.AppendTemplate(nil, &listed) })
}

// literalURI returns the beginning of a template that is in all its URIs, up to a whole host or segment.
func literalURI(template string) string {
	literal, rest, _ := strings.Cut(template, "{")
	if rest != "" && !strings.ContainsRune("/?#", rune(rest[0])) { // the variable continues the host or the segment
		literal = literal[:strings.LastIndexByte(literal, '/')+1]
	}
	return literal
}

// tryURI changes the suggestion in an error about invalid variables to a URI, because that is what
// a client sends.
func tryURI(template *uritemplate.Template, err error) error {
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok || invalid.Try == "" {
		return err
	}
	var vars map[string]string
	err = json.Unmarshal([]byte(invalid.Try), &vars)
	invalid.Try = ""
	if err == nil {
		invalid.Try = uriOf(template, vars)
	}
	return invalid
}

// variables compiles P and compares its fields with the template's variables. It returns nil if P
// has faults.
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

// matcher returns the function that finds the handler for a URI. The function returns nil if the
// URI does not match the template, and a not-found error if a value is unsafe.
func (b *componentHandler) matcher(template *uritemplate.Template) func(uri string) (engine.Handler, error) {
	return func(uri string) (engine.Handler, error) {
		vars, ok, err := template.Match(uri)
		switch {
		case err != nil: // a value is unsafe, so the resource does not exist
			return nil, &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: "resource not found: the URI has an unsafe value", URI: uri}
		case !ok:
			return nil, nil
		}
		return &templateCall{b, template, vars}, nil
	}
}

// templateCall is a call for one URI of a template.
type templateCall struct {
	component *componentHandler
	template  *uritemplate.Template
	vars      map[string]string
}

// Handle reads the resource. Its steps see the URI as built from the variables, in one spelling.
// Otherwise a client could evade a step that compares URIs.
func (t *templateCall) Handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	p, ok := c.Params.(*protocol.ReadResourceParams)
	if !ok {
		return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %q", protocol.MethodOf(c.Params))
	}
	h := &callCtx{Context: ctx, server: t.component.server, call: c, component: t.component, uri: p.URI, vars: t.vars}
	name := p.URI
	if len(t.component.steps) > 0 {
		var err error
		if name, err = t.template.Build(t.vars); err != nil {
			name = protocol.NormalURI(p.URI)
		}
	}
	return t.component.serve(h, name, nil)
}
