package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// Node is one type of a plan. Implementations are immutable once the plan is
// compiled. They are pointers, so that a node is its own identity.
type Node interface {
	// GoType returns the type of the values.
	GoType() reflect.Type
	// decode stores raw in v or files a fault. v is settable and zero, unless
	// a default or an earlier member of an embedded struct was stored.
	decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints)
	// encode appends the JSON of v to dst, or what there was of it before e failed.
	encode(e *encoder, dst []byte, v reflect.Value) []byte
	// schema returns the shape alone. The caller adds the rules of the value itself; the rules of its elements
	// are passed down here.
	schema(s *schemer, c *rules.Constraints) schema.Keywords
}

// typed is the part that most nodes have in common.
type typed struct{ t reflect.Type }

// GoType returns the type of the values.
func (n typed) GoType() reflect.Type { return n.t }

// compiler builds the nodes of one plan.
type compiler struct {
	*report.Faults
	rules *rules.Compiler // of the validate tags

	mode      Mode
	opts      Options
	nodes     map[reflect.Type]Node
	order     []Node         // as first met: names in $defs depend on it
	structs   []*StructNode  // as first met
	variants  []*variantNode // likewise
	overrides map[Node]schema.Keywords
	own       map[Node]*schema.Raw // of types with a schema hook: what values are also checked against
	names     map[Node]string      // of recursive types; nil until the nodes are finished
	defaults  []pendingDefault
	headers   map[string]string // field names by lower-cased header
	later     []func()          // work on finished nodes, put off because recursive types are unfinished until then
}

func newCompiler(mode Mode, opts Options) *compiler {
	faults := &report.Faults{}
	return &compiler{
		Faults: faults, rules: &rules.Compiler{Faults: faults, Checks: opts.Checks},
		mode: mode, opts: opts,
		nodes: map[reflect.Type]Node{}, overrides: map[Node]schema.Keywords{}, own: map[Node]*schema.Raw{}, headers: map[string]string{},
	}
}

// rootName is what paths of faults begin with.
func rootName(t reflect.Type, mode Mode) string {
	if name := gotype.PlainName(gotype.Deref(t)); name != "" {
		return name
	}
	if mode == Output {
		return "Out"
	}
	return "In"
}

// root compiles the root and checks that its shape fits the mode.
func (c *compiler) root(t reflect.Type, name string) Node {
	var n Node
	c.At(name, func() {
		n = c.node(t)
		if n == nil || c.mode == Output {
			return
		}
		c.checkRoot(n)
	})
	return n
}

func (c *compiler) checkRoot(n Node) {
	switch inner := Bare(n).(type) {
	case *StructNode:
		if c.mode.flat() {
			c.checkFlat(inner)
		}
		return
	case *MapNode:
		if c.mode == Input {
			return
		}
	case *MethodNode:
		if c.mode == Input && inner.read == byJSON {
			c.Fault("", fmt.Sprintf("type %s reads its own JSON by UnmarshalJSON, and arguments are read member by member", n.GoType()),
				"Remove the method, also from what it embeds, or use json.RawMessage with InputSchema")
			return
		}
	}
	switch c.mode {
	case Strings:
		c.Fault("", fmt.Sprintf("type %s is not a struct", n.GoType()), "Use a struct whose fields have a text form")
	case Form:
		c.Fault("", fmt.Sprintf("type %s is not a form", n.GoType()), "Use a flat struct of texts, numbers, bools, enums and lists of enums of texts")
	default:
		c.Fault("", fmt.Sprintf("type %s does not encode as a JSON object", n.GoType()),
			"Use a struct, a map with string keys, or json.RawMessage with InputSchema")
	}
}

// node compiles t once. Inside a recursive type it returns the unfinished node.
func (c *compiler) node(t reflect.Type) Node {
	if n, ok := c.nodes[t]; ok {
		return n
	}
	if n, ok := c.known(t); ok {
		c.put(t, n)
		return n
	}
	if t.Kind() == reflect.Pointer {
		if gotype.Endless(t) {
			c.Fault("", fmt.Sprintf("type %s is a pointer to nothing but pointers", t), "Use another type")
			return nil
		}
		n := &ptrNode{typed: typed{t}}
		c.put(t, n)
		n.elem = c.node(t.Elem())
		if n.elem == nil {
			c.remove(t, n)
			return nil
		}
		return n
	}
	n := c.custom(t)
	if n == nil {
		n = c.shape(t)
	}
	if n == nil {
		return nil
	}
	if wrapped := c.enum(t, n); wrapped != n {
		c.remove(t, n)
		n = wrapped
	}
	c.put(t, n)
	c.afterwards(func() { c.override(t, n) })
	return n
}

