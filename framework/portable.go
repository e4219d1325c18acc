package framework

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// longestCalled is the maximum length of a tool's name with the prefix that clients add. The APIs
// of OpenAI and Gemini accept 64 characters.
const longestCalled = 64

// beginnings are the characters that a name may begin with in Gemini's API.
const beginnings = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// portable warns of everything in the tool that the API of a model would refuse. With WithProfile
// these are faults.
func (m *member) portable(b *builder, schema []byte) {
	report := m.warn
	if b.server.cfg.profiled {
		report = func(b *builder, problem, fix string) { m.fault(b, "", problem, fix) }
	}
	if m.listed == "" || len(m.listed) > 128 || !plainName(m.listed) { // such a name is reported as a fault elsewhere
		return
	}
	// Clients pass names on unchanged. If an API does not accept one name, it refuses the whole
	// request, with all tools of all servers.
	if strings.Contains(m.listed, ".") {
		report(b, "the APIs of Anthropic and OpenAI refuse its name", "Use letters a-z, digits, _ and -")
	}
	if !strings.ContainsRune(beginnings, rune(m.listed[0])) {
		report(b, "Gemini's API refuses its name", "Begin it with a letter or _")
	}
	if length := len("mcp____") + len(b.server.info.Name) + len(m.listed); length > longestCalled {
		report(b, fmt.Sprintf("clients call it mcp__%s__%s, of %d characters: the APIs of OpenAI and Gemini take %d", b.server.info.Name, m.listed, length, longestCalled),
			"Shorten its name or the app's")
	}
	for _, name := range refusedFields(schema) {
		report(b, fmt.Sprintf("Anthropic's API refuses the name of the argument %q", name), "Use 1 to 64 letters a-z, digits, _, - and .")
	}
}

// Keywords of a schema with other contents than schemas: values, or schemas by names that the schema
// chooses.
var (
	ofValues = []string{"default", "enum", "const", "examples"}
	byName   = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// refusedFields returns up to 8 names of properties, at any depth, that an API refuses.
func refusedFields(schema []byte) []string {
	const few = 8
	var names []string
	var look func(raw []byte, in string)
	look = func(raw []byte, in string) { // in: the keyword that raw belongs to if its keys are names
		for key, value := range jsontext.Members(raw) {
			switch name := key.String(); {
			case in == "properties":
				if len(names) < few && (name == "" || len(name) > 64 || !plainName(name)) && !slices.Contains(names, name) {
					names = append(names, name)
				}
				look(value, "")
			case in != "":
				look(value, "")
			case slices.Contains(byName, name):
				look(value, name)
			case !slices.Contains(ofValues, name):
				look(value, "")
			}
		}
		for item := range jsontext.Elements(raw) {
			look(item, "")
		}
	}
	look(schema, "")
	return names
}
