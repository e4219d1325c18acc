package repair

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// typeExamples returns an example of a type with a known text form, or nil.
func typeExamples(n plan.Node) [][]byte {
	if form, ok := plan.TextForms[n.GoType()]; ok {
		return jsonedit.QuoteAll([]string{form.Example})
	}
	return nil
}

// sentenceExamples are texts for rules that no keyword expresses.
var sentenceExamples = map[string]string{
	"cidr": "10.0.0.0/8", "cidrv4": "10.0.0.0/8", "cidrv6": "2001:db8::/32", "mac": "00:00:5e:00:53:01",
	"latitude": "52.5", "longitude": "13.4", "timezone": "Europe/Berlin", "port": "443", "hostname_port": "example.com:443",
	"iso3166_1_alpha2": "DE", "iso3166_1_alpha3": "DEU", "iso4217": "EUR", "bcp47_language_tag": "en-US",
	"json": "{}", "base64": "dGV4dA==", "lowercase": "text", "uppercase": "TEXT",
}

// ruleExamples returns texts for rules of validator that have no keyword.
func ruleExamples(c *rules.Constraints) [][]byte {
	if c == nil {
		return nil
	}
	var out []string
	for _, r := range c.Rules {
		if r.Name == "datetime" {
			out = append(out, rules.LayoutExample(r.Param))
		}
		if text, ok := sentenceExamples[r.Name]; ok {
			out = append(out, text)
		}
	}
	return jsonedit.QuoteAll(out)
}

// exampleMap returns a map with as many members as the rules demand. It has at least one member, to
// show the form of the keys. At greater depth the map may be empty, if the rules allow it.
func (p guesser) exampleMap(n *plan.MapNode, c *rules.Constraints, depth int) []byte {
	least := least(p.Words(n, c), "minProperties")
	if least == 0 && depth > 0 && plan.Reaches(n, n, map[plan.Node]bool{}) {
		return jsonedit.EmptyObject
	}
	members := p.exampleMembers(n, c, max(least, 1), depth)
	if least == 0 && !p.Fits(n, c, members) {
		return jsonedit.EmptyObject
	}
	return members
}

func (p guesser) exampleMembers(n *plan.MapNode, c *rules.Constraints, count, depth int) []byte {
	out, value := jsonedit.EmptyObject, p.example(n.Elem, c.Element(), depth+1)
	for i, name := range p.keyExamples(n.Key, c.KeyRules()) {
		if i == count || len(out) > maxTry {
			break
		}
		out = jsonedit.WithMember(out, name, value)
	}
	return out
}

// keyExamples returns keys that the codec and the rules accept, all different.
func (p guesser) keyExamples(k *plan.KeyCodec, c *rules.Constraints) []string {
	names := k.Names
	if names == nil {
		names = p.keyGuesses(k, c)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !p.keyFits(k, c, name) })
}

func (p guesser) keyGuesses(k *plan.KeyCodec, c *rules.Constraints) []string {
	if form, ok := plan.TextForms[k.T]; ok {
		return []string{form.Example}
	}
	if !k.Reads && k.T.Kind() != reflect.String {
		return numbered("")
	}
	var names []string
	text := &plan.StringNode{T: reflect.TypeFor[string]()}
	for _, raw := range slices.Concat([][]byte{[]byte(`"key"`)}, ruleExamples(c), scalarExamples(p.Words(text, c))) {
		names = append(names, jsonedit.TextOf(raw))
	}
	return report.UniqueTexts(append(names, numbered("key")...))
}

// numbered returns enough keys for any map that a corrected call has room for.
func numbered(prefix string) []string {
	out := make([]string, 64)
	for i := range out {
		out[i] = prefix + strconv.Itoa(i+1)
	}
	return out
}

func (p guesser) keyFits(k *plan.KeyCodec, c *rules.Constraints, name string) bool {
	v := reflect.New(k.T).Elem()
	err := k.Read(name, v)
	if err != nil {
		return false
	}
	return c == nil || p.Holds(v, c.Tag(k.T, true))
}

// mendKey replaces a wrong key by the nearest valid key, or by the first unused example.
func (a *attempt) mendKey(f plan.Finding, parent, name string) {
	became := ""
	a.edit(parent, func(object []byte) []byte {
		value, _ := jsontext.Member(object, name)
		rest := jsonedit.WithoutMember(object, name)
		near := []string{strings.Trim(name, notDigits), spelling.Close(name, f.Key.Names)}
		if number := signed(name); number != "" {
			near = slices.Insert(near, 0, number)
		}
		for i, guess := range slices.Concat(near, a.plan.keyExamples(f.Key, f.Rules)) {
			if _, taken := jsontext.Member(rest, guess); !taken && a.plan.keyFits(f.Key, f.Rules, guess) {
				if i >= len(near) {
					became = guess
				}
				return jsonedit.WithMember(rest, guess, value)
			}
		}
		return rest
	})
	if became != "" {
		a.examples = append(a.examples, jsontext.Pointer(parent, became))
	}
}

// signed returns the number in a key with the sign before it, or "" without a sign.
func signed(name string) string {
	digits := strings.Trim(name, notDigits)
	before, _, _ := strings.Cut(name, digits)
	if rest, is := strings.CutSuffix(before, "-"); is && (rest == "" || strings.HasSuffix(rest, " ")) {
		return "-" + digits
	}
	return ""
}

// notDigits are the characters around a number that was meant: 12A, row 12.
const notDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ _-#.:"

// parts returns what a text must begin with, contain and end with. Each part is "" if there is no such rule.
func parts(k schema.Keywords) (begin, middle, end string) {
	for _, pattern := range append([]string{k.Text("pattern")}, patternsOf(schema.Value(k, "allOf"))...) {
		text, plain := schema.Literal(pattern)
		switch {
		case strings.HasPrefix(pattern, "["):
			middle += firstOf(pattern)
		case !plain:
		case strings.HasPrefix(pattern, "^"):
			begin = text
		case strings.HasSuffix(pattern, "$"):
			end = text
		default:
			middle += text
		}
	}
	return begin, middle, end
}

// composed returns texts that consist of these parts.
func composed(k schema.Keywords) []string {
	begin, middle, end := parts(k)
	if begin+middle+end == "" {
		return nil
	}
	out := []string{begin + middle + end, begin + "text" + middle + end}
	if n, ok := k.Int("minLength"); ok && n <= 256 {
		out = append(out, begin+middle+strings.Repeat("0", max(0, n-utf8.RuneCountInString(out[0])))+end)
	}
	return out
}

// firstOf returns the first character of a class.
func firstOf(class string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(class[1:], `\`))
	return string(first)
}

func patternsOf(schemas []byte) (out []string) {
	for raw := range jsontext.Elements(schemas) {
		out = append(out, schema.Parse(raw).Text("pattern"))
	}
	return out
}
