package plan

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// StructNode is a struct with its members as encoding/json sees them.
type StructNode struct {
	typed

	Fields []*Member
	ByName map[string]int
	faulty bool // a member has a fault; of a plan none has
}

// Member is one member of a struct, with what its tags say.
type Member struct {
	Name        string
	key         []byte // the name as it is written, with the comma before it and its colon
	goName      string
	index       []int // as for reflect.Value.FieldByIndex
	viaPtr      bool  // index passes a pointer: encoding/json leaves the member out where it is nil
	Node        Node
	Rules       *rules.Constraints
	fast        *rules.FastCheck // of the rules; nil: there are none
	noNull      func() bool      // null cannot be read as its value
	noEmpty     func() bool      // "" cannot be its value
	unjudged    bool             // validator may pass over the values inside, as fast checks do not
	Required    bool
	DefaultJSON []byte      // default as JSON, nil without one
	extra       *schema.Raw // enforces what only the jsonschema tag says; nil usually

	omitEmpty bool
	isZero    func(reflect.Value) bool // omitzero, or nil

	title, doc, header string
	Secret             bool
	slashes            bool // of a URI variable: its value may have slashes
	safeInt            bool // a header carries integers within ±(2^53-1) only
}

func (n *StructNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	n.decodeMembers(d, raw, v, "")
}

