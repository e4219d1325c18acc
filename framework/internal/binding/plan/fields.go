package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/sourcedoc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// candidate is a struct field that may become a member, or has fields that may.
type candidate struct {
	sf     reflect.StructField
	owner  reflect.Type // the struct that declares it
	name   string
	tagged bool
	index  []int
	viaPtr bool
	inner  reflect.Type // set if this is an embedded struct: the fields of this type may become members instead
}

// rank is less for the shallower of two fields, and of two at one depth for the tagged one.
func (cand *candidate) rank() int {
	if cand.tagged {
		return 2*len(cand.index) - 1
	}
	return 2 * len(cand.index)
}

// structOf compiles a struct by encoding/json's rules of visibility.
func (c *compiler) structOf(t reflect.Type) Node {
	n := &StructNode{typed: typed{t}, ByName: map[string]int{}}
	c.put(t, n)
	c.structs = append(c.structs, n)
	before := len(c.List)
	for _, cand := range c.members(t) {
		c.At(cand.sf.Name, func() {
			f := c.field(cand)
			if f != nil {
				n.ByName[f.Name] = len(n.Fields)
				n.Fields = append(n.Fields, f)
			}
		})
	}
	n.faulty = report.Failed(c.List[before:])
	c.closed(n)
	return n
}

// closed warns about a struct without exported fields, whose JSON is always {}.
func (c *compiler) closed(n *StructNode) {
	own := 0 // fields with names
	for f := range n.t.Fields() {
		switch {
		case f.IsExported(), f.Anonymous:
			return
		case f.Name != "_":
			own++
		}
	}
	if own > 0 {
		c.Warn(fmt.Sprintf("type %s has no exported field, so that its JSON is always {}", n.t), "Use a type that has, or one with MarshalJSON and UnmarshalJSON")
	}
}

// members are the dominant fields in the order of declaration: the shallowest
// of a name wins, a tagged one among equals, and of two equals neither, which is
// a fault.
func (c *compiler) members(t reflect.Type) []candidate {
	all := c.candidates(t)
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.name, b.name), a.rank()-b.rank(), slices.Compare(a.index, b.index))
	})
	var out []candidate
	for i := 0; i < len(all); {
		best, equals := all[i], i
		for equals < len(all) && all[equals].name == best.name && all[equals].rank() == best.rank() {
			equals++
		}
		if equals == i+1 {
			out = append(out, best)
		} else {
			c.sameName(all[i:equals])
		}
		for i < len(all) && all[i].name == best.name {
			i++
		}
	}
	slices.SortFunc(out, func(a, b candidate) int { return slices.Compare(a.index, b.index) })
	return out
}

// sameName files a fault for each two fields: encoding/json drops both in silence. Of a result
// that is a warning if they are of two embedded structs, since its type may be another's.
func (c *compiler) sameName(equals []candidate) {
	for i, b := range equals[1:] {
		a := equals[i]
		together := slices.Equal(a.index[:len(a.index)-1], b.index[:len(b.index)-1])
		c.At(b.sf.Name, func() {
			switch {
			case together:
				c.Fault("", fmt.Sprintf("name %q is also the name of %s", b.name, a.sf.Name), "Use different names")
			case c.mode == Output:
				c.Warn(fmt.Sprintf("name %q of %s is also the name of %s.%s, so neither is written", b.name, b.owner, a.owner, a.sf.Name), "Use different names, or declare the field in the outer struct")
			default:
				c.Fault("", fmt.Sprintf("name %q of %s is also the name of %s.%s, so neither would be read", b.name, b.owner, a.owner, a.sf.Name), "Use different names, or declare the field in the outer struct")
			}
		})
	}
}

// candidates searches breadth first. A struct type embedded twice at one depth
// counts twice, so that its fields cancel out; deeper repetitions are hidden.
func (c *compiler) candidates(t reflect.Type) []candidate {
	var out []candidate
	queue := []candidate{{inner: t}}
	depths := map[reflect.Type]int{}
	for len(queue) > 0 {
		outer := queue[0]
		queue = queue[1:]
		if depth, met := depths[outer.inner]; met && depth < len(outer.index) {
			continue
		}
		depths[outer.inner] = len(outer.index)
		for i := range outer.inner.NumField() {
			switch cand, ok := c.candidate(outer, i); {
			case ok && cand.inner != nil:
				queue = append(queue, cand)
			case ok:
				out = append(out, cand)
			}
		}
	}
	return out
}

