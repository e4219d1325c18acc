package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// Mode says what a type is compiled for.
type Mode uint8

// Modes.
const (
	// Input is arguments: the root is an object (struct, pointer to struct, map with text keys).
	Input Mode = iota + 1
	// Output is a result of any type: required means always written, pointers may be null, rules are not advertised.
	Output
	// Strings is prompt arguments and URI variables: a flat struct whose fields have a text form.
	Strings
	// Form is an elicitation: a flat struct of primitives, enums and lists of enums of texts, or one such value,
	// wrapped as {"value": ...}.
	Form
)

// flat reports whether there is one level of members, which may be left out but not be null.
func (m Mode) flat() bool { return m == Strings || m == Form }

// Options of one plan.
type Options struct {
	AllowUnknown bool          // unknown members are ignored instead of refused
	NoRepair     bool          // what Report.Repaired tells of is refused instead of read
	Unions       []Union       // the types behind interfaces
	Checks       []rules.Check // validate tags of the application's own

	// Bar says why a value of a type must not be encoded where an interface holds it, which is
	// not known before; nil bars none.
	Bar func(reflect.Type) error
}

// owned finds the fields of faults in a value of t.
func owned(t reflect.Type, faults []report.Fault) []report.Fault {
	for i := range faults {
		steps := strings.Split(faults[i].Path, ".")
		faults[i].Owner, faults[i].Member = lastField(t, steps[1:])
	}
	return faults
}

// lastField is the last field that the steps from t lead to, and its type.
func lastField(t reflect.Type, steps []string) (owner reflect.Type, name string) {
	for _, step := range steps {
		switch t = gotype.Deref(t); t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem() // the step is in brackets
		case reflect.Struct:
			if f, ok := t.FieldByName(step); ok && len(f.Index) == 1 {
				owner, name, t = t, f.Name, f.Type
			}
		default:
			return owner, name
		}
	}
	return owner, name
}

// Report lists what Decode did beyond reading.
type Report struct {
	// Repaired are JSON pointers, at most 64, of values that arrived as strings and were read as what the type
	// wants, and of optional members that arrived as null or "" and count as not given.
	Repaired []string
}

// Field is one top-level member, for prompt arguments, template variables and completion.
type Field struct {
	Name     string
	GoName   string
	Title    string
	InWords  string // of Strings: the doc tag and what a schema would say, which their readers do not get
	Required bool
	Enum     []string // allowed values in their text form; nil if open
	Slashes  bool     // the value of a URI variable may have slashes
}

// Plan is one compiled Go type. It is immutable and safe for concurrent use.
type Plan struct {
	t       reflect.Type
	mode    Mode
	opts    Options
	root    Node
	wrapped bool // Form of a scalar: root is a synthetic struct with one member
	schema  json.RawMessage
	fields  []Field

	// rules judges decoded values; nil if no tag asks for anything. One
	// instance per plan: registering rules on a shared one races with its use.
	rules    func() *validator.Validate
	presence func() *validator.Validate // the rules that demand or forbid members, which rules has not; nil: there are none
	quick    bool                       // rules need not be asked about values that the fast checks of the fields accept
	diveTag  string                     // for roots that are not structs
	check    userCheck
	printer  *schemer             // renders wanted schemas for error texts
	own      map[Node]*schema.Raw // what schema hooks say; nil if none says anything

	Secretive   bool     // some member is a secret
	secretNames []string // flattened
}

// Compile compiles t. If there is a fault that is not a warning, the plan is nil. It never
// panics, whatever the type, unless a method of the type does so outside
// Values, JSONSchema and JSONSchemaExtend.
func Compile(t reflect.Type, mode Mode, opts Options) (*Plan, []report.Fault) {
	if t == nil {
		return nil, []report.Fault{{Problem: "no type", Fix: "Use a struct"}}
	}
	p, faults := compile(t, mode, opts)
	return p, owned(t, faults)
}

func compile(t reflect.Type, mode Mode, opts Options) (*Plan, []report.Fault) {
	c := newCompiler(mode, opts)
	p := &Plan{t: t, mode: mode, opts: opts}
	walked := t
	if mode == Form && !isFlatStruct(t) {
		walked, p.wrapped = wrapperOf(t), true
	}
	p.root = c.root(walked, rootName(t, mode))
	if p.root == nil {
		return nil, c.List
	}
	c.finish()
	p.printer = c.schemer()
	if len(c.own) > 0 {
		p.own = c.own
	}
	for _, s := range c.structs {
		for _, f := range s.Fields {
			f.findBlanks(p)
		}
	}
	c.compileRules(p)
	c.resolveDefaults(p)
	if c.Failed() {
		return nil, c.List
	}
	text, ok := p.printer.root(p.root)
	if !ok {
		c.Fault("", "the schema is larger than 1 MiB because the type is nested too often", "Use fewer layers or json.RawMessage")
		return nil, c.List
	}
	if mode != Output && schema.Parse(text).Text("type") != "object" {
		c.Fault(rootName(t, mode), "the type's own schema does not describe an object", `Return a schema with type "object"`)
		return nil, c.List
	}
	p.schema = text
	p.fields = p.describeFields()
	if mode != Output { // a result is not judged, and may be a nil pointer
		p.check = userCheckOf(t)
	}
	p.secretNames = secretNames(p.root, map[Node]bool{})
	p.Secretive = len(p.secretNames) > 0
	return p, c.List
}

