package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Union lists the struct types that implement an interface. The member Discriminator
// has the name of the variant.
type Union struct {
	Interface     reflect.Type            // with a method at least: every type implements any
	Discriminator string                  // the member's name on the wire
	Variants      map[string]reflect.Type // structs or pointers to structs that implement Interface
}

// Problem is what is wrong with the union by itself, or "".
func (u Union) Problem() string {
	switch {
	case u.Interface == nil || u.Interface.Kind() != reflect.Interface:
		return fmt.Sprintf("type %v is not an interface", u.Interface)
	case u.Interface.NumMethod() == 0:
		return fmt.Sprintf("every type implements %s; give it a method", u.Interface)
	case !legalInJSON(u.Discriminator):
		return fmt.Sprintf("the discriminator %q is not a name of a member", u.Discriminator)
	case len(u.Variants) == 0:
		return fmt.Sprintf("%s has no variants", u.Interface)
	}
	names := map[reflect.Type]string{}
	for _, name := range slices.Sorted(maps.Keys(u.Variants)) {
		t := u.Variants[name]
		if problem := u.variantProblem(name, t); problem != "" {
			return problem
		}
		if other, taken := names[gotype.Deref(t)]; taken {
			return fmt.Sprintf("type %s has two names, %q and %q", t, other, name)
		}
		names[gotype.Deref(t)] = name
	}
	return ""
}

func (u Union) variantProblem(name string, t reflect.Type) string {
	switch {
	case name == "":
		return fmt.Sprintf("a variant of %s has an empty name", u.Interface)
	case t == nil:
		return fmt.Sprintf("variant %q is nil; give a value of its type", name)
	case t.Kind() != reflect.Struct && (t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct):
		return fmt.Sprintf("variant %q: got type %s, want a struct or a pointer to a struct", name, t)
	case !t.Implements(u.Interface):
		return fmt.Sprintf("variant %q has type %s, which does not implement %s", name, t, u.Interface)
	}
	return ""
}

func (o Options) union(t reflect.Type) (Union, bool) {
	i := slices.IndexFunc(o.Unions, func(u Union) bool { return u.Interface == t })
	if i < 0 {
		return Union{}, false
	}
	return o.Unions[i], true
}

// union is shared by a unionNode and its copies. A variant may contain the interface, so a copy
// may be made before the variants are known.
type union struct {
	t        reflect.Type
	member   string
	Variants []*variantNode                // sorted by name
	byType   map[reflect.Type]*variantNode // by struct type
}

// UnionNode is an interface whose types are known.
type UnionNode struct {
	*union
	null bool // nil can be written: in results, and where the member may be left out
}

// variantNode is a struct behind an interface: with the discriminator as an additional member,
// or with its own member of that name fixed. It is not the node of its Go type, which may also
// be used by itself.
type variantNode struct {
	member, name string
	pointer      bool
	Elem         *StructNode
}

// union compiles the variants. The node is known before them, because a
// variant may contain it.
func (c *compiler) union(t reflect.Type, u Union) Node {
	if problem := u.Problem(); problem != "" {
		c.Fault("", "OneOf: "+problem, "Correct the option")
		return nil
	}
	n := &UnionNode{union: &union{t: t, member: u.Discriminator, byType: map[reflect.Type]*variantNode{}}, null: c.mode == Output}
	c.put(t, n)
	for _, name := range slices.Sorted(maps.Keys(u.Variants)) {
		c.At("("+name+")", func() { c.variant(n.union, name, u.Variants[name]) })
	}
	if len(n.Variants) < len(u.Variants) {
		c.remove(t, n) // the fault is filed
		return nil
	}
	return n
}

