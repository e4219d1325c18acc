package binding

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// structNode is a struct with its members as encoding/json sees them.
type structNode struct {
	t      reflect.Type
	fields []*field
	byName map[string]int
	faulty bool // a member has a fault; of a plan none has
}

// field is one member.
type field struct {
	name     string
	key      []byte // the name as it is written, with the comma before it and its colon
	goName   string
	index    []int // as for reflect.Value.FieldByIndex
	viaPtr   bool  // index passes a pointer: encoding/json leaves the member out where it is nil
	node     node
	c        *rules.Constraints
	fast     *rules.FastCheck // of c; nil: nothing is asked
	required bool
	def      []byte      // default as JSON, nil without one
	extra    *schema.Raw // enforces what only the jsonschema tag says; nil usually

	omitEmpty bool
	isZero    func(reflect.Value) bool // omitzero, or nil

	title, doc, header string
	secret             bool
	slashes            bool // of a URI variable: its value may have slashes
	safeInt            bool // a header carries integers within ±(2^53-1) only
}

func (n *structNode) goType() reflect.Type { return n.t }

func (n *structNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	n.decodeMembers(d, raw, v, "")
}

// decodeMembers reads an object. tag is a member that is known although no
// field has it, the discriminator of a union; "" is none.
func (n *structNode) decodeMembers(d *decoder, raw []byte, v reflect.Value, tag string) {
	var few [64]bool
	seen := few[:]
	if len(n.fields) > len(few) {
		seen = make([]bool, len(n.fields))
	}
	next, tags := 0, 0
	var unknown []string
	for key, value := range jsontext.Members(raw) {
		i := n.lookup(key, next)
		switch {
		case i < 0 && tag != "" && key.Is(tag):
			tags++
		case i < 0:
			unknown = d.noteUnknown(unknown, key)
		case seen[i]:
			d.enter(n.fields[i].name)
			d.file(finding{Issue: report.Issue{Rule: report.RuleDuplicate}, n: n.fields[i].node, f: n.fields[i]})
			d.leave()
		default:
			seen[i] = true
			next = i + 1
			n.fields[i].decode(d, value, v)
		}
	}
	if tags > 1 {
		d.enter(tag)
		d.file(finding{Issue: report.Issue{Rule: report.RuleDuplicate}, n: n})
		d.leave()
	}
	if len(unknown) > 0 {
		n.unknown(d, unknown, seen)
	}
	for i, f := range n.fields {
		if !seen[i] {
			f.absent(d, v)
		}
	}
}

// noteUnknown puts off an unknown member until all given ones are known, which
// the suggestion depends on. Only as many are kept as can be filed.
func (d *decoder) noteUnknown(unknown []string, key jsontext.Key) []string {
	if d.plan.opts.AllowUnknown {
		return nil
	}
	if len(d.found)+len(unknown) >= maxFindings {
		d.total++
		return unknown
	}
	return append(unknown, key.String())
}

// lookup tries the member that follows the last one first: most callers keep
// the schema's order.
func (n *structNode) lookup(key jsontext.Key, next int) int {
	if next < len(n.fields) && key.Is(n.fields[next].name) {
		return next
	}
	if len(n.fields) <= 8 {
		for i, f := range n.fields {
			if key.Is(f.name) {
				return i
			}
		}
		return -1
	}
	if i, ok := n.byName[key.String()]; ok {
		return i
	}
	return -1
}

// unknown files the members that do not exist. The first maxGuesses of them are compared with the
// names that there are; more cannot be misspelt by accident.
func (n *structNode) unknown(d *decoder, unknown []string, seen []bool) {
	names := n.names()
	var free []string
	for i, name := range names {
		if !seen[i] {
			free = append(free, name)
		}
	}
	for i, name := range unknown {
		d.enter(name)
		hint := ""
		if i < maxGuesses {
			hint = spelling.Others(name, names, free, len(d.path) == 1)
		}
		d.file(finding{Issue: report.Issue{Rule: report.RuleUnknown, Hint: hint}, n: n})
		d.leave()
	}
}

const maxGuesses = 8

func (n *structNode) names() []string {
	out := make([]string, len(n.fields))
	for i, f := range n.fields {
		out[i] = f.name
	}
	return out
}

func (f *field) decode(d *decoder, raw []byte, v reflect.Value) {
	d.enter(f.name)
	if f.blank(d, raw) {
		d.repaired = append(d.repaired, pointerOf(d.path))
		d.leave()
		f.absent(d, v)
		return
	}
	if f.secret {
		d.secret++
	}
	before, total, repaired := len(d.found), d.total, len(d.repaired)
	target := f.target(v)
	d.read(f.node, raw, target, f.c)
	if d.total == total {
		f.judge(d, raw, d.meant(raw, repaired))
		d.doubt = d.doubt || f.fast != nil && jsontext.KindOf(raw) != jsontext.KindNull && !f.fast.Accepts(target)
	}
	for i := before; i < len(d.found); i++ {
		if found := &d.found[i]; len(d.path) == strings.Count(found.Path, "/") {
			found.f = f
			found.Hint = report.JoinSentences(found.Hint, f.defaultWords())
		}
	}
	if f.secret {
		d.secret--
	}
	d.leave()
}

