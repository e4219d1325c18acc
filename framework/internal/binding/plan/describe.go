package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// wanted says in words what n wants under rules c.
func (p *Plan) wanted(n Node, c *rules.Constraints) string {
	if words := c.CheckWords(); words != "" {
		return words
	}
	switch inner := Bare(n).(type) {
	case *StructNode:
		return "an object" + schema.MemberWords(inner.names(), len(inner.Fields) > 0)
	case *UnionNode:
		return inner.words()
	case *AnyNode:
		if inner.t.NumMethod() > 0 { // of a result: arguments are refused at Build
			return "null: what stands behind " + inner.t.String() + " is known only to handles of an app with framework.OneOf"
		}
	case *ListNode:
		if inner.fixed() {
			return fmt.Sprintf("a list of exactly %d items", inner.t.Len())
		}
	}
	k := p.Words(n, c)
	if k.Has("enum") { // the values say what the type is called
		k.Unsay(p.Words(n, nil).Text("description"))
	}
	return schema.Describe(k)
}

// inWords is the description of a member for readers who see no schema: what it is, what
// is wanted where that is not any text, and the default.
func (p *Plan) inWords(f *Member) string {
	if p.mode != Strings {
		return ""
	}
	var k schema.Keywords
	k.Note(f.doc)
	if words := p.wanted(f.Node, f.Rules); words != "text" {
		_, first := utf8.DecodeRuneInString(words)
		k.Note(strings.ToUpper(words[:first]) + words[first:] + ".")
	}
	k.Note(f.defaultWords())
	return k.Text("description")
}

// Words renders the schema of n with its rules, for a text. It never touches the plan's
// own state, which is shared by concurrent calls.
func (p *Plan) Words(n Node, c *rules.Constraints) schema.Keywords {
	local := *p.printer
	local.done = map[string][]byte{}
	local.size, local.words = 0, true
	return local.of(Bare(n), c)
}