// afterwards runs fn at the same path once all nodes are finished.
func (c *compiler) afterwards(fn func()) {
	path := slices.Clone(c.Path)
	c.later = append(c.later, func() {
		c.Path = path
		fn()
		c.Path = nil
	})
}

// finish runs what was put off. A struct puts off the tags of its fields before its own schema,
// and after the schemas of the fields' types.
func (c *compiler) finish() {
	for _, fn := range c.later {
		fn()
	}
}

// put remembers the node of t; the first one stays.
func (c *compiler) put(t reflect.Type, n Node) {
	if _, ok := c.nodes[t]; !ok && n != nil {
		c.nodes[t] = n
		c.order = append(c.order, n)
	}
}

// remove forgets n after a fault.
func (c *compiler) remove(t reflect.Type, n Node) {
	if c.nodes[t] == n {
		delete(c.nodes, t)
	}
}

// known are the leaf types that encoding/json or invopop would get wrong, and
// those it pays to read without calling their methods.
func (c *compiler) known(t reflect.Type) (Node, bool) {
	switch t {
	case gotype.TimeType:
		return &timeNode{typed{t}}, true
	case gotype.DurationType:
		return &durationNode{typed{t}}, true
	case gotype.NumberType:
		return &numberNode{typed{t}}, true
	case gotype.RawType:
		return &RawNode{typed{t}}, true
	case gotype.BigIntType:
		return &bigNode{typed{t}}, true
	case gotype.StdURLType:
		// encoding/json writes url.URL as a struct of eleven fields and cannot
		// read a string into it.
		c.Fault("", "type url.URL has no text form in JSON", `Use framework.URL, or string with validate:"url"`)
		return nil, true
	case gotype.EmptyInterface:
		return &AnyNode{typed{t}}, true
	}
	return nil, false
}