// blank reports whether raw says that an optional member is not given. Models and forms write
// null for that, or "" where the member is no free text. A pointer takes null itself; with a
// default, though, its null is advertised by no schema and means the default.
func (f *field) blank(d *decoder, raw []byte) bool {
	null := jsontext.KindOf(raw) == jsontext.KindNull
	switch {
	case f.required || !null && string(raw) != `""`:
		return false
	case null && f.def != nil && d.plan.mode != Output && !d.plan.opts.NoRepair:
		if _, pointer := f.node.(*ptrNode); pointer {
			return true
		}
	}
	return d.repair && (!d.plan.decodes(f.node, raw) || !null && f.closed(d.plan))
}

// closed reports whether the member is a text that "" can never be: one of a list, or of a format.
func (f *field) closed(p *core) bool {
	k := p.words(f.node, f.c)
	return (k.Has("enum") || k.Has("format")) && !slices.Contains(schema.ElementTexts(schema.Value(k, "enum")), `""`)
}

// judge applies what no validate tag stands behind: the keywords of the
// jsonschema tag, and the range of integers in headers.
func (f *field) judge(d *decoder, raw, meant []byte) {
	switch {
	case f.extra != nil && !f.extra.Accepts(meant):
		d.refuse(report.RuleSchema, f.node, raw, f.c)
	case f.safeInt && jsontext.KindOf(meant) == jsontext.KindNumber:
		if i, ok := jsontext.Int64(meant); !ok || i > maxSafeInt || i < -maxSafeInt {
			d.refuse(report.RuleRange, f.node, raw, f.c)
		}
	}
}

// maxSafeInt is what every reader of JSON keeps exactly.
const maxSafeInt = 1<<53 - 1

// absent stores the default, or files that a required member is missing.
func (f *field) absent(d *decoder, v reflect.Value) {
	switch {
	case f.def != nil:
		d.enter(f.name)
		f.node.decode(d, f.def, f.target(v), f.c) // Compile has seen that it can be read
		d.leave()
	case f.required:
		d.enter(f.name)
		d.file(finding{
			Issue: report.Issue{Rule: report.RuleRequired, Want: d.plan.wanted(f.node, f.c)},
			n:     f.node, c: f.c, f: f, missing: true,
		})
		d.leave()
	case !f.viaPtr:
		// A struct value is there even if its member is not, and so are the
		// defaults inside it.
		if inner, ok := f.node.(*structNode); ok {
			inner.fillDefaults(d, f.target(v))
		}
	}
}

func (n *structNode) fillDefaults(d *decoder, v reflect.Value) {
	for _, f := range n.fields {
		if f.def != nil || !f.required {
			f.absent(d, v)
		}
	}
}

// target is the field's value; embedded pointers on the way are made.
func (f *field) target(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// value is the field's value; false if an embedded pointer on the way is nil.
func (f *field) value(v reflect.Value) (reflect.Value, bool) {
	if len(f.index) == 1 {
		return v.Field(f.index[0]), true
	}
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, true
}

func (f *field) defaultWords() string {
	if f.def == nil || f.secret {
		return ""
	}
	return "Default " + report.Clip(string(f.def), 40) + "."
}

func (n *structNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if !e.deeper() {
		return dst
	}
	dst = n.encodeMembers(e, append(dst, '{'), v, "")
	e.depth--
	return append(dst, '}')
}

// encodeMembers writes the members, behind tag, a member that is written
// already, if it is not "".
func (n *structNode) encodeMembers(e *encoder, dst []byte, v reflect.Value, tag string) []byte {
	first := tag == ""
	for _, f := range n.fields {
		value, ok := f.value(v)
		if !ok || f.omitEmpty && isEmpty(value) || f.isZero != nil && f.isZero(value) || tag != "" && f.name == tag {
			continue
		}
		key := f.key
		if first {
			key = key[1:]
		}
		first = false
		dst = f.node.encode(e, append(dst, key...), value)
		if e.failed(f.name) {
			break
		}
	}
	return dst
}

// isEmpty is omitempty's rule in encoding/json.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	case reflect.Interface, reflect.Pointer:
		return v.IsNil()
	default:
		return v.IsZero()
	}
}

func (n *structNode) schema(s *schemer, _ *rules.Constraints) schema.Keywords {
	k := schema.Typed("object")
	var properties schema.Keywords
	var required []string
	for _, f := range n.fields {
		properties = append(properties, schema.Keyword{Name: f.name, Value: f.schema(s).Render()})
		if f.required {
			required = append(required, f.name)
		}
	}
	if len(properties) > 0 {
		k.Set("properties", schema.RenderMembers(properties))
	}
	if len(required) > 0 {
		k.Set("required", jsonedit.List(jsonedit.QuoteAll(required)))
	}
	// A form is the specification's subset of JSON Schema, which knows no
	// additionalProperties (2026-07-28 client/elicitation).
	if !s.opts.AllowUnknown && s.mode != Form {
		k.Set("additionalProperties", []byte("false"))
	}
	return k
}

// schema is the member's: its type's, with what its tags say.
func (f *field) schema(s *schemer) schema.Keywords {
	k := append(schema.Keywords(nil), s.of(f.node, f.c)...)
	if f.title != "" {
		k.SetText("title", f.title)
	}
	if f.doc != "" {
		rest := k.Text("description")
		k.SetText("description", f.doc)
		k.Note(rest)
	}
	if f.def != nil {
		k.Set("default", f.def)
	}
	if f.safeInt {
		k.Raise("minimum", strconv.AppendInt(nil, -maxSafeInt, 10))
		k.Lower("maximum", strconv.AppendInt(nil, maxSafeInt, 10))
	}
	if f.header != "" {
		k.SetText("x-mcp-header", f.header)
	}
	if s.mode == Form {
		return schema.FormKeywords(k)
	}
	return k
}