// decodeMembers reads an object. tag is a member that is known although no
// field has it, the discriminator of a union, or "".
func (n *StructNode) decodeMembers(d *decoder, raw []byte, v reflect.Value, tag string) {
	var few [64]bool
	seen := few[:]
	if len(n.Fields) > len(few) {
		seen = make([]bool, len(n.Fields))
	}
	next, tags := 0, 0
	var unknown []string
	for key, value := range jsontext.Members(raw) {
		if d.full() {
			return
		}
		i := n.lookup(key, next)
		switch {
		case i < 0 && tag != "" && key.Is(tag):
			tags++
		case i < 0:
			unknown = d.noteUnknown(unknown, key)
		case seen[i]:
			d.fileAt(n.Fields[i].Name, Finding{Issue: report.Issue{Rule: report.RuleDuplicate}, Node: n.Fields[i].Node, Field: n.Fields[i]})
		default:
			seen[i] = true
			next = i + 1
			n.Fields[i].decode(d, n, value, v)
		}
	}
	if tags > 1 {
		d.fileAt(tag, Finding{Issue: report.Issue{Rule: report.RuleDuplicate}, Node: n})
	}
	if len(unknown) > 0 {
		n.unknown(d, unknown, seen)
	}
	for i, f := range n.Fields {
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
	if len(d.found)+len(unknown) >= d.most {
		return unknown
	}
	name := key.Bytes()
	return append(unknown, string(name[:min(len(name), maxName)]))
}

// maxName bounds the names of members that do not exist, as they are kept: no longer name is shown, or corrected.
const maxName = 4 << 10

// lookup tries the member that follows the last one first: most callers keep
// the schema's order.
func (n *StructNode) lookup(key jsontext.Key, next int) int {
	if next < len(n.Fields) && key.Is(n.Fields[next].Name) {
		return next
	}
	if i, ok := n.ByName[string(key.Bytes())]; ok {
		return i
	}
	return -1
}

// unknown files the members that do not exist. The first maxGuesses of them are compared with the
// names that there are; more cannot be misspelled by accident.
func (n *StructNode) unknown(d *decoder, unknown []string, seen []bool) {
	names := n.names()
	var free []string
	for i, name := range names {
		if !seen[i] {
			free = append(free, name)
		}
	}
	for i, name := range unknown {
		hint := ""
		if i < MaxGuesses {
			hint = spelling.Others(name, names, free, len(d.path) == 0)
		}
		d.fileAt(name, Finding{Issue: report.Issue{Rule: report.RuleUnknown, Hint: hint}, Node: n})
	}
}

// MaxGuesses is how many members that do not exist are compared with the names that there are.
const MaxGuesses = 8

func (n *StructNode) names() []string {
	out := make([]string, len(n.Fields))
	for i, f := range n.Fields {
		out[i] = f.Name
	}
	return out
}

func (f *Member) decode(d *decoder, owner *StructNode, raw []byte, v reflect.Value) {
	d.enter(f.Name)
	if f.blank(d, raw) {
		d.noteRepair()
		d.leave()
		f.absent(d, v)
		return
	}
	secret, unjudged := d.secret, d.unjudged
	d.secret, d.unjudged = secret || f.Secret, unjudged || f.unjudged
	before, repairs := len(d.found), d.repairs
	target := f.target(v)
	d.read(f.Node, raw, target, f.Rules)
	if len(d.found) == before && (f.extra != nil || f.safeInt) {
		f.judge(d, raw, d.meant(f.Node, raw, repairs))
	}
	if len(d.found) > before && blank(raw) {
		d.mayDrop(f)
	}
	for i := before; i < len(d.found); i++ {
		if found := &d.found[i]; len(d.path) == strings.Count(found.Path, "/") {
			found.Field = f
			found.Hint = report.JoinSentences(found.Hint, f.defaultWords())
		}
	}
	d.unjudged = unjudged
	f.askRules(d, owner, raw, target)
	d.secret = secret
	d.leave()
}

// mayDrop notes that a finding about f goes away if f is not given, which is possible only if f is optional.
func (d *decoder) mayDrop(f *Member) {
	d.mendable = d.mendable || !f.Required
	d.hopeless = d.hopeless || f.Required
}

// blank reports whether raw means that an optional member is absent. Models and forms write null for
// that, or "" if the member is not a free text. A pointer takes null as a value, and so may a type
// that reads its own JSON. If such a type has a default, null means the default, because its schema
// does not advertise null.
// The "" of a choice or a format also means the default, although omitempty in validate would let it pass.
func (f *Member) blank(d *decoder, raw []byte) bool {
	null := jsontext.KindOf(raw) == jsontext.KindNull
	switch {
	case f.Required || !null && string(raw) != `""`:
		return false
	case null && f.DefaultJSON != nil && d.plan.mode != Output && !d.plan.opts.NoRepair:
		switch n := f.Node.(type) {
		case *ptrNode:
			return true
		case *MethodNode:
			if n.read == byJSON && d.plan.own[n] == nil {
				return true
			}
		}
	case !null && f.DefaultJSON != nil && d.plan.mode == Input && !d.plan.opts.NoRepair:
		if _, text := f.Node.(*StringNode); text && f.noEmpty() {
			return true
		}
	}
	return d.repair && (null && f.noNull() || !null && f.noEmpty())
}

// findBlanks prepares the answers for blank.
func (f *Member) findBlanks(p *Plan) {
	f.noNull = sync.OnceValue(func() bool {
		null := []byte("null")
		return !p.Fits(f.Node, nil, null) || f.extra != nil && !f.extra.Accepts(null)
	})
	f.noEmpty = sync.OnceValue(func() bool { return !p.Fits(f.Node, nil, []byte(`""`)) || f.closed(p) })
}

// closed reports whether the member is a text that "" can never be: one of a list, or of a format.
func (f *Member) closed(p *Plan) bool {
	if f.Rules.HasForm() && !p.Fits(f.Node, f.Rules.Alone(), []byte(`""`)) {
		return true
	}
	k := p.Words(f.Node, f.Rules)
	return (k.Has("enum") || k.Has("format")) && !slices.Contains(schema.ElementTexts(schema.Value(k, "enum")), `""`)
}

// judge applies what no validate tag stands behind: the keywords of the
// jsonschema tag, and the range of integers in headers.
func (f *Member) judge(d *decoder, raw, meant []byte) {
	switch {
	case f.extra != nil && !f.extra.Accepts(meant):
		d.refuse(report.RuleSchema, f.Node, raw, f.Rules)
	case f.safeInt && jsontext.KindOf(meant) == jsontext.KindNumber:
		if i, ok := jsontext.Int64(meant); !ok || i > maxSafeInt || i < -maxSafeInt {
			d.refuse(report.RuleRange, f.Node, raw, f.Rules)
		}
	}
}

// maxSafeInt is what every reader of JSON keeps exactly.
const maxSafeInt = 1<<53 - 1

// absent stores the default, or files that a required member is missing.
func (f *Member) absent(d *decoder, v reflect.Value) {
	if f.DefaultJSON != nil || !f.Required {
		f.fill(d, v)
		return
	}
	d.fileAt(f.Name, Finding{
		Issue: report.Issue{Rule: report.RuleRequired, Want: d.plan.wanted(f.Node, f.Rules)},
		Node:  f.Node, Rules: f.Rules, Field: f, Missing: true,
	})
}

// fill stores the default of a member that is not given, or the defaults inside of it.
func (f *Member) fill(d *decoder, v reflect.Value) {
	switch {
	case f.DefaultJSON != nil:
		d.enter(f.Name)
		f.Node.decode(d, f.DefaultJSON, f.target(v), f.Rules) // Compile has seen that it can be read
		d.leave()
	case !f.viaPtr:
		// A struct value is there even if its member is not, and so are the
		// defaults inside it.
		node := f.Node
		if m, ok := node.(*MethodNode); ok && m.read == byShape { // it only writes its own JSON
			node = m.Base
		}
		if inner, ok := node.(*StructNode); ok {
			for _, below := range inner.Fields {
				below.fill(d, f.target(v))
			}
		}
	}
}

// target is the field's value; embedded pointers on the way are made.
func (f *Member) target(v reflect.Value) reflect.Value {
	v, _ = f.in(v, true)
	return v
}

// in is the field's value in v. If an embedded pointer on the way is nil, it is made if create is set, and the
// result is false otherwise.
func (f *Member) in(v reflect.Value, create bool) (reflect.Value, bool) {
	if len(f.index) == 1 {
		return v.Field(f.index[0]), true
	}
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !create {
					return reflect.Value{}, false
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, true
}

func (f *Member) defaultWords() string {
	if f.DefaultJSON == nil || f.Secret {
		return ""
	}
	return "Default " + jsontext.Clip(string(f.DefaultJSON), 40) + "."
}

func (n *StructNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if !e.deeper() {
		return dst
	}
	dst = n.encodeMembers(e, append(dst, '{'), v, "")
	e.depth--
	return append(dst, '}')
}

// encodeMembers writes the members, behind tag, a member that is written
// already, if it is not "".
func (n *StructNode) encodeMembers(e *encoder, dst []byte, v reflect.Value, tag string) []byte {
	first := tag == ""
	for _, f := range n.Fields {
		value, ok := f.in(v, false)
		if !ok || f.omitEmpty && isEmpty(value) || f.isZero != nil && f.isZero(value) || tag != "" && f.Name == tag {
			continue
		}
		key := f.key
		if first {
			key = key[1:]
		}
		first = false
		dst = f.Node.encode(e, append(dst, key...), value)
		if e.failed(f.Name) {
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

func (n *StructNode) schema(s *schemer, _ *rules.Constraints) schema.Keywords {
	k := schema.Typed("object")
	var properties schema.Keywords
	var required []string
	for _, f := range n.Fields {
		properties = append(properties, schema.Keyword{Name: f.Name, Value: f.schema(s).Render()})
		if f.Required {
			required = append(required, f.Name)
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
func (f *Member) schema(s *schemer) schema.Keywords {
	k := append(schema.Keywords(nil), s.of(f.Node, f.Rules)...)
	if f.title != "" {
		k.SetText("title", f.title)
	}
	if f.doc != "" {
		rest := k.Text("description")
		k.SetText("description", f.doc)
		k.Note(rest)
	}
	if f.DefaultJSON != nil {
		k.Set("default", f.DefaultJSON)
	}
	if f.safeInt {
		k.Raise("minimum", strconv.AppendInt(nil, -maxSafeInt, 10))
		k.Lower("maximum", strconv.AppendInt(nil, maxSafeInt, 10))
	}
	if f.header != "" {
		k.SetText("x-mcp-header", f.header)
	}
	if f.Secret && s.mode == Input { // so that a client, such as the page, does not show the value either
		k.Set("writeOnly", []byte("true"))
	}
	if s.mode == Form {
		return schema.FormKeywords(k)
	}
	return k
}
