package binding

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// keyword is one member of a schema object, its value as compact JSON.
type keyword struct {
	name  string
	value []byte
}

// keywords is one schema object. An own ordered form is kept, because
// invopop's prints the empty schema as true, which clients refuse.
type keywords []keyword

// schemaOrder is the order in which a reader wants to meet the keywords.
// Unlisted ones follow in the order in which they were set.
var schemaOrder = []string{
	"$ref", "type", "title", "description", "enum", "const", "format", "contentEncoding", "pattern",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"properties", "required", "propertyNames", "additionalProperties", "minProperties", "maxProperties",
	"items", "minItems", "maxItems", "uniqueItems",
	"anyOf", "oneOf", "allOf", "not", "dependentRequired", "default", "examples",
}

func (k keywords) find(name string) int {
	return slices.IndexFunc(k, func(w keyword) bool { return w.name == name })
}

func (k keywords) get(name string) ([]byte, bool) {
	if i := k.find(name); i >= 0 {
		return k[i].value, true
	}
	return nil, false
}

func (k keywords) has(name string) bool { return k.find(name) >= 0 }

// text is the value of a string keyword.
func (k keywords) text(name string) string {
	raw, _ := k.get(name)
	s, _ := jsontext.String(raw)
	return s
}

func (k *keywords) set(name string, value []byte) {
	if i := k.find(name); i >= 0 {
		(*k)[i].value = value
		return
	}
	*k = append(*k, keyword{name, value})
}

func (k *keywords) setText(name, text string) { k.set(name, jsontext.Quote(nil, text)) }

func (k *keywords) setInt(name string, n int) { k.set(name, strconv.AppendInt(nil, int64(n), 10)) }

func (k *keywords) drop(name string) {
	if i := k.find(name); i >= 0 {
		*k = slices.Delete(*k, i, i+1)
	}
}

// note adds a sentence to the description, unless that has it.
func (k *keywords) note(sentence string) {
	if sentence == "" {
		return
	}
	switch d := k.text("description"); {
	case d == sentence, strings.HasSuffix(d, " "+sentence):
		return // it is there already
	case d != "":
		sentence = sentenceOf(d) + " " + sentence
	}
	k.setText("description", sentence)
}

// unsay removes a beginning from the description.
func (k *keywords) unsay(beginning string) {
	rest, begins := strings.CutPrefix(k.text("description"), beginning)
	if !begins || beginning == "" {
		return
	}
	k.drop("description")
	k.note(strings.TrimPrefix(strings.TrimPrefix(rest, "."), " "))
}

// sentenceOf ends a text that another sentence follows: most doc tags have no full stop.
func sentenceOf(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(text)
	if unicode.In(last, unicode.Sentence_Terminal) || strings.ContainsRune(":;,…", last) {
		return text
	}
	return text + "."
}

// render writes the object, its members in schemaOrder.
func (k keywords) render() []byte {
	sorted := slices.Clone(k)
	slices.SortStableFunc(sorted, func(a, b keyword) int { return rank(a.name) - rank(b.name) })
	return renderMembers(sorted)
}

func rank(name string) int {
	if i := slices.Index(schemaOrder, name); i >= 0 {
		return i
	}
	if name == "$defs" {
		return len(schemaOrder) + 1
	}
	return len(schemaOrder)
}

// parseKeywords reads one schema object.
func parseKeywords(raw []byte) keywords {
	var k keywords
	for key, value := range jsontext.Members(raw) {
		k = append(k, keyword{key.String(), jsontext.Compact(nil, value)})
	}
	return k
}

// typed is a schema of one JSON type.
func typed(name string) keywords {
	return keywords{{"type", jsontext.Quote(nil, name)}}
}

// nullable extends a schema by null.
func nullable(k keywords) keywords {
	if len(k) == 0 {
		return k
	}
	raw, ok := k.get("type")
	if !ok || slices.ContainsFunc(k, refusesNull) {
		return wrapNullable(k)
	}
	if jsontext.KindOf(raw) == jsontext.KindArray {
		return k
	}
	out := slices.Clone(k)
	out.set("type", slices.Concat([]byte("["), raw, []byte(`,"null"]`)))
	if enum, ok := out.get("enum"); ok {
		out.set("enum", slices.Concat(enum[:len(enum)-1], []byte(",null]")))
	}
	return out
}

