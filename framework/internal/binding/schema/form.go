package schema

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// formKnows are the keywords of the primitive schemas in the specification. Other keywords go into the
// description, and the plan enforces them.
var formKnows = map[string][]string{
	"string":  {"type", "title", "description", "default", "enum", "minLength", "maxLength", "format"},
	"integer": {"type", "title", "description", "default", "minimum", "maximum"},
	"number":  {"type", "title", "description", "default", "minimum", "maximum"},
	"boolean": {"type", "title", "description", "default"},
	"array":   {"type", "title", "description", "default", "minItems", "maxItems", "items"},
}

var formFormats = []string{"email", "uri", "date", "date-time"}

// FormKeywords reduces a member's schema to the form subset.
func FormKeywords(k Keywords) Keywords {
	typ := k.Text("type")
	if typ == "integer" || typ == "number" {
		dropTypeBounds(&k)
	}
	if raw, ok := k.Get("enum"); ok && typ == "integer" {
		k.Note("One of " + strings.Trim(string(raw), "[]") + ".")
	}
	known := formKnows[typ]
	var out Keywords
	var lost Keywords
	for _, w := range k {
		switch {
		case w.Name == "format" && !slices.Contains(formFormats, k.Text("format")):
			lost = append(lost, w)
		case slices.Contains(known, w.Name):
			out = append(out, w)
		case w.Name != "enum":
			lost = append(lost, w)
		}
	}
	if len(lost) > 0 && k.Text("pattern") != DurationPattern {
		lost.Set("type", jsontext.Quote(nil, typ))
		if words := describeValue(lost); words != describeValue(Typed(typ)) {
			out.Note(strings.ToUpper(words[:1]) + words[1:] + ".")
		}
	}
	return out
}

// dropTypeBounds removes bounds that are only the limits of a 64-bit type.
func dropTypeBounds(k *Keywords) {
	for _, name := range []string{"minimum", "maximum"} {
		if _, meant := Bound(*k, name); !meant {
			k.Drop(name)
		}
	}
}
