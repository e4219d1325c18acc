package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Raw is a compiled schema that was written by hand. It is immutable and safe
// for concurrent use. Formats are asserted only if the dialect of the schema
// asserts them. References reach only into the schema itself.
type Raw struct {
	text     json.RawMessage
	compiled *rawschema.Schema
}

// CompileRaw compiles a schema of JSON Schema 2020-12, or of the dialect that its
// $schema names. It fetches nothing: a reference to another document is an error,
// because the author of the schema could make the server send requests (2026-07-28
// server/tools, security).
func CompileRaw(schema []byte) (*Raw, error) {
	if err := jsontext.Check(schema, jsontext.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if err := jsontext.Unique(schema); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	text := jsontext.Compact(nil, schema)
	compiled, err := rawschema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("compiling schema: %w", err)
	}
	return &Raw{text: text, compiled: compiled}, nil
}

// Schema returns the schema as given, without insignificant space. Callers must not change it.
func (r *Raw) Schema() json.RawMessage { return r.text }

// Check judges a value that has passed jsontext.Check. The error is an *Invalid.
func (r *Raw) Check(raw []byte) error {
	if len(raw) == 0 {
		raw = jsonedit.EmptyObject
	}
	if err := jsontext.Unique(raw); err != nil {
		issue := report.Issue{Rule: report.RuleDuplicate}
		if dup, ok := errors.AsType[*jsontext.DuplicateError](err); ok {
			issue.Path = jsontext.Pointer(dup.Path, dup.Name)
		}
		return report.NewInvalid(issue)
	}
	faults, total := r.compiled.Check(raw, report.MaxIssues)
	if total == 0 {
		return nil
	}
	e := &report.Invalid{Total: total}
	for _, fault := range faults {
		e.Issues = append(e.Issues, rawIssues(fault)...)
	}
	e.Issues = e.Issues[:min(len(e.Issues), report.MaxIssues)]
	return e
}

// Accepts reports whether a value satisfies the schema.
func (r *Raw) Accepts(raw []byte) bool { return r.compiled.Accepts(raw) }

// ObjectProblem describes what is wrong inside an object or a list. It returns "" for other values.
func (r *Raw) ObjectProblem(raw []byte) string {
	invalid, ok := errors.AsType[*report.Invalid](r.Check(raw))
	if !ok || jsontext.KindOf(raw) != jsontext.KindObject && jsontext.KindOf(raw) != jsontext.KindArray {
		return ""
	}
	first := invalid.Issues[0]
	switch {
	case first.Path == "":
		return "Wanted is " + first.Want + "."
	case first.Rule == report.RuleRequired:
		return first.Path + " is missing."
	case first.Rule == report.RuleUnknown:
		return first.Path + " does not exist."
	}
	return "Wanted at " + first.Path + " is " + first.Want + "."
}

// rawIssues returns the issues of one failed keyword: one for each name, if the keyword is about names.
func rawIssues(fault rawschema.Failure) []report.Issue {
	switch fault.Keyword {
	case "required", "dependentRequired", "dependencies":
		return namedIssues(fault, report.RuleRequired)
	case "additionalProperties", "unevaluatedProperties":
		return namedIssues(fault, report.RuleUnknown)
	}
	got := report.GotWords(fault.Value)
	if fault.Keyword == "propertyNames" {
		got = "the key " + report.QuoteShort(fault.Names[0])
	}
	return []report.Issue{{Path: fault.Path, Got: got, Want: wantWords(fault.Keyword, fault.Want), Rule: report.RuleSchema}}
}

func namedIssues(fault rawschema.Failure, rule string) []report.Issue {
	names := fault.Names[:min(len(fault.Names), report.MaxIssues)]
	out := make([]report.Issue, len(names))
	for i, name := range names {
		out[i] = report.Issue{Path: jsontext.Pointer(fault.Path, name), Rule: rule}
		switch {
		case fault.Keyword == "additionalProperties":
			out[i].Hint = knownNames(fault, name)
		case fault.Schemas != nil:
			out[i].Want = schemaWords(fault.Schemas[i])
		}
	}
	return out
}

// knownNames lists the existing names, for a name that does not exist.
func knownNames(fault rawschema.Failure, name string) string {
	free := slices.DeleteFunc(slices.Clone(fault.Known), func(known string) bool {
		_, given := jsontext.Member(fault.Value, known)
		return given
	})
	return spelling.Others(name, fault.Known, free, fault.Path == "")
}

// schemaWords describes a schema by its most specific keyword. It returns "" for a reference.
func schemaWords(schema []byte) string {
	for _, keyword := range []string{"const", "enum", "type"} {
		if want, ok := jsontext.Member(schema, keyword); ok {
			return wantWords(keyword, want)
		}
	}
	return ""
}

// boundWords describe the keywords that are bounds.
var boundWords = map[string]string{
	"minimum": "at least %s", "maximum": "at most %s", "exclusiveMinimum": "more than %s", "exclusiveMaximum": "less than %s",
	"multipleOf": "a multiple of %s", "minLength": "at least %s characters", "maxLength": "at most %s characters",
	"minItems": "at least %s items", "maxItems": "at most %s items", "minProperties": "at least %s members", "maxProperties": "at most %s members",
}

// wantWords describes what a keyword wants.
func wantWords(keyword string, want []byte) string {
	if words, ok := boundWords[keyword]; ok {
		if string(want) == "1" && !strings.HasSuffix(words, "%s") {
			words = strings.TrimSuffix(words, "s") // 1 item
		}
		return fmt.Sprintf(words, want)
	}
	text, _ := jsontext.String(want)
	switch keyword {
	case "type":
		return typeWords(want)
	case "enum":
		return "one of " + listWords(want)
	case "const":
		return "exactly " + jsontext.Clip(string(want), 60)
	case "pattern":
		return "text that matches " + text
	case "format":
		return "text in the format " + text
	case "uniqueItems":
		return "a list without repetitions"
	case "anyOf", "oneOf":
		return "one of the shapes in the schema"
	case "false":
		return "nothing here"
	case "propertyNames":
		return "a key that satisfies " + jsontext.Clip(string(want), 60)
	}
	return "a value that satisfies " + keyword + " " + jsontext.Clip(string(want), 60)
}

func typeWords(want []byte) string {
	if name, ok := jsontext.String(want); ok {
		return typeWord(name)
	}
	var words []string
	for item := range jsontext.Elements(want) {
		name, _ := jsontext.String(item)
		words = append(words, typeWord(name))
	}
	return strings.Join(words, " or ")
}

func typeWord(name string) string {
	if name == "null" {
		return name
	}
	return Describe(Typed(name))
}

func listWords(values []byte) string {
	var words []string
	for item := range jsontext.Elements(values) {
		words = append(words, jsontext.Clip(string(item), 60))
	}
	return strings.Join(report.Capped(words), ", ")
}
