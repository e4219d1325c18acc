package profile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

// Finding is what a client does not take as it is.
type Finding struct {
	Rule
	Where string `json:"where"` // such as: tool search, /limit
}

// String is the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Profile, f.Level, f.Where, f.What)
}

// Names are the profiles that there are.
func Names() []string {
	var names []string
	for i := range rules {
		if !slices.Contains(names, rules[i].Profile) {
			names = append(names, rules[i].Profile)
		}
	}
	return names
}

// Rules returns all rules, with their sources.
func Rules() []Rule { return slices.Clone(rules) }

// mostFindings bounds a report: schemas come from unknown servers.
const mostFindings = 1000

// Check says what the clients of the profiles do not take; "all" is every profile. The profiles must be among Names.
func Check(all *surface.Surface, profiles ...string) []Finding {
	var found []Finding
	for i := range rules {
		r := &rules[i]
		if !slices.Contains(profiles, r.Profile) && !slices.Contains(profiles, "all") {
			continue
		}
		report := func(where string) {
			if len(found) < mostFindings {
				found = append(found, Finding{*r, where})
			}
		}
		if r.tools > 0 && len(all.Tools) > r.tools {
			report(fmt.Sprintf("%d tools", len(all.Tools)))
		}
		if n := utf8.RuneCountInString(all.Instructions); r.opening > 0 && n > r.opening {
			report(fmt.Sprintf("instructions of %d characters", n))
		}
		for j := range all.Tools {
			r.tool(all.Server.Name, &all.Tools[j], report)
		}
	}
	return found
}

func (r *Rule) tool(server string, t *protocol.Tool, report func(where string)) {
	where := "tool " + t.Name
	if r.name != nil && !r.name.MatchString(t.Name) ||
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
		r.inside(schema, where+", ", "", false, report)
	}
}

// Keywords under which there are schemas.
var (
	one   = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
	list  = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// ofValue are those that describe a value of their own, and not one more condition for the same value.
var ofValue = []string{"items", "additionalProperties", "contains", "prefixItems"}

// inside looks at a schema, and at all in it. value says that the schema describes a value below the root.
func (r *Rule) inside(schema map[string]any, where, path string, value bool, report func(where string)) {
	for _, keyword := range r.anywhere {
		if _, has := schema[keyword]; has {
			report(where + orRoot(path) + ", " + keyword)
		}
	}
	if r.shape != nil && value && r.shape(schema) {
		report(where + path)
	}
	for _, keyword := range slices.Concat(one, list) {
		values, many := schema[keyword].([]any)
		if !many {
			values = []any{schema[keyword]}
		}
		for _, inner := range values {
			if inner, is := inner.(map[string]any); is {
				r.inside(inner, where, path+"/"+keyword, slices.Contains(ofValue, keyword), report)
			}
		}
	}
	for _, keyword := range named {
		members, _ := schema[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			inner := path + "/" + name
			if keyword != "properties" {
				inner = path + "/" + keyword + "/" + name
			} else if r.member != nil && !r.member.MatchString(name) {
				report(where + inner)
			}
			if member, is := members[name].(map[string]any); is {
				r.inside(member, where, inner, keyword == "properties", report)
			}
		}
	}
}

func orRoot(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}

// Tokens estimates what a tool costs in every request to a model: a quarter of the characters of its name,
// description and input schema. Tokenizers differ by a fifth and more, and clients add words of their own.
func Tokens(t *protocol.Tool) int {
	return (utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.InputSchema) + 3) / 4
}
