package framework

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// tidied returns the answer without members that the form does not have and without optional fields
// that were left blank. Clients send a blank field as null, or as "" for a field that is not free
// text.
func tidied(schema, content []byte) []byte {
	properties, _ := jsontext.Member(schema, "properties")
	required, _ := jsontext.Member(schema, "required")
	must := textsOf(required)
	kept := []byte{'{'}
	for key, value := range jsontext.Members(content) {
		name := key.String()
		property, known := jsontext.Member(properties, name)
		if known && (!isBlank(property, value) || slices.Contains(must, name)) {
			kept = jsonedit.AppendMember(kept, name, value)
		}
	}
	return append(kept, '}')
}

// isBlank reports whether value stands for a field that was left blank.
func isBlank(property, value []byte) bool {
	if jsontext.KindOf(value) == jsontext.KindNull {
		return true
	}
	if text, ok := jsontext.String(value); !ok || text != "" {
		return false
	}
	raw, _ := jsontext.Member(property, "type")
	kind, _ := jsontext.String(raw)
	for _, keyword := range []string{"enum", "oneOf", "format"} {
		if _, has := jsontext.Member(property, keyword); has {
			return true
		}
	}
	return kind != "string"
}

// toPerson returns a text that explains to the user what to correct. It returns "" if the user
// cannot correct the answer, because the client has sent something that the form does not ask for.
func (f *form) toPerson(invalid *binding.Invalid, content []byte) string {
	properties, _ := jsontext.Member(f.schema, "properties")
	var lines []string
	for _, issue := range invalid.Issues {
		name := fieldName(issue.Path)
		property, _ := jsontext.Member(properties, name)
		value, _ := jsontext.Member(content, name)
		if issue.Rule == "duplicate" || issue.Rule == "unknown" || !sameShape(property, value) {
			continue
		}
		if jsontext.KindOf(value) == jsontext.KindNull {
			issue.Rule = "required"
		}
		lines = append(lines, "- "+correction(fieldTitle(property, name), issue))
	}
	if lines == nil {
		return ""
	}
	return "Please correct this:\n" + strings.Join(lines, "\n")
}

// fieldName returns the name of the field that the pointer refers to, or to a part of; "" for the
// whole answer.
func fieldName(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

// fieldTitle returns the label of the field that users see.
func fieldTitle(property []byte, name string) string {
	raw, _ := jsontext.Member(property, "title")
	if title, _ := jsontext.String(raw); title != "" {
		return title
	}
	if name == "value" || name == "" {
		return "The answer"
	}
	return titled("", name)
}

// sameShape reports whether the client can have sent value for a form field: both are lists, or
// neither is. An object never is; a missing value and null always are.
func sameShape(property, value []byte) bool {
	raw, _ := jsontext.Member(property, "type")
	kind, _ := jsontext.String(raw)
	switch jsontext.KindOf(value) {
	case jsontext.KindArray:
		return kind == "array" || kind == ""
	case jsontext.KindString, jsontext.KindNumber, jsontext.KindBool:
		return kind != "array"
	case jsontext.KindObject:
		return false
	}
	return true // missing, or null
}

func correction(title string, issue binding.Issue) string {
	want := strings.TrimSuffix(issue.Want, ".")
	entered := ""
	if i := strings.LastIndex(issue.Got, " ("); i > 0 {
		entered = issue.Got[:i]
	}
	switch {
	case issue.Rule == "required" && want != "":
		return title + " is missing. It must be " + want + "."
	case issue.Rule == "required":
		return title + " is missing."
	case want != "" && entered != "":
		return strings.TrimSpace(title + " must be " + want + ", not " + entered + ". " + issue.Hint)
	case want != "":
		return strings.TrimSpace(title + " must be " + want + ". " + issue.Hint)
	case issue.Path == "":
		return issue.Hint
	}
	return title + ": " + issue.Hint
}