// candidate looks at field i of the struct that outer embeds. It returns false if the field is not a candidate.
func (c *compiler) candidate(outer candidate, i int) (candidate, bool) {
	sf := outer.inner.Field(i)
	c.At(sf.Name, func() { c.lintTag(sf) })
	inner := sf.Type
	if inner.Name() == "" && inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	isStruct := sf.Anonymous && inner.Kind() == reflect.Struct
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && !isStruct {
		return candidate{}, false
	}
	name, _, _ := strings.Cut(tag, ",")
	cand := candidate{
		sf: sf, owner: outer.inner, name: name, tagged: name != "",
		index: append(slices.Clone(outer.index), i), viaPtr: outer.viaPtr,
	}
	switch isPtr := sf.Type.Kind() == reflect.Pointer; {
	case name != "" || !isStruct:
		c.nameMember(&cand)
		return cand, sf.IsExported()
	case isPtr && !sf.IsExported():
		c.At(sf.Name, func() {
			c.Fault("", "embedded pointer to an unexported struct cannot be set", "Embed the struct itself or export its type")
		})
		return candidate{}, false
	default:
		cand.inner, cand.viaPtr = inner, outer.viaPtr || isPtr
		return cand, true
	}
}

// nameMember decides the name on the wire.
func (c *compiler) nameMember(cand *candidate) {
	if c.mode == Strings {
		if uri, _, _ := strings.Cut(cand.sf.Tag.Get("uri"), ","); uri != "" {
			cand.name, cand.tagged = uri, true
		}
		cand.name = cmp.Or(cand.name, strings.ToLower(cand.sf.Name))
	}
	cand.name = cmp.Or(cand.name, cand.sf.Name)
}

// LegalName reports whether a name has no quote, backslash, comma or control character.
func LegalName(name string) bool {
	return !strings.ContainsAny(name, "\"\\`',") && strings.IndexFunc(name, func(r rune) bool { return r < ' ' }) < 0
}

// legalInJSON reports whether encoding/json accepts a name in a tag. It ignores other names in silence.
func legalInJSON(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	}) < 0
}

// field compiles one member with its tags.
func (c *compiler) field(cand candidate) *Member {
	sf := cand.sf
	f := &Member{
		Name: cand.name, goName: sf.Name, index: cand.index, viaPtr: cand.viaPtr,
		title: sf.Tag.Get("title"), doc: cmp.Or(sf.Tag.Get("doc"), sf.Tag.Get("jsonschema_description")),
		key: append(jsontext.Quote([]byte{','}, cand.name), ':'),
	}
	if c.mode == Input {
		f.header = sf.Tag.Get("header")
	}
	if f.doc == "" && !strings.Contains(sf.Tag.Get("jsonschema"), "description=") {
		f.doc = sourcedoc.Field(cand.owner, sf.Name)
	}
	if _, option, is := strings.Cut(sf.Tag.Get("uri"), ","); is && c.mode == Strings {
		if f.slashes = option == "slashes"; !f.slashes {
			c.Fault("", fmt.Sprintf("the uri tag has no option %q", option), `Write uri:"name" or uri:"name,slashes"`)
		}
	}
	tag, legal := "json", legalInJSON
	if c.mode == Strings && sf.Tag.Get("uri") != "" {
		tag, legal = "uri", LegalName
	}
	if !legal(f.Name) {
		c.Fault("", fmt.Sprintf("name %q is not legal in a %s tag", f.Name, tag), "Use letters, digits, _ and -")
	}
	f.Node = c.node(sf.Type)
	if f.Node == nil {
		return nil
	}
	c.foreignType(sf.Type)
	optional := c.options(f, cand)
	c.secret(f, sf)
	c.afterwards(func() { c.extraKeywords(f, sf) })
	if c.mode == Output {
		// A result is not judged by its tags when it is written, so nothing is
		// promised about it but its shape.
		f.Required = !optional && !f.viaPtr
		return f
	}
	c.header(f)
	c.readRules(f, cand)
	f.Required = !optional && !f.viaPtr && sf.Type.Kind() != reflect.Pointer && !f.Rules.MayBeAbsent()
	c.defaultOf(f, cand)
	f.Required = f.Required || f.Rules.MustExist()
	if u, ok := f.Node.(*UnionNode); ok && !f.Required { // encoding/json writes a nil interface as null
		f.Node = &UnionNode{union: u.union, null: true}
	}
	c.afterwards(func() {
		c.vague(f)
		c.contradiction(f)
	})
	return f
}