// shape compiles t by its kind.
func (c *compiler) shape(t reflect.Type) Node {
	switch t.Kind() {
	case reflect.Bool:
		return &boolNode{typed{t}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &wholeNode{typed{t}}
	case reflect.Float32, reflect.Float64:
		return &floatNode{typed{t}}
	case reflect.String:
		return &StringNode{t}
	case reflect.Struct:
		return c.structOf(t)
	case reflect.Slice:
		if isBytes(t) {
			return &bytesNode{typed{t}}
		}
		n := &ListNode{typed: typed{t}, empty: reflect.MakeSlice(t, 0, 0)}
		return c.container(t, n, "[]", t.Elem(), &n.Elem)
	case reflect.Array:
		n := &ListNode{typed: typed{t}}
		return c.container(t, n, "[]", t.Elem(), &n.Elem)
	case reflect.Map:
		return c.mapOf(t)
	case reflect.Interface:
		return c.iface(t)
	default:
		fix := "Use another type"
		if slices.ContainsFunc(c.Path[1:], func(step string) bool { return !strings.HasPrefix(step, "[") }) {
			fix = `Remove the field or tag it json:"-"`
		}
		c.Fault("", fmt.Sprintf("type %s has no JSON form", t), fix)
		return nil
	}
}

// container compiles the element after the container is known, because a type
// may contain itself.
func (c *compiler) container(t reflect.Type, n Node, step string, elem reflect.Type, into *Node) Node {
	c.put(t, n)
	c.At(step, func() { *into = c.node(elem) })
	if *into == nil {
		c.remove(t, n)
		return nil
	}
	return n
}

func (c *compiler) iface(t reflect.Type) Node {
	if u, ok := c.opts.union(t); ok {
		return c.union(t, u)
	}
	if c.mode == Output || t.NumMethod() == 0 {
		return &AnyNode{typed{t}}
	}
	fix := "List its implementations with framework.OneOf, or use a concrete type, any or json.RawMessage"
	if first, _, _ := strings.Cut(t.PkgPath(), "/"); !strings.Contains(first, ".") && first != "main" { // error, context.Context, io.Reader
		fix = "No caller can send one: leave it out, or use a concrete type. A handler gets its context as its first parameter"
	}
	c.Fault("", fmt.Sprintf("interface %s cannot be decoded", t), fix)
	return nil
}

// isBytes reports whether encoding/json writes the slice t as base64: its elements are bytes without
// a JSON form of their own. If the byte type lists its values, the slice does not count as bytes,
// because a text would hide the values.
func isBytes(t reflect.Type) bool {
	if t.Elem().Kind() != reflect.Uint8 || listsValues(t.Elem()) {
		return false
	}
	p := reflect.PointerTo(t.Elem())
	return !p.Implements(gotype.JSONWriter) && !p.Implements(gotype.TextWriter)
}

func (c *compiler) mapOf(t reflect.Type) Node {
	n := &MapNode{typed: typed{t}, list: reflect.SliceOf(t.Elem())}
	n.Key = c.keyOf(t.Key())
	if n.Key == nil {
		return nil
	}
	if !keeps(t.Key()) && !keeps(t.Elem()) {
		n.rooms = new(sync.Pool)
	}
	return c.container(t, n, "[key]", t.Elem(), &n.Elem)
}

// keeps reports whether methods of a value may keep a pointer to where it lies. Only plain scalars
// cannot.
func keeps(t reflect.Type) bool {
	switch kind := t.Kind(); {
	case kind == reflect.String, kind == reflect.Bool, kind == reflect.Float32, kind == reflect.Float64, gotype.IsInt(kind), gotype.IsUint(kind):
		return reflect.PointerTo(t).NumMethod() > 0
	}
	return true
}

// keyOf follows encoding/json: UnmarshalText comes first when reading, a string kind when
// writing.
func (c *compiler) keyOf(t reflect.Type) *KeyCodec {
	k := &KeyCodec{T: t, big: holdsBig(t, 4), Reads: reflect.PointerTo(t).Implements(gotype.TextReader)}
	k.writes = t.Kind() != reflect.String && (t.Implements(gotype.TextWriter) || reflect.PointerTo(t).Implements(gotype.TextWriter))
	switch {
	case t.Kind() == reflect.String, gotype.IsInt(t.Kind()), gotype.IsUint(t.Kind()):
		return c.enumKey(k)
	case c.mode == Output && k.writes, c.mode != Output && k.Reads:
		return c.enumKey(k)
	}
	c.Fault("", fmt.Sprintf("map key type %s has no text form", t), "Use string or integer keys, or a type with MarshalText and UnmarshalText")
	return nil
}

// custom compiles a type with marshaling methods, on value or pointer
// receivers, or returns nil.
func (c *compiler) custom(t reflect.Type) Node {
	p := reflect.PointerTo(t)
	if t.Kind() == reflect.Interface {
		return nil
	}
	n := &MethodNode{typed: typed{t}, mode: c.mode, big: holdsBig(t, 4), read: c.codecOf(p, gotype.JSONReader, gotype.TextReader), write: c.codecOf(p, gotype.JSONWriter, gotype.TextWriter)}
	if n.read == byShape && n.write == byShape {
		return nil
	}
	c.put(t, n)
	if n.shown() == byShape {
		n.Base = c.shape(t)
		if n.Base == nil {
			c.remove(t, n)
			n.Base = &AnyNode{typed{t}} // the fault is filed; do not try the shape twice
		}
		return n
	}
	if n.read == byShape || n.write == byShape {
		n.Base = c.quietShape(t)
	}
	return n
}

// codecOf prefers the JSON methods of a type that has both, as encoding/json does, except where
// texts are sent.
func (c *compiler) codecOf(p, ofJSON, ofText reflect.Type) codec {
	switch {
	case p.Implements(ofText) && (c.mode == Strings || !p.Implements(ofJSON)):
		return byText
	case p.Implements(ofJSON):
		return byJSON
	}
	return byShape
}

// quietShape compiles the fallback for the direction that the mode does not show. If the type
// has no plain form there either, that is an error of the call that uses it, not of the
// registration.
func (c *compiler) quietShape(t reflect.Type) Node {
	saved, faults := *c, len(c.List)
	saved.nodes = maps.Clone(c.nodes)
	n := c.shape(t)
	failed := report.Failed(c.List[faults:])
	c.List = c.List[:faults]
	if failed {
		*c = saved
		return nil
	}
	return n
}

// schemer prepares rendering, once the nodes are finished.
func (c *compiler) schemer() *schemer {
	if c.names == nil {
		c.names = c.recursive()
	}
	return &schemer{mode: c.mode, opts: c.opts, names: c.names, overrides: c.overrides, done: map[string][]byte{}}
}

// recursive names the nodes that contain themselves.
func (c *compiler) recursive() map[Node]string {
	names, taken := map[Node]string{}, map[string]bool{}
	for _, n := range c.order {
		if c.nodes[n.GoType()] != n || n.GoType().Name() == "" || !Reaches(n, n, map[Node]bool{}) {
			continue
		}
		names[n] = freeName(defName(n.GoType()), taken)
	}
	for _, v := range c.variants {
		if Reaches(v, v, map[Node]bool{}) {
			names[v] = freeName(defName(v.GoType())+"_variant", taken)
		}
	}
	return names
}

// freeName is the name, with a number if it is taken.
func freeName(base string, taken map[string]bool) string {
	name := base
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	taken[name] = true
	return name
}