func (c *compiler) variant(u *union, name string, t reflect.Type) {
	inner := c.node(gotype.Deref(t))
	if inner == nil {
		return
	}
	elem, ok := inner.(*StructNode)
	if !ok {
		c.Fault("", fmt.Sprintf("type %s writes its own JSON, which has no room for the discriminator", t), "Use a plain struct")
		return
	}
	v := &variantNode{member: u.member, name: name, pointer: t.Kind() == reflect.Pointer, Elem: elem}
	u.Variants = append(u.Variants, v)
	u.byType[elem.t] = v
	c.variants = append(c.variants, v)
	c.afterwards(func() { c.checkTag(v) })
}

// checkTag looks at the struct's own member of the discriminator's name.
func (c *compiler) checkTag(v *variantNode) {
	i, ok := v.Elem.ByName[v.member]
	if !ok {
		return
	}
	f := v.Elem.Fields[i]
	raw := jsontext.Quote(nil, v.name)
	switch enum, listed := Bare(f.Node).(*enumNode); {
	case KindOf(f.Node) != rules.TextKind:
		c.Fault("", fmt.Sprintf("field %s has the discriminator's name %q and type %s", f.goName, v.member, f.Node.GoType()),
			"Make it a string, rename it, or choose another discriminator")
	case listed && !enum.lists(raw):
		c.Fault("", fmt.Sprintf("%q is not a value of field %s, which has the discriminator's name", v.name, f.goName),
			"Add it to Values or name the variant as there")
	}
}

// GoType returns the type of the values.
func (n *UnionNode) GoType() reflect.Type { return n.t }

func (n *UnionNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if jsontext.KindOf(raw) == jsontext.KindNull {
		if !n.null || c.MustExist() {
			d.refuse(report.RuleType, n, raw, c)
		}
		return
	}
	raw, fits := d.expect(jsontext.KindObject, n, raw, c)
	if !fits {
		return
	}
	variant := n.choose(d, raw)
	if variant == nil {
		return
	}
	value := reflect.New(variant.Elem.t)
	variant.decode(d, raw, value.Elem(), nil)
	if !variant.pointer {
		value = value.Elem()
	}
	v.Set(value)
}

// choose reads the discriminator, or files what is wrong with it. Without it nothing else of
// the object can be judged.
func (n *UnionNode) choose(d *decoder, raw []byte) *variantNode {
	value, given := jsontext.Member(raw, n.member)
	text, isText := jsontext.String(value)
	for _, v := range n.Variants {
		if given && isText && v.name == text {
			return v
		}
	}
	d.enter(n.member)
	defer d.leave()
	f := Finding{Node: oneOf(n.guesses(raw)), Missing: !given}
	f.Want = d.plan.wanted(oneOf(n.names()), nil)
	switch {
	case !given:
		f.Rule = report.RuleRequired
	case !isText:
		f.Rule, f.Got = report.RuleType, d.got(f.Node, value)
	default:
		f.Rule, f.Got = report.RuleEnum, d.got(f.Node, value)
		if best := spelling.Nearest(text, n.names()); best != "" && !d.secret {
			f.Hint = "Did you mean " + report.QuoteShort(best) + "?"
		}
	}
	d.file(f)
	return nil
}

func (n *UnionNode) names() []string {
	out := make([]string, len(n.Variants))
	for i, v := range n.Variants {
		out[i] = v.name
	}
	return out
}

// guesses are the names for the corrected call, first the one whose members the caller seems to
// have sent.
func (n *UnionNode) guesses(raw []byte) []string {
	names := n.names()
	best, most := 0, -1
	for i, v := range n.Variants {
		known := 0
		for key := range jsontext.Members(raw) {
			if v.Elem.lookup(key, 0) >= 0 {
				known++
			}
		}
		if known > most {
			best, most = i, known
		}
	}
	return slices.Concat(names[best:best+1], names[:best], names[best+1:])
}

// held is the variant of a value, and the value without interface and pointer.
// The struct is not valid where the value is nil.
func (u *union) held(v reflect.Value) (*variantNode, reflect.Value) {
	if v = behind(v); !v.IsValid() {
		return nil, v
	}
	return u.byType[v.Type()], v
}

