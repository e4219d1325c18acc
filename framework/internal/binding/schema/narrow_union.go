package schema

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// asOne writes the alternatives under a keyword as one schema. A schema of objects gets the members of all
// alternatives. A schema that has a type keeps it. Otherwise the schema gets their common type. Null is left
// out, because it has no members and no words. texts is set if texts are converted.
func (n Narrowing) asOne(k Keywords, name string, texts bool) Keywords {
	k = withoutNullOption(k, name)
	raw, has := k.Get(name)
	if !has {
		return k
	}
	var options []Keywords
	for option := range jsontext.Elements(raw) {
		options = append(options, Parse(option))
	}
	if len(options) == 0 {
		return k
	}
	if k.Text("type") == "object" || k.Has("properties") || onlyObjects(options) {
		return n.withAlternatives(k, name)
	}
	k.Drop(name)
	if !k.Has("type") {
		k.SetText("type", commonType(options, texts))
	}
	if items, has := options[0].Get("items"); has && k.Text("type") == "array" && !k.Has("items") {
		k.Set("items", items)
	}
	k.Note("Give " + alternatives(options) + ".")
	return k
}

// commonType returns the type of all options. Numbers and whole numbers have the type number. For other types
// it returns "string" if an option has this type or no type, or if texts are converted. Otherwise it returns
// the first type, because a schema that was written by hand refuses texts.
func commonType(options []Keywords, texts bool) string {
	common := ""
	for _, o := range options {
		switch typ := o.Text("type"); {
		case typ == "", typ == "string":
			return "string"
		case typ == common, typ == "integer" && common == "number":
		case common == "", typ == "number" && common == "integer":
			common = typ
		case texts:
			return "string"
		}
	}
	return common
}

// onlyObjects reports whether all options have members. Many schemas that were written by hand have no type
// beside properties.
func onlyObjects(options []Keywords) bool {
	return !slices.ContainsFunc(options, func(o Keywords) bool {
		return o.Has("type") && o.Text("type") != "object" || !o.Has("properties")
	})
}

// withParts merges allOf into a schema of an object. An alternative that consists of parts would otherwise have
// neither a type nor members.
func (n Narrowing) withParts(k Keywords) Keywords {
	object := k.Text("type") == "object" || k.Has("properties")
	for part := range jsontext.Elements(Value(k, "allOf")) {
		object = object || Parse(part).Has("properties")
	}
	if !object {
		return k
	}
	return n.withAlternatives(k, "allOf")
}

// alternatives describes the options.
func alternatives(options []Keywords) string {
	var words []string
	for _, o := range options {
		words = append(words, Describe(o))
	}
	return strings.Join(report.UniqueTexts(words), " or ")
}

// withAlternatives adds the members of all objects under a keyword to the properties of the schema. A member
// is required if the schema or all of the objects require it.
func (n Narrowing) withAlternatives(k Keywords, name string) Keywords {
	raw, has := k.Get(name)
	if !has {
		return k
	}
	k.Drop(name)
	m := &merger{narrowing: n, of: map[string][]Keywords{}, when: map[string][]string{}}
	for option := range jsontext.Elements(raw) {
		m.option(Parse(option), name == "allOf")
	}
	properties := Parse(Value(k, "properties"))
	for _, member := range m.names {
		if !properties.Has(member) {
			properties.Set(member, m.member(member))
		}
	}
	k.Set("properties", RenderMembers(properties))
	required := report.UniqueTexts(append(ElementTexts(Value(k, "required")), m.required...))
	if len(required) > 0 {
		k.Set("required", []byte("["+strings.Join(required, ",")+"]"))
	}
	if !k.Has("type") {
		k.Set("type", []byte(`"object"`))
	}
	if m.closed > 0 && m.closed == m.options && !k.Has("additionalProperties") {
		k.Set("additionalProperties", []byte("false"))
	}
	return k
}

// merger collects the members of alternatives.
type merger struct {
	narrowing       Narrowing
	options, closed int
	names           []string              // in the order of their first option
	of              map[string][]Keywords // schemas of a member, one for each option that has it
	when            map[string][]string   // the tags of those options
	required        []string              // quoted names that all options require
}

// option adds one alternative. If all is set, each alternative applies, and what any of them requires is required.
func (m *merger) option(o Keywords, all bool) {
	for _, name := range alternatively { // an alternative can consist of others
		o = m.narrowing.withAlternatives(o, name)
	}
	m.options++
	if string(Value(o, "additionalProperties")) == "false" {
		m.closed++
	}
	tag := ""
	if !all {
		tag = tagOf(o)
	}
	for key, schema := range jsontext.Members(Value(o, "properties")) {
		name := key.String()
		if m.of[name] == nil {
			m.names = append(m.names, name)
		}
		m.of[name] = append(m.of[name], Parse(schema))
		m.when[name] = append(m.when[name], tag)
	}
	required := ElementTexts(Value(o, "required"))
	if m.options == 1 || all {
		m.required = append(m.required, required...)
	} else {
		m.required = slices.DeleteFunc(m.required, func(name string) bool { return !slices.Contains(required, name) })
	}
}

// tagOf returns the member that distinguishes an alternative, as "kind is circle", or "".
func tagOf(o Keywords) string {
	for key, schema := range jsontext.Members(Value(o, "properties")) {
		if only := ElementTexts(Value(Parse(schema), "enum")); len(only) == 1 {
			return key.String() + " is " + jsonedit.TextOf([]byte(only[0]))
		}
	}
	return ""
}

// member returns a schema that accepts what the schemas of the member in all alternatives accept.
func (m *merger) member(name string) []byte {
	all := m.of[name]
	k := slices.Clone(all[0])
	var texts [][]byte
	for _, o := range all {
		texts = append(texts, o.Render())
	}
	if values, listed := values(all); listed && sameType(all) {
		k.Set("enum", jsonedit.List(values))
	} else if slices.ContainsFunc(texts, func(text []byte) bool { return !bytes.Equal(text, texts[0]) }) {
		k = m.narrowing.asOne(Keywords{{"anyOf", jsonedit.List(texts)}}, "anyOf", m.narrowing.Texts)
	}
	if tags := m.when[name]; len(all) < m.options && !slices.Contains(tags, "") {
		k.Note("Only if " + strings.Join(tags, " or ") + ".")
	}
	return k.Render()
}

// values returns the values of all enums, if each option has one.
func values(options []Keywords) ([][]byte, bool) {
	var all [][]byte
	for _, o := range options {
		enum, listed := o.Get("enum")
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

// sameType reports whether all options with a type have the same type.
func sameType(options []Keywords) bool {
	typ := ""
	for _, o := range options {
		own := o.Text("type")
		if typ != "" && own != "" && own != typ {
			return false
		}
		typ = cmp.Or(typ, own)
	}
	return true
}
