package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

// Finding is a property of a tool or server that one client does not accept unchanged.
type Finding struct {
	Rule
	Where string `json:"where"`          // such as: tool search, /limit
	Tool  string `json:"tool,omitempty"` // name of the tool; empty if the finding is about the whole server
}

// String returns the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Profile, f.Level, f.Where, f.What)
}

// Names returns the names of all profiles.
func Names() []string {
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].Profile
	}
	return slices.Compact(names) // the rules of a profile are together
}

// Rules returns all rules, with their sources.
func Rules() []Rule { return slices.Clone(rules) }

// mostFindings is the maximum number of findings, because schemas come from unknown servers.
const mostFindings = 1000

// Check returns what the clients of the profiles do not accept. "all" selects every profile. The
// profiles must be among Names; others have no findings.
func Check(all *surface.Surface, profiles ...string) []Finding {
	var found []Finding
	for i := range rules {
		r := &rules[i]
		if !slices.Contains(profiles, r.Profile) && !slices.Contains(profiles, "all") {
			continue
		}
		tool := ""
		report := func(where string) {
			if len(found) < mostFindings {
				found = append(found, Finding{*r, where, tool})
			}
		}
		if r.tools > 0 && len(all.Tools) > r.tools {
			report(fmt.Sprintf("%d tools", len(all.Tools)))
		}
		if n := utf8.RuneCountInString(all.Instructions); r.opening > 0 && n > r.opening {
			report(fmt.Sprintf("instructions of %d characters", n))
		}
		for j := range all.Tools {
			tool = all.Tools[j].Name
			r.tool(all.Server.Name, &all.Tools[j], report)
		}
	}
	return found
}

func (r *Rule) tool(server string, t *protocol.Tool, report func(where string)) {
	where := "tool " + t.Name
	if r.name != nil && !r.name(t.Name) ||
		r.called != nil && utf8.RuneCountInString(r.called(server, t.Name)) > r.longest ||
		r.title && t.Title == "" && t.Annotations.Title == "" {
		report(where)
	}
	var schema map[string]any
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return
	}
	for _, keyword := range r.root {
		if _, has := schema[keyword]; has {
			report(where + ", " + keyword)
		}
	}
	if r.member != nil || r.anywhere != nil || r.shape != nil {
		r.inside(part{schema: schema, value: true}, where+", ", report)
	}
}

// Keywords that contain schemas.
var (
	held  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "anyOf", "oneOf", "allOf", "prefixItems"}
	named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// ofValue lists the keywords whose schemas describe another value, and not a further condition for
// the same value.
var ofValue = []string{"items", "additionalProperties", "contains", "prefixItems"}

// part is a schema inside another schema.
type part struct {
	path   string
	schema map[string]any
	value  bool   // the schema describes a value: the arguments, or one inside them
	member string // name among properties
}

// partsOf returns the schemas directly inside a schema.
func partsOf(schema map[string]any, path string) []part {
	var parts []part
	for _, keyword := range held {
		values, many := schema[keyword].([]any)
		if !many {
			values = []any{schema[keyword]}
		}
		for _, inner := range values {
			if inner, is := inner.(map[string]any); is {
				parts = append(parts, part{path + "/" + keyword, inner, slices.Contains(ofValue, keyword), ""})
			}
		}
	}
	for _, keyword := range named {
		members, _ := schema[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			inner, _ := members[name].(map[string]any) // a schema true contains no schemas
			if keyword == "properties" {
				parts = append(parts, part{path + "/" + name, inner, inner != nil, name})
			} else {
				parts = append(parts, part{path + "/" + keyword + "/" + name, inner, false, ""})
			}
		}
	}
	return parts
}

// inside checks a schema and all schemas inside it.
func (r *Rule) inside(p part, where string, report func(where string)) {
	for _, keyword := range r.anywhere {
		if _, has := p.schema[keyword]; has {
			report(where + cmp.Or(p.path, "the root") + ", " + keyword)
		}
	}
	if r.shape != nil && p.value && r.shape(p.schema) || r.member != nil && p.member != "" && !r.member(p.member) {
		report(where + cmp.Or(p.path, "the root"))
	}
	for _, inner := range partsOf(p.schema, p.path) {
		r.inside(inner, where, report)
	}
}

// Tokens returns an estimate of a tool's cost in every request to a model. It is a quarter of the
// characters of the name, description and compact input schema. Tokenizers differ by a fifth and
// more, and clients add words of their own.
func Tokens(t *protocol.Tool) int {
	schema := []byte(t.InputSchema)
	var compact bytes.Buffer
	if json.Compact(&compact, schema) == nil {
		schema = compact.Bytes()
	}
	return (utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(schema) + 3) / 4
}
