package schema

import (
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// mostUnrolled is how often a definition is written inside itself, unless that makes the schema longer than
// longestUnrolled bytes.
const (
	mostUnrolled    = 3
	longestUnrolled = 16 << 10
)

// unroll writes definitions where they are used. Below the depth, a recursive definition becomes an object of
// any shape.
func unroll(schema []byte) []byte {
	if !strings.Contains(string(schema), `"$ref"`) {
		return schema
	}
	bare := Parse(schema) // without the definitions, which are written where they are used
	bare.Drop("$defs")
	bare.Drop("definitions")
	for depth := mostUnrolled; ; depth-- {
		u := &unroller{root: schema, depth: depth, open: map[string]int{}, room: longestUnrolled}
		out := u.schema(bare.Render())
		switch {
		case u.foreign:
			return schema
		case u.room >= 0 || depth == 1:
			return out
		}
	}
}

type unroller struct {
	root    []byte
	depth   int
	open    map[string]int // how often a definition is being written
	room    int            // bytes that may be added
	foreign bool           // there is a reference to something outside of this schema
}

func (u *unroller) schema(raw []byte) []byte {
	if jsontext.KindOf(raw) != jsontext.KindObject {
		return raw
	}
	pointer, _ := jsontext.Member(raw, "$ref")
	ref, is := jsontext.String(pointer)
	if !is {
		return eachInside(raw, u.schema).Render()
	}
	target, found := u.target(ref)
	if !found {
		u.foreign = true
		return raw
	}
	beside := Parse(raw)
	beside.Drop("$ref")
	if u.open[ref] >= u.depth || u.room < 0 {
		return over(shallow(target), beside).Render()
	}
	u.open[ref]++
	out := over(Parse(u.schema(target)), beside)
	u.open[ref]--
	out.Drop("$defs")
	text := out.Render()
	u.room -= len(target)
	return text
}

// target returns the part of the schema that a reference points to.
func (u *unroller) target(ref string) ([]byte, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	target := u.root
	for path != "" {
		var part string
		if path[0] != '/' {
			return nil, false
		}
		part, path = jsonedit.FirstStep(path)
		inner, found := jsontext.Member(target, jsonedit.Unescaped(part))
		if !found {
			return nil, false
		}
		target = inner
	}
	return target, jsontext.KindOf(target) == jsontext.KindObject
}

// shallow returns the type, title and description of a definition.
func shallow(definition []byte) Keywords {
	k := Parse(definition)
	out := Keywords{}
	for _, name := range []string{"type", "title", "description"} {
		if raw, has := k.Get(name); has {
			out.Set(name, raw)
		}
	}
	if out.Text("type") == "object" {
		out.Set("properties", []byte("{}"))
	}
	return out
}