// readRules reads the validate tag.
func (c *compiler) readRules(f *Member, cand candidate) {
	tag, t := cand.sf.Tag.Get("validate"), cand.sf.Type
	f.Rules = c.rules.Read(tag, t, cand.owner, valueOf(f.Node))
	f.unjudged = tag == "-" || passesOver(f.Rules, t)
	c.warnRequiredZero(f)
}

// options reads the json tag's options and reports whether the member may be
// left out.
func (c *compiler) options(f *Member, cand candidate) bool {
	optional := false
	_, opts, _ := strings.Cut(cand.sf.Tag.Get("json"), ",")
	for o := range strings.SplitSeq(opts, ",") {
		switch o {
		case "omitempty":
			f.omitEmpty, optional = true, true
		case "omitzero":
			f.isZero, optional = zeroFunc(cand.sf.Type), true
		case "string":
			f.Node = quoted(f.Node)
		case "":
		case "inline":
			c.Fault("", `json option "inline" is ignored by encoding/json`, "Embed the struct instead")
		default:
			c.Fault("", fmt.Sprintf("json option %q does not exist", o), "Use omitempty, omitzero or string")
		}
	}
	return optional
}

// quoted applies json:",string" where encoding/json does: to texts, numbers
// and bools, also behind a pointer.
func quoted(n Node) Node {
	p, ok := n.(*ptrNode)
	if !ok {
		return quotedScalar(n)
	}
	if elem := quotedScalar(p.elem); elem != p.elem {
		return &ptrNode{typed: typed{p.t}, elem: elem}
	}
	return n
}

func quotedScalar(n Node) Node {
	switch n := n.(type) {
	case *boolNode, *wholeNode, *floatNode, *StringNode, *numberNode:
		return &quotedNode{n}
	case *enumNode:
		if inner := quotedScalar(n.Node); inner != n.Node {
			return &enumNode{Node: inner, values: n.values, texts: quoteTexts(n.texts), doc: n.doc}
		}
	}
	return n
}

func (c *compiler) secret(f *Member, sf reflect.StructField) {
	switch tag, ok := sf.Tag.Lookup("secret"); {
	case !ok:
		f.Secret = secretInside(f.Node)
	case tag == "false":
	case tag == "true":
		f.Secret = true
	default:
		c.Fault("", fmt.Sprintf("secret:%q is neither true nor false", tag), `Write secret:"true"`)
	}
}

// secretInside reports whether n is of a type, or a list of a type, that reads its own JSON and has a
// field with the tag secret. A mask cannot look into such JSON.
func secretInside(n Node) bool {
	m, own := Bare(cmp.Or(ElementOf(n), n)).(*MethodNode)
	if !own || m.ByKind() || gotype.Deref(m.t).Kind() != reflect.Struct {
		return false
	}
	t := gotype.Deref(m.t)
	for sf := range t.Fields() {
		if sf.Tag.Get("secret") == "true" {
			return true
		}
	}
	return false
}

// header checks an x-mcp-header (2026-07-28 basic/transports, "Parameters in
// headers"): a token, unique whatever the case, on a text, integer or bool that
// is reached through members alone. A client drops a tool that breaks this.
func (c *compiler) header(f *Member) {
	if f.header == "" {
		return
	}
	switch KindOf(f.Node) {
	case rules.TextKind, rules.BoolKind:
	case rules.IntKind, rules.UintKind:
		f.safeInt = true
	default:
		c.Fault("", fmt.Sprintf("header on type %s", f.Node.GoType()), "Only texts, integers and bools can travel in a header")
	}
	if !headerToken.MatchString(f.header) {
		c.Fault("", fmt.Sprintf("header %q is not a token", f.header), "Use letters, digits and -")
	}
	if slices.ContainsFunc(c.Path, func(step string) bool { return step == "[]" || step == "[key]" || strings.HasPrefix(step, "(") }) {
		c.Fault("", "header inside a list, a map or a variant", "Move the field out")
	}
	if other, taken := c.headers[strings.ToLower(f.header)]; taken {
		c.Fault("", fmt.Sprintf("header %q is also the header of %s", f.header, other), "Use different names")
	}
	c.headers[strings.ToLower(f.header)] = f.goName
}

var headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// vague warns about members whose schema is empty.
func (c *compiler) vague(f *Member) {
	if c.mode != Input {
		return
	}
	n, rules := f.Node, f.Rules
	if elem := ElementOf(n); elem != nil {
		n, rules = elem, rules.Element()
	}
	schema := c.schemer().of(n, rules)
	c.unlisted(n, schema)
	if len(schema) > 0 {
		return
	}
	if _, custom := Bare(n).(*MethodNode); custom {
		c.Warn(fmt.Sprintf("type %s reads its own JSON, so its schema is empty", n.GoType()),
			`Give it a method JSONSchema() *jsonschema.Schema, or the field jsonschema:"type=…"; a type of another package is embedded in one of yours for that`)
		return
	}
	if n == f.Node {
		c.Warn(fmt.Sprintf("type %s says nothing about its values", n.GoType()), "Use a concrete type")
	}
}

// unlisted warns about a named text or whole number whose type may have constants that the schema does not list.
func (c *compiler) unlisted(n Node, schema schema.Keywords) {
	t := gotype.Deref(n.GoType())
	what := KindOf(n)
	if _, listed := Bare(n).(*enumNode); listed {
		return
	}
	if t.PkgPath() == "" || what != rules.TextKind && what != rules.IntKind && what != rules.UintKind || schema.Has("enum") || schema.Has("const") || schema.Has("pattern") || schema.Has("format") {
		return
	}
	c.Warn(fmt.Sprintf("type %s has constants, and its schema does not name them", t),
		fmt.Sprintf(`Give it a method Values() []%s, which kagami gen can write, or the field validate:"oneof=…"; if there are other values, the type's comment //kagami:open`, t.Name()))
	c.List[len(c.List)-1].Enum = t
}

// foreignType warns about types of Go and its standard library with a JSON that surprises: an object of their fields.
func (c *compiler) foreignType(t reflect.Type) {
	if t = gotype.Deref(t); t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = gotype.Deref(t.Elem())
	}
	var fix string
	switch {
	case t == reflect.TypeFor[error]():
		c.Warn("the JSON of an error is an object of its exported fields, mostly {}", "Use a string, and write err.Error() into it")
		return
	case t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null"):
		fix = "Use a pointer, such as *string"
	case t.PkgPath() == "mime/multipart" && t.Name() == "FileHeader":
		fix = "Use []byte: the client sends the contents of the file"
	default:
		return
	}
	c.Warn(fmt.Sprintf("the JSON of type %s is an object of its fields", t), fix)
}

// zeroFunc is omitzero's rule: the type's own IsZero, or the zero value.
func zeroFunc(t reflect.Type) func(reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	z := reflect.TypeFor[zeroer]()
	switch {
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(z):
		return func(v reflect.Value) bool { return addressable(v).Interface().(zeroer).IsZero() }
	case t.Implements(z):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(zeroer).IsZero() }
	default:
		return reflect.Value.IsZero
	}
}

// warnRequiredZero warns of required on a number or boolean, because authors expect required to
// forbid zero, and it does not.
func (c *compiler) warnRequiredZero(f *Member) {
	if what := KindOf(f.Node); f.Rules.MustExist() && (what.IsNumber() || what == rules.BoolKind) {
		c.Warn(`validate:"required" on a number or bool means present; its zero is legal`,
			`Leave required out, or forbid the zero with validate:"ne=0"`)
	}
}

// contradiction refuses rules that no value meets.
func (c *compiler) contradiction(f *Member) {
	if !f.Rules.Plain() {
		c.rules.Conflict(f.Rules, valueOf(f.Node), c.schemer().of(Bare(f.Node), f.Rules).Render())
	}
}
