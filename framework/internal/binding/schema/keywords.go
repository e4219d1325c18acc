package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Keyword is one member of a schema object, its value as compact JSON.
type Keyword struct {
	Name  string
	Value []byte
}

// Keywords is one schema object, with its members in order. It replaces the type of invopop, because invopop
// prints the empty schema as true, and clients refuse that.
type Keywords []Keyword

// schemaOrder is the order of keywords in a rendered schema. Other keywords follow in the order that they were
// set in.
var schemaOrder = []string{
	"$ref", "type", "title", "description", "enum", "const", "format", "contentEncoding", "pattern",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"properties", "required", "propertyNames", "additionalProperties", "minProperties", "maxProperties",
	"items", "minItems", "maxItems", "uniqueItems",
	"anyOf", "oneOf", "allOf", "not", "dependentRequired", "default", "examples",
}

func (k Keywords) find(name string) int {
	return slices.IndexFunc(k, func(w Keyword) bool { return w.Name == name })
}

// Get returns the value of a keyword as JSON, and whether the keyword is there.
func (k Keywords) Get(name string) ([]byte, bool) {
	if i := k.find(name); i >= 0 {
		return k[i].Value, true
	}
	return nil, false
}

// Has reports whether the keyword is there.
func (k Keywords) Has(name string) bool { return k.find(name) >= 0 }

// Text returns the value of a string keyword, or "".
func (k Keywords) Text(name string) string {
	raw, _ := k.Get(name)
	s, _ := jsontext.String(raw)
	return s
}

// Int returns the whole number of a keyword, and whether the keyword is there.
func (k Keywords) Int(name string) (int, bool) {
	raw, ok := k.Get(name)
	n, _ := jsontext.Int64(raw)
	return int(n), ok
}

// Set sets the value of a keyword. A keyword that is there keeps its place.
func (k *Keywords) Set(name string, value []byte) {
	if i := k.find(name); i >= 0 {
		(*k)[i].Value = value
		return
	}
	*k = append(*k, Keyword{name, value})
}

// SetText sets a keyword to a JSON string.
func (k *Keywords) SetText(name, text string) { k.Set(name, jsontext.Quote(nil, text)) }

// SetInt sets a keyword to a number.
func (k *Keywords) SetInt(name string, n int) { k.Set(name, strconv.AppendInt(nil, int64(n), 10)) }

// Drop removes a keyword.
func (k *Keywords) Drop(name string) {
	if i := k.find(name); i >= 0 {
		*k = slices.Delete(*k, i, i+1)
	}
}

// Note adds a sentence to the description, unless the description has it.
func (k *Keywords) Note(sentence string) {
	if sentence == "" {
		return
	}
	switch d := k.Text("description"); {
	case d == sentence, strings.HasSuffix(d, " "+sentence):
		return // it is there already
	case d != "":
		sentence = SentenceOf(d) + " " + sentence
	}
	k.SetText("description", sentence)
}

// Unsay removes a beginning from the description.
func (k *Keywords) Unsay(beginning string) {
	rest, begins := strings.CutPrefix(k.Text("description"), beginning)
	if !begins || beginning == "" {
		return
	}
	k.Drop("description")
	k.Note(strings.TrimPrefix(strings.TrimPrefix(rest, "."), " "))
}

// SentenceOf ends a text that another sentence follows. Most doc tags have no full stop.
func SentenceOf(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(text)
	if unicode.In(last, unicode.Sentence_Terminal) || strings.ContainsRune(":;,…", last) {
		return text
	}
	return text + "."
}

// Render writes the object, with its members in the order of schemaOrder.
func (k Keywords) Render() []byte {
	sorted := slices.Clone(k)
	slices.SortStableFunc(sorted, func(a, b Keyword) int { return rank(a.Name) - rank(b.Name) })
	return RenderMembers(sorted)
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

// Parse reads one schema object.
func Parse(raw []byte) Keywords {
	var k Keywords
	for key, value := range jsontext.Members(raw) {
		k = append(k, Keyword{key.String(), jsontext.Compact(nil, value)})
	}
	return k
}

// Typed returns a schema of one JSON type.
func Typed(name string) Keywords {
	return Keywords{{"type", jsontext.Quote(nil, name)}}
}

// Nullable returns a schema that also accepts null.
func Nullable(k Keywords) Keywords {
	if len(k) == 0 {
		return k
	}
	raw, ok := k.Get("type")
	if !ok || slices.ContainsFunc(k, refusesNull) {
		return WrapNullable(k)
	}
	if jsontext.KindOf(raw) == jsontext.KindArray {
		return k
	}
	out := slices.Clone(k)
	out.Set("type", slices.Concat([]byte("["), raw, []byte(`,"null"]`)))
	if enum, ok := out.Get("enum"); ok {
		out.Set("enum", slices.Concat(enum[:len(enum)-1], []byte(",null]")))
	}
	return out
}

// refusesNull reports whether the keyword applies to values of every type, including null.
func refusesNull(w Keyword) bool {
	return slices.Contains([]string{"const", "anyOf", "oneOf", "allOf", "not"}, w.Name)
}

// WrapNullable is Nullable for schemas without a plain type ($ref, anyOf, const). The description stays
// outside, where readers look for it.
func WrapNullable(k Keywords) Keywords {
	var out Keywords
	inner := slices.Clone(k)
	for _, name := range []string{"title", "description", "default"} {
		if raw, ok := inner.Get(name); ok {
			out.Set(name, raw)
			inner.Drop(name)
		}
	}
	out.Set("anyOf", slices.Concat([]byte("["), inner.Render(), []byte(`,{"type":"null"}]`)))
	return out
}

// RenderMembers writes the object, with its members in the given order.
func RenderMembers(k Keywords) []byte {
	dst := []byte{'{'}
	for i, w := range k {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.Quote(dst, w.Name)
		dst = append(dst, ':')
		dst = append(dst, w.Value...)
	}
	return append(dst, '}')
}
