package binding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	failed "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Raw is a schema that somebody brought, compiled. It is immutable and safe
// for concurrent use. Formats are asserted only if the schema's own dialect
// says so; references reach only into the schema itself.
type Raw struct {
	text     json.RawMessage
	compiled *jsonschema.Schema
}

// self is the address of a schema that has none: hierarchical, so that a relative
// reference is one to elsewhere.
const self = "https://kagami.invalid/schema"

// CompileRaw compiles a schema of JSON Schema 2020-12 (or what its $schema
// says). Nothing is fetched: a reference to another document is an error.
func CompileRaw(schema []byte) (*Raw, error) {
	if err := jsontext.Check(schema, jsontext.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if err := jsontext.Unique(schema); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(self, doc); err != nil {
		return nil, fmt.Errorf("compiling schema: %w", err)
	}
	compiled, err := c.Compile(self)
	if err != nil {
		return nil, fmt.Errorf("compiling schema: %w", err)
	}
	return &Raw{text: jsontext.Compact(nil, schema), compiled: compiled}, nil
}

// noLoader refuses to fetch: a schema with references is a request made by
// whoever wrote it (2026-07-28 server/tools, security).
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: only references within the schema are allowed", url)
}

// Schema is the schema as given, without insignificant space. It must not be changed.
func (r *Raw) Schema() json.RawMessage { return r.text }

// Check judges a value that has passed jsontext.Check. The error is an *Invalid.
func (r *Raw) Check(raw []byte) error {
	if len(raw) == 0 {
		raw = emptyObject
	}
	if err := jsontext.Unique(raw); err != nil {
		issue := Issue{Rule: RuleDuplicate}
		if dup, ok := errors.AsType[*jsontext.DuplicateError](err); ok {
			issue.Path = jsontext.Pointer(dup.Path, dup.Name)
		}
		return NewInvalid(issue)
	}
	err := r.judge(raw)
	if err == nil {
		return nil
	}
	var verdict *jsonschema.ValidationError
	if !errors.As(err, &verdict) {
		return NewInvalid(Issue{Rule: RuleSchema, Hint: "The value cannot be read."})
	}
	e := &Invalid{}
	r.collect(verdict, raw, e)
	return e
}

func (r *Raw) accepts(raw []byte) bool { return r.judge(raw) == nil }

func (r *Raw) judge(raw []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return r.compiled.Validate(doc)
}

// collect gathers the leaves of santhosh's tree of errors.
func (r *Raw) collect(v *jsonschema.ValidationError, doc []byte, e *Invalid) {
	_, choice := v.ErrorKind.(*failed.AnyOf)
	_, oneOf := v.ErrorKind.(*failed.OneOf)
	if len(v.Causes) > 0 && !choice && !oneOf {
		for _, cause := range v.Causes {
			r.collect(cause, doc, e)
		}
		return
	}
	path := ""
	for _, part := range v.InstanceLocation {
		path = jsontext.Pointer(path, part)
	}
	value, _ := valueAt(doc, path)
	issues := rawIssues(v.ErrorKind, path, value)
	if extra, ok := v.ErrorKind.(*failed.AdditionalProperties); ok {
		issues = r.unknown(extra.Properties, path, value, v.SchemaURL)
	}
	for _, issue := range issues {
		e.Total++
		if len(e.Issues) < maxIssues {
			e.Issues = append(e.Issues, issue)
		}
	}
}

// unknown words members that do not exist, with those that do.
func (r *Raw) unknown(extra []string, path string, object []byte, where string) []Issue {
	names, known := r.properties(where)
	var free []string
	for _, name := range names {
		if _, given := jsontext.Member(object, name); !given {
			free = append(free, name)
		}
	}
	out := make([]Issue, len(extra))
	for i, name := range extra {
		out[i] = Issue{Path: jsontext.Pointer(path, name), Rule: RuleUnknown}
		if known {
			out[i].Hint = otherNames(name, names, free, path == "")
		}
	}
	return out
}

// properties are the names that the schema at an address has, if it can be found.
func (r *Raw) properties(where string) (names []string, known bool) {
	at, ours := strings.CutPrefix(where, self+"#")
	at, err := url.PathUnescape(at)
	if !ours || err != nil {
		return nil, false
	}
	schema, ok := valueAt(r.text, at)
	if !ok {
		return nil, false
	}
	if properties, ok := jsontext.Member(schema, "properties"); ok {
		for key := range jsontext.Members(properties) {
			names = append(names, key.String())
		}
	}
	return names, true
}

// rawIssues words one failed keyword.
func rawIssues(k jsonschema.ErrorKind, path string, value []byte) []Issue {
	one := func(want string) []Issue {
		return []Issue{{Path: path, Got: gotWords(value), Want: want, Rule: RuleSchema}}
	}
	switch k := k.(type) {
	case *failed.Required:
		var out []Issue
		for _, name := range k.Missing {
			out = append(out, Issue{Path: jsontext.Pointer(path, name), Rule: RuleRequired})
		}
		return out
	case *failed.Type:
		return one(typeWords(k.Want))
	case *failed.Enum:
		return one(enumWords(k.Want))
	case *failed.Const:
		return one("exactly " + jsonWords(k.Want))
	case *failed.Minimum:
		return one("at least " + k.Want.RatString())
	case *failed.Maximum:
		return one("at most " + k.Want.RatString())
	case *failed.MinLength:
		return one(fmt.Sprintf("at least %d characters", k.Want))
	case *failed.MaxLength:
		return one(fmt.Sprintf("at most %d characters", k.Want))
	case *failed.MinItems:
		return one(fmt.Sprintf("at least %d items", k.Want))
	case *failed.MaxItems:
		return one(fmt.Sprintf("at most %d items", k.Want))
	case *failed.Pattern:
		return one("text that matches " + k.Want)
	case *failed.Format:
		return one("text in the format " + k.Want)
	case *failed.AnyOf, *failed.OneOf:
		return one("one of the shapes in the schema")
	}
	return one("a value that satisfies " + strings.Join(k.KeywordPath(), "/"))
}

func typeWords(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = describe(typed(t))
	}
	return strings.Join(words, " or ")
}

func enumWords(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = jsonWords(v)
	}
	return "one of " + strings.Join(capped(words), ", ")
}

func jsonWords(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "the value in the schema"
	}
	return clip(string(raw), 60)
}
