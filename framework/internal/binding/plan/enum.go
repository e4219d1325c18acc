package plan

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/sourcedoc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// enumNode is a named type with a method Values() []T: these and no others.
type enumNode struct {
	Node
	values []reflect.Value
	texts  [][]byte // the values as JSON
	doc    string   // what the doc comments of the constants say
}

// oneOf is one of a few texts.
func oneOf(texts []string) *enumNode {
	n := &enumNode{Node: &StringNode{reflect.TypeFor[string]()}, texts: jsonedit.QuoteAll(texts)}
	for _, text := range texts {
		n.values = append(n.values, reflect.ValueOf(text))
	}
	return n
}

// enum wraps the node of a type that lists its values.
func (c *compiler) enum(t reflect.Type, n Node) Node {
	if !listsValues(t) {
		return n
	}
	values, texts, ok := c.listValues(t, func(v reflect.Value) ([]byte, error) {
		e := &encoder{}
		text := n.encode(e, nil, v)
		return text, e.fault()
	})
	if !ok {
		return n
	}
	return &enumNode{Node: n, values: values, texts: texts, doc: constantDocs(t, values, texts)}
}

// constantDocs returns the doc comments of constants, each after its value. If no constant has a comment, it
// returns "".
func constantDocs(t reflect.Type, values []reflect.Value, texts [][]byte) string {
	var all []string
	for i, v := range values {
		if doc := sourcedoc.Constant(t, v); doc != "" {
			all = append(all, jsonedit.TextOf(texts[i])+": "+schema.SentenceOf(doc))
		}
	}
	return strings.Join(all, " ")
}

// listsValues reports whether t has a method Values() []t.
func listsValues(t reflect.Type) bool {
	if t.Name() == "" || t.Kind() == reflect.Interface {
		return false
	}
	method, ok := reflect.PointerTo(t).MethodByName("Values")
	if !ok {
		return false
	}
	mt := method.Type // with the receiver as its first parameter
	return mt.NumIn() == 1 && mt.NumOut() == 1 && mt.Out(0).Kind() == reflect.Slice && mt.Out(0).Elem() == t
}

// enumKey limits the keys of a map to the values that their type lists.
func (c *compiler) enumKey(k *KeyCodec) *KeyCodec {
	if !listsValues(k.T) {
		return k
	}
	if !k.writes && k.T.Kind() != reflect.String && !gotype.IsInt(k.T.Kind()) && !gotype.IsUint(k.T.Kind()) {
		return k // it has no text to compare with
	}
	_, names, _ := c.listValues(k.T, func(v reflect.Value) ([]byte, error) {
		name, err := k.write(v)
		return []byte(name), err
	})
	for _, name := range names {
		k.Names = append(k.Names, string(name))
	}
	return k
}

// listValues calls the type's methods, which may panic, and writes the values.
func (c *compiler) listValues(t reflect.Type, write func(reflect.Value) ([]byte, error)) (values []reflect.Value, texts [][]byte, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			c.Fault("", fmt.Sprintf("%s.Values panicked: %v", t, r), "Make it independent of the receiver")
			ok = false
		}
	}()
	result := reflect.New(t).MethodByName("Values").Call(nil)[0]
	for i := range result.Len() {
		text, err := write(result.Index(i))
		if err != nil {
			c.Fault("", fmt.Sprintf("%s.Values has a value without JSON form: %v", t, err), "Return values that can be written")
			return nil, nil, false
		}
		if slices.ContainsFunc(texts, func(known []byte) bool { return bytes.Equal(known, text) }) {
			continue // some readers of schemas refuse an enum with a value twice
		}
		values = append(values, result.Index(i))
		texts = append(texts, text)
	}
	if len(values) == 0 {
		c.Fault("", fmt.Sprintf("%s.Values returned no values", t), "Return the allowed values, independent of the receiver")
		return nil, nil, false
	}
	return values, texts, true
}

func (n *enumNode) decode(d *decoder, raw []byte, v reflect.Value, c *rules.Constraints) {
	if jsontext.KindOf(raw) == jsontext.KindNull && !n.lists(raw) {
		d.refuse(report.RuleEnum, n, raw, c) // a method might silently accept null
		return
	}
	before := len(d.found)
	n.Node.decode(d, raw, v, c)
	if len(d.found) > before {
		// The inner node has said what it wants; say which values there are.
		last := &d.found[len(d.found)-1]
		last.Want, last.Node = d.plan.wanted(n, c), n
		return
	}
	if !n.contains(v) {
		d.refuse(report.RuleEnum, n, raw, c)
	}
}

func (n *enumNode) lists(text []byte) bool {
	return slices.ContainsFunc(n.texts, func(known []byte) bool { return bytes.Equal(known, text) })
}

// quoteTexts returns JSON texts as JSON strings that contain them.
func quoteTexts(texts [][]byte) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = jsontext.QuoteBytes(nil, text)
	}
	return out
}

func (n *enumNode) contains(v reflect.Value) bool {
	return slices.ContainsFunc(n.values, func(x reflect.Value) bool { return sameValue(x, v) })
}

func sameValue(a, b reflect.Value) bool {
	if a.Comparable() && b.Comparable() {
		return a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func (n *enumNode) encode(e *encoder, dst []byte, v reflect.Value) []byte {
	if !n.contains(v) {
		return e.fail(dst, "%v is not one of the values of %s", v, n.GoType())
	}
	return n.Node.encode(e, dst, v)
}

func (n *enumNode) schema(s *schemer, c *rules.Constraints) schema.Keywords {
	k := n.Node.schema(s, c)
	k.Drop("minimum")
	k.Drop("maximum")
	switch n.Node.(type) {
	case *MethodNode, *quotedNode:
		k.Drop("description")
		k.Drop("pattern")
	}
	k.Note(n.doc)
	k.Set("enum", jsonedit.List(n.texts))
	return k
}

// enumOf is the allowed values of a member in their text form.
func (p *Plan) enumOf(f *Member) []string {
	raw, ok := p.printer.of(f.Node, f.Rules).Get("enum")
	if !ok {
		return nil
	}
	var out []string
	for item := range jsontext.Elements(raw) {
		if jsontext.KindOf(item) == jsontext.KindNull {
			continue
		}
		out = append(out, jsonedit.TextOf(item))
	}
	return out
}
