package binding

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// asOne writes the alternatives under a keyword as one schema, which accepts all of them. A schema of objects
// gets the members of all alternatives. A schema that has a type keeps it. Otherwise the schema gets the type
// of the alternatives. If their types differ, it becomes a text, which is converted.
func asOne(k keywords, name string) keywords {
	raw, has := k.get(name)
	if !has {
		return k
	}
	var options []keywords
	for option := range jsontext.Elements(raw) {
		options = append(options, parseKeywords(option))
	}
	if len(options) == 0 {
		return k
	}
	if k.text("type") == "object" || k.has("properties") || onlyObjects(options) {
		return withAlternatives(k, name)
	}
	k.drop(name)
	if !k.has("type") {
		k.setText("type", commonType(options))
	}
	if items, has := options[0].get("items"); has && k.text("type") == "array" && !k.has("items") {
		k.set("items", items)
	}
	k.note("Give " + alternatives(options) + ".")
	return k
}

// commonType returns the type of all options. If they have several, it returns "string".
func commonType(options []keywords) string {
	typ := options[0].text("type")
	if typ == "" || slices.ContainsFunc(options, func(o keywords) bool { return o.text("type") != typ }) {
		return "string"
	}
	return typ
}

func onlyObjects(options []keywords) bool {
	return !slices.ContainsFunc(options, func(o keywords) bool { return o.text("type") != "object" || !o.has("properties") })
}

// alternatives says what the options want.
func alternatives(options []keywords) string {
	var words []string
	for _, o := range options {
		if text := describe(o); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return strings.Join(words, " or ")
}

// withAlternatives adds the members of all objects under a keyword to the properties of the schema. A member
// is required if the schema or all of the objects require it.
func withAlternatives(k keywords, name string) keywords {
	raw, has := k.get(name)
	if !has {
		return k
	}
	k.drop(name)
	m := &merger{of: map[string][]keywords{}, when: map[string][]string{}}
	for option := range jsontext.Elements(raw) {
		m.option(parseKeywords(option), name == "allOf")
	}
	properties := parseKeywords(mustGet(k, "properties"))
	for _, member := range m.names {
		if !properties.has(member) {
			properties.set(member, m.member(member))
		}
	}
	k.set("properties", renderMembers(properties))
	required := elementTexts(mustGet(k, "required"))
	for _, quoted := range m.required {
		if !slices.Contains(required, quoted) {
			required = append(required, quoted)
		}
	}
	if len(required) > 0 {
		k.set("required", list(byteTexts(required)))
	}
	if !k.has("type") {
		k.set("type", []byte(`"object"`))
	}
	if m.closed > 0 && m.closed == m.options && !k.has("additionalProperties") {
		k.set("additionalProperties", []byte("false"))
	}
	return k
}

func byteTexts(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

// merger collects the members of alternatives.
type merger struct {
	options, closed int
	names           []string              // in the order of their first option
	of              map[string][]keywords // schemas of a member, one for each option that has it
	when            map[string][]string   // the tags of those options
	required        []string              // quoted, by all options
}

// option adds one alternative. all says that each applies, so that all that they require is required.
func (m *merger) option(o keywords, all bool) {
	m.options++
	if string(mustGet(o, "additionalProperties")) == "false" {
		m.closed++
	}
	tag := ""
	if !all {
		tag = tagOf(o)
	}
	for key, schema := range jsontext.Members(mustGet(o, "properties")) {
		name := key.String()
		if m.of[name] == nil {
			m.names = append(m.names, name)
		}
		m.of[name] = append(m.of[name], parseKeywords(schema))
		m.when[name] = append(m.when[name], tag)
	}
	required := elementTexts(mustGet(o, "required"))
	switch {
	case m.options == 1 || all:
		m.required = append(m.required, required...)
	default:
		m.required = slices.DeleteFunc(m.required, func(name string) bool { return !slices.Contains(required, name) })
	}
}

// tagOf returns the member that tells an alternative from the others, as "kind is circle", or "".
func tagOf(o keywords) string {
	for key, schema := range jsontext.Members(mustGet(o, "properties")) {
		if only := elementTexts(mustGet(parseKeywords(schema), "enum")); len(only) == 1 {
			return key.String() + " is " + textOf([]byte(only[0]))
		}
	}
	return ""
}

// member returns the schema of a member that accepts what each alternative does.
func (m *merger) member(name string) []byte {
	all := m.of[name]
	k := slices.Clone(all[0])
	if values, listed := values(all); listed {
		k.set("enum", list(values))
	} else if slices.ContainsFunc(all, func(o keywords) bool { return !bytes.Equal(o.render(), all[0].render()) }) {
		k = asOne(keywords{{"anyOf", list(rendered(all))}}, "anyOf")
	}
	if tags := m.when[name]; len(all) < m.options && !slices.Contains(tags, "") {
		k.note("Only if " + strings.Join(tags, " or ") + ".")
	}
	return k.render()
}

// values returns the values of all enums, if each option has one.
func values(options []keywords) ([][]byte, bool) {
	var all [][]byte
	for _, o := range options {
		enum, listed := o.get("enum")
		if !listed {
			return nil, false
		}
		for item := range jsontext.Elements(enum) {
			if !slices.ContainsFunc(all, func(known []byte) bool { return bytes.Equal(known, item) }) {
				all = append(all, item)
			}
		}
	}
	return all, true
}

func rendered(options []keywords) [][]byte {
	out := make([][]byte, len(options))
	for i, o := range options {
		out[i] = o.render()
	}
	return out
}