// Schema is deterministic, carries no $schema or $id, and must not be changed.
func (p *Plan) Schema() json.RawMessage { return p.schema }

// Type is the compiled type.
func (p *Plan) Type() reflect.Type { return p.t }

// Fields are the top-level members in their order; nil if the root is not a struct. The caller must not change them.
func (p *Plan) Fields() []Field { return p.fields }

// Decode reads raw into into, a settable value of the plan's type, which is
// overwritten. raw must have passed jsontext.Check. It is not
// retained. A non-nil error is an *Invalid with the first 64 faults at most, or the
// cancellation of ctx as the type's own Validate returned it. The findings are
// what the issues of an *Invalid were made of: a corrected call is built from them.
func (p *Plan) Decode(ctx context.Context, raw []byte, into reflect.Value) (Report, []Finding, error) {
	d := p.decoder(false, raw)
	defer d.release()
	err := p.pass(ctx, d, raw, into)
	if err == nil {
		return Report{Repaired: d.listed()}, nil, nil
	}
	if d.mendable && !d.hopeless && !p.opts.NoRepair {
		second := p.decoder(true, raw)
		defer second.release()
		if p.pass(ctx, second, raw, into) == nil {
			return Report{Repaired: second.listed()}, nil, nil
		}
	}
	into.SetZero()
	return Report{}, d.found, err
}

// pass decodes and judges once.
func (p *Plan) pass(ctx context.Context, d *decoder, raw []byte, into reflect.Value) error {
	into.SetZero()
	target := into
	if p.wrapped {
		target = reflect.New(p.root.GoType()).Elem()
	}
	d.read(p.root, raw, target, nil)
	p.judge(ctx, d, raw, target)
	if p.wrapped {
		into.Set(target.Field(0))
	}
	if len(d.found) > 0 {
		return d.invalid(raw)
	}
	return p.check.run(ctx, into)
}

// Retry reads raw, a corrected call, and returns what is wrong with it.
func (p *Plan) Retry(ctx context.Context, raw []byte) ([]Finding, error) {
	d := &decoder{plan: p, most: maxFindings}
	err := p.pass(ctx, d, raw, reflect.New(p.t).Elem())
	return d.found, err
}

// Encode is Append into bytes of their own, of the right size: they may be kept.
func (p *Plan) Encode(v reflect.Value) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	text, err := p.write(e, e.room[:0], v)
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxRoom: // not copied once more
		return text, nil
	}
	e.room = text
	return bytes.Clone(text), nil
}

// Append appends the JSON of v, a value of the plan's type. Errors name the
// path of what has no JSON form: NaN, an invalid json.Number, a cycle, a value
// outside of its enum.
func (p *Plan) Append(dst []byte, v reflect.Value) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	text, err := p.write(e, dst, v)
	if err != nil {
		return dst, err
	}
	return text, nil
}

func (p *Plan) write(e *encoder, dst []byte, v reflect.Value) ([]byte, error) {
	e.bar = p.opts.Bar
	if p.wrapped {
		dst = append(dst, `{"value":`...)
		dst = append(p.root.(*StructNode).Fields[0].Node.encode(e, dst, v), '}')
	} else {
		dst = p.root.encode(e, dst, v)
	}
	if e.err != nil {
		return nil, fmt.Errorf("encoding %s: %w", p.t, e.fault())
	}
	return dst, nil
}

func (p *Plan) describeFields() []Field {
	s, ok := structOf(p.root)
	if !ok {
		return nil
	}
	out := make([]Field, 0, len(s.Fields))
	for _, f := range s.Fields {
		out = append(out, Field{
			Name: f.Name, GoName: f.goName, Title: f.title, InWords: p.inWords(f), Required: f.Required, Enum: p.enumOf(f), Slashes: f.slashes,
		})
	}
	return out
}

// structOf looks through pointers.
func structOf(n Node) (*StructNode, bool) {
	s, ok := Bare(n).(*StructNode)
	return s, ok
}

// Bare looks through pointers.
func Bare(n Node) Node {
	for {
		p, ok := n.(*ptrNode)
		if !ok {
			return n
		}
		n = p.elem
	}
}
