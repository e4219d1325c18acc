package plan

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// schemer renders the nodes of one plan.
type schemer struct {
	mode      Mode
	opts      Options
	names     map[Node]string // nodes on a cycle, by their name in $defs
	overrides map[Node]schema.Keywords
	done      map[string][]byte // rendered $defs
	words     bool              // the schema is for a text, which names the kind of what a $ref stands for
	size      int               // bytes rendered so far: a bound against types that explode when inlined
}

// maxSchema bounds one schema. Non-recursive types are inlined, and a type
// that contains itself twice over in twenty layers must not fill the memory.
const maxSchema = 1 << 20

// root renders a whole schema: the type inline, recursive ones in $defs.
func (s *schemer) root(n Node) (json.RawMessage, bool) {
	s.done = map[string][]byte{}
	k := s.inline(Bare(n), nil)
	if n != Bare(n) && s.mode == Output { // arguments are never null
		k = schema.Nullable(k)
	}
	if s.mode == Input && !k.Has("properties") {
		// JSON Schema does without, but OpenAI's API refuses a function whose parameters
		// have none, and many servers and clients copy that.
		k = slices.Clone(k)
		k.Set("properties", []byte("{}"))
	}
	if len(s.done) > 0 {
		var defs schema.Keywords
		for _, name := range slices.Sorted(maps.Keys(s.done)) {
			defs = append(defs, schema.Keyword{Name: name, Value: s.done[name]})
		}
		k = slices.Clone(k)
		k.Set("$defs", schema.RenderMembers(defs))
	}
	out := k.Render()
	if s.mode == Input || s.mode == Output {
		out = withType(schema.Portable(out), k)
	}
	return out, s.size <= maxSchema && len(out) <= maxSchema
}

// withType is the schema of a root with the type that k has. Its branches have it, but all revisions want it at the
// root, too.
func withType(root []byte, k schema.Keywords) []byte {
	out := schema.Parse(root)
	if typ, ok := k.Get("type"); ok && !out.Has("type") {
		return slices.Insert(out, 0, schema.Keyword{Name: "type", Value: typ}).Render()
	}
	return root
}

// of is the schema of n where rules c apply.
func (s *schemer) of(n Node, c *rules.Constraints) schema.Keywords {
	name, recursive := s.names[n]
	if !recursive {
		return s.inline(n, c)
	}
	// The name is taken before the definition is rendered: that is what ends
	// the recursion.
	if _, known := s.done[name]; !known {
		s.done[name] = nil
		s.done[name] = s.inline(n, nil).Render()
	}
	if !c.Plain() && ElementOf(n) != nil {
		return s.inline(n, c) // the definition does not have the rules of its elements; rules end, so inlining does, too
	}
	k := schema.Keywords{{Name: "$ref", Value: jsontext.Quote(nil, "#/$defs/"+name)}}
	if s.words && KindOf(n) == rules.ListKind {
		k = schema.Typed("array")
	}
	lay(c, &k, n)
	return k
}

// lay adds the rules to the schema of n. For a pointer its element has got the same rules, and has them already.
func lay(c *rules.Constraints, k *schema.Keywords, n Node) {
	if _, pointer := n.(*ptrNode); !pointer {
		c.Apply(k, valueOf(n))
	}
}

func (s *schemer) inline(n Node, c *rules.Constraints) schema.Keywords {
	if s.size > maxSchema {
		return nil
	}
	k, ok := s.overrides[n]
	if ok {
		k = slices.Clone(k)
	} else {
		k = n.schema(s, c)
	}
	lay(c, &k, n)
	s.size += len(k) * 16
	return k
}

// text renders the schema of n for use as a value.
func (s *schemer) text(n Node, c *rules.Constraints) []byte {
	raw := s.of(n, c).Render()
	s.size += len(raw)
	return raw
}