// refusesNull says whether the keyword applies to values of every type, null included.
func refusesNull(w keyword) bool {
	return slices.Contains([]string{"const", "anyOf", "oneOf", "allOf", "not"}, w.name)
}

// wrapNullable is for schemas without a plain type ($ref, anyOf, const). The
// description stays outside, where readers look for it.
func wrapNullable(k keywords) keywords {
	var out keywords
	inner := slices.Clone(k)
	for _, name := range []string{"title", "description", "default"} {
		if raw, ok := inner.get(name); ok {
			out.set(name, raw)
			inner.drop(name)
		}
	}
	out.set("anyOf", slices.Concat([]byte("["), inner.render(), []byte(`,{"type":"null"}]`)))
	return out
}

// list renders JSON texts as an array.
func list(items [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

func quoteAll(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = jsontext.Quote(nil, t)
	}
	return out
}

// schemer renders the nodes of one plan.
type schemer struct {
	mode      Mode
	opts      Options
	names     map[node]string // nodes on a cycle, by their name in $defs
	overrides map[node]keywords
	done      map[string][]byte // rendered $defs
	size      int               // bytes rendered so far: a bound against types that explode when inlined
}

// maxSchema bounds one schema. Non-recursive types are inlined, and a type
// that contains itself twice over in twenty layers must not fill the memory.
const maxSchema = 1 << 20

// root renders a whole schema: the type inline, recursive ones in $defs.
func (s *schemer) root(n node) (json.RawMessage, bool) {
	s.done = map[string][]byte{}
	k := s.inline(bare(n), nil)
	if n != bare(n) && s.mode == Output { // arguments are never null
		k = nullable(k)
	}
	if s.mode == Input && !k.has("properties") {
		// JSON Schema does without, but OpenAI's API refuses a function whose parameters
		// have none, and many servers and clients copy that.
		k = slices.Clone(k)
		k.set("properties", []byte("{}"))
	}
	if len(s.done) > 0 {
		var defs keywords
		for name, raw := range s.done {
			defs = append(defs, keyword{name, raw})
		}
		slices.SortFunc(defs, func(a, b keyword) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
		k = slices.Clone(k)
		k.set("$defs", renderMembers(defs))
	}
	out := k.render()
	if s.mode == Input || s.mode == Output {
		out = portable(out)
	}
	return out, s.size <= maxSchema && len(out) <= maxSchema
}

// of is the schema of n where rules c apply.
func (s *schemer) of(n node, c *constraints) keywords {
	name, recursive := s.names[n]
	if !recursive {
		return s.inline(n, c)
	}
	// The name is taken before the definition is rendered: that is what ends
	// the recursion.
	if _, known := s.done[name]; !known {
		s.done[name] = nil
		s.done[name] = s.inline(n, nil).render()
	}
	if !c.plain() && hasElements(n) {
		return s.inline(n, c) // the definition does not have the rules of its elements; rules end, so inlining does, too
	}
	k := keywords{{"$ref", jsontext.Quote(nil, "#/$defs/"+name)}}
	lay(c, &k, n)
	return k
}

// lay adds the rules to the schema of n. For a pointer its element has got the same rules, and has them already.
func lay(c *constraints, k *keywords, n node) {
	if _, pointer := n.(*ptrNode); !pointer {
		c.apply(k, valueOf(n))
	}
}

// hasElements says whether rules may also apply to values inside n.
func hasElements(n node) bool {
	switch n.(type) {
	case *sliceNode, *arrayNode, *mapNode:
		return true
	}
	return false
}

func (s *schemer) inline(n node, c *constraints) keywords {
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
func (s *schemer) text(n node, c *constraints) []byte {
	raw := s.of(n, c).render()
	s.size += len(raw)
	return raw
}

// renderMembers renders in the given order, without ranking.
func renderMembers(k keywords) []byte {
	dst := []byte{'{'}
	for i, w := range k {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.Quote(dst, w.name)
		dst = append(dst, ':')
		dst = append(dst, w.value...)
	}
	return append(dst, '}')
}