func (n *UnionNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	variant, value := n.held(v)
	switch {
	case !value.IsValid():
		return append(dst, "null"...)
	case variant == nil:
		return e.fail(dst, "type %s is not a variant of %s; name it in OneOf", value.Type(), n.t)
	}
	return variant.encode(e, dst, value)
}

func (n *UnionNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	var k schema.Keywords
	options := make([][]byte, len(n.Variants))
	for i, v := range n.Variants {
		options[i] = s.text(v, nil)
	}
	k.Set("anyOf", jsonedit.List(options))
	if s.mode == Output && n.null && !c.MustExist() {
		return schema.Nullable(k)
	}
	return k
}

func (n *UnionNode) words() string {
	return "an object whose " + report.QuoteShort(n.member) + " is " + schema.Describe(oneOf(n.names()).schema(nil, nil))
}

// GoType returns the type of the values.
func (v *variantNode) GoType() reflect.Type { return v.Elem.t }

func (v *variantNode) decode(d *decoder, raw []byte, into reflect.Value, _ *rules.Constraints) {
	before, repairs := len(d.found), d.repairs
	v.Elem.decodeMembers(d, raw, into, v.member)
	own := d.plan.own[v.Elem]
	if own == nil || len(d.found) > before {
		return
	}
	meant := d.meant(v.Elem, raw, repairs)
	if _, has := v.Elem.ByName[v.member]; !has && !d.plan.tagged(v) {
		meant = jsonedit.WithoutMember(meant, v.member)
	}
	if !own.Accepts(meant) {
		d.refuseWith(report.RuleSchema, own.ObjectProblem(meant), v.Elem, raw, nil)
	}
}

// tagged reports whether the schema hook of the variant's struct knows the discriminator.
func (p *Plan) tagged(v *variantNode) bool {
	said := p.printer.overrides[v.Elem]
	required := schema.ElementTexts(schema.Value(said, "required"))
	return schema.Parse(schema.Value(said, "properties")).Has(v.member) || slices.Contains(required, string(jsontext.Quote(nil, v.member)))
}

func (v *variantNode) encode(e *encoder, dst []byte, value reflect.Value) []byte {
	if !e.deeper() {
		return dst
	}
	dst = jsontext.Quote(append(dst, '{'), v.member)
	dst = jsontext.Quote(append(dst, ':'), v.name)
	dst = v.Elem.encodeMembers(e, dst, value, v.member)
	e.depth--
	return append(dst, '}')
}

// Tagged is the struct's object with the discriminator in front.
func (v *variantNode) Tagged(object []byte) []byte {
	out := jsonedit.AppendMember([]byte{'{'}, v.member, jsontext.Quote(nil, v.name))
	for key, value := range jsontext.Members(object) {
		if !key.Is(v.member) {
			out = jsonedit.AppendMember(out, key.String(), value)
		}
	}
	return append(out, '}')
}

// schema is the struct's with the discriminator as its first member.
func (v *variantNode) schema(s *schemer, _ *rules.Constraints) schema.Keywords {
	k := slices.Clone(s.inline(v.Elem, nil))
	tag := schema.Typed("string")
	var others schema.Keywords
	for key, value := range jsontext.Members(schema.Value(k, "properties")) {
		if key.Is(v.member) {
			tag = schema.Parse(value)
			tag.Drop("default")
			continue
		}
		others = append(others, schema.Keyword{Name: key.String(), Value: value})
	}
	tag.Set("const", jsontext.Quote(nil, v.name))
	k.Set("properties", schema.RenderMembers(append(schema.Keywords{{Name: v.member, Value: tag.Render()}}, others...)))
	required := []string{v.member}
	for item := range jsontext.Elements(schema.Value(k, "required")) {
		if name, ok := jsontext.String(item); ok && name != v.member {
			required = append(required, name)
		}
	}
	k.Set("required", jsonedit.List(jsonedit.QuoteAll(required)))
	return k
}
