package repair

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// example returns a value that n accepts, as small as possible.
func (p guesser) example(n plan.Node, c *rules.Constraints, depth int) []byte {
	if depth > 8 {
		return []byte("null")
	}
	n = plan.Bare(n)
	switch inner := n.(type) {
	case *plan.StructNode:
		return p.exampleObject(inner, depth)
	case *plan.ListNode:
		return p.exampleList(inner.Elem, c, p.Words(n, c), depth)
	case *plan.MapNode:
		return p.exampleMap(inner, c, depth)
	case *plan.UnionNode:
		first := inner.Variants[0]
		return first.Tagged(p.exampleObject(first.Elem, depth))
	case *plan.MethodNode:
		if inner.ByKind() {
			return p.example(inner.Base, c, depth)
		}
	case *plan.AnyNode, *plan.RawNode:
		return jsonedit.EmptyObject
	}
	for _, candidate := range slices.Concat(typeExamples(n), ruleExamples(c), scalarExamples(p.Words(n, c))) {
		if p.Fits(n, c, candidate) {
			return candidate
		}
	}
	return []byte("null")
}

func (p guesser) exampleObject(n *plan.StructNode, depth int) []byte {
	out := []byte("{}")
	for _, f := range n.Fields {
		if f.Required {
			out = jsonedit.WithMember(out, f.Name, p.example(f.Node, f.Rules, depth+1))
		}
	}
	return out
}

// exampleList repeats the example of an item. It returns null instead of a list that is too long to be tried.
func (p guesser) exampleList(elem plan.Node, c *rules.Constraints, k schema.Keywords, depth int) []byte {
	count := min(least(k, "minItems"), 64)
	if count == 0 {
		return []byte("[]")
	}
	item := p.example(elem, c.Element(), depth+1)
	if count*len(item) > maxTry {
		return []byte("null")
	}
	return jsonedit.List(slices.Repeat([][]byte{item}, count))
}

// least returns the bound that a keyword such as minItems sets, or 0.
func least(k schema.Keywords, word string) int {
	n, _ := k.Int(word)
	return n
}

var formatExamples = map[string]string{
	"email": "name@example.com", "uri": "https://example.com/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "example.com", "date": "2026-01-31", "date-time": "2026-01-31T15:04:05Z",
}

// textExamples are tried against a pattern in turn.
var textExamples = []string{
	"text", "10", "1.2.3", "#ff8800", "+4930123456", "192.0.2.1", "ABC", "5m", "true", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	"123e4567-e89b-42d3-a456-426614174000", "DE", "2026-01-31", "d41d8cd98f00b204e9800998ecf8427e",
}

// scalarExamples returns guesses from a schema, the best first.
func scalarExamples(k schema.Keywords) [][]byte {
	if raw, ok := k.Get("enum"); ok {
		return slices.Collect(jsontext.Elements(raw))
	}
	if raw, ok := k.Get("const"); ok {
		return [][]byte{raw}
	}
	if options := schema.Value(k, "anyOf"); options != nil && string(options) != schema.IPFormats {
		return optionExamples(k, options)
	}
	switch k.Text("type") {
	case "boolean":
		return [][]byte{[]byte("true"), []byte("false")}
	case "integer", "number":
		one := []byte("1")
		if moved := schema.Clamp(k, one); moved != nil {
			one = moved
		}
		return append([][]byte{one, []byte("1")}, between(k)...)
	case "string":
		return jsonedit.QuoteAll(stringExamples(k))
	}
	return [][]byte{[]byte("1"), []byte(`"text"`), []byte("true"), jsonedit.EmptyObject, []byte("[]")}
}

// between returns numbers inside of exclusive bounds.
func between(k schema.Keywords) (out [][]byte) {
	low, hasLow := schema.Bound(k, "exclusiveMinimum")
	high, hasHigh := schema.Bound(k, "exclusiveMaximum")
	from, errLow := strconv.ParseFloat(low, 64)
	to, errHigh := strconv.ParseFloat(high, 64)
	if hasLow && errLow == nil {
		out = append(out, jsontext.AppendFloat(nil, math.Floor(from)+1))
	}
	if hasHigh && errHigh == nil {
		out = append(out, jsontext.AppendFloat(nil, math.Ceil(to)-1))
	}
	if hasLow && hasHigh && errLow == nil && errHigh == nil {
		out = append(out, jsontext.AppendFloat(nil, from+(to-from)/2))
	}
	return out
}

// optionExamples returns guesses from the alternatives of a value.
func optionExamples(k schema.Keywords, options []byte) [][]byte {
	var out [][]byte
	for option := range jsontext.Elements(options) {
		inner := schema.Parse(option)
		inner.Set("type", schema.Value(k, "type"))
		out = append(out, scalarExamples(inner)...)
	}
	return out
}

func stringExamples(k schema.Keywords) []string {
	if text, ok := formatExamples[k.Text("format")]; ok {
		return append([]string{text}, composed(k)...)
	}
	if k.Text("contentEncoding") == "base64" {
		return []string{"dGV4dA=="}
	}
	out := slices.Clone(textExamples)
	for i, text := range out {
		out[i] = fitLength(text, k)
	}
	if pattern := k.Text("pattern"); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil {
			out = slices.DeleteFunc(out, func(text string) bool { return !re.MatchString(text) })
		}
	}
	return append(out, composed(k)...)
}

func fitLength(text string, k schema.Keywords) string {
	if n := least(k, "minLength"); n > len(text) && n <= 256 {
		text += strings.Repeat(text[len(text)-1:], n-len(text))
	}
	if n, ok := k.Int("maxLength"); ok && n < len(text) {
		text = text[:n]
	}
	return text
}
