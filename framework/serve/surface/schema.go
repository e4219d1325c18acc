package surface

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxRefs is the maximum number of references in a chain, because a schema may refer to itself.
const maxRefs = 16

// Schema is a schema or subschema. Its fields are as written; [Schema.Resolve] follows references.
// Schemas must not be changed, and are then safe for concurrent use.
type Schema struct {
	Types       Types             `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Properties  Properties        `json:"properties"`
	Required    []string          `json:"required"`
	Items       *Schema           `json:"items"`
	Additional  *Schema           `json:"additionalProperties"`
	Keys        *Schema           `json:"propertyNames"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	Above       json.Number       `json:"exclusiveMinimum"`
	Below       json.Number       `json:"exclusiveMaximum"`
	MinLength   json.Number       `json:"minLength"`
	MaxLength   json.Number       `json:"maxLength"`
	MinItems    json.Number       `json:"minItems"`
	MaxItems    json.Number       `json:"maxItems"`
	Format      string            `json:"format"`
	Pattern     string            `json:"pattern"`
	Encoding    string            `json:"contentEncoding"`
	Examples    []json.RawMessage `json:"examples"`
	AnyOf       []*Schema         `json:"anyOf"`
	OneOf       []*Schema         `json:"oneOf"`

	Never bool `json:"-"` // the schema false

	Ref  string             `json:"$ref"`
	Defs map[string]*Schema `json:"$defs"`
	Old  map[string]*Schema `json:"definitions"` // definitions in drafts before 2019-09

	root *Schema
}

// Types are the JSON types that a schema names. If it is empty, any type is allowed.
type Types []string

// UnmarshalJSON accepts one name or a list.
func (t *Types) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		*t = make(Types, 1)
		return json.Unmarshal(raw, &(*t)[0])
	}
	if json.Unmarshal(raw, (*[]string)(t)) != nil {
		*t = nil
	}
	return nil
}

// Property is a member of an object with its schema.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are in the order of the document.
type Properties []Property

// UnmarshalJSON keeps the order of the members, which a map would lose.
func (p *Properties) UnmarshalJSON(raw []byte) error {
	if kind := jsontext.KindOf(raw); kind != jsontext.KindObject && kind != jsontext.KindNull && !jsontext.IsEmptyArray(raw) {
		return errors.New("properties is not an object") // PHP writes an empty object as []
	}
	for name, value := range jsontext.Members(raw) {
		s := &Schema{}
		if err := json.Unmarshal(value, s); err != nil {
			return fmt.Errorf("property %s: %w", name.String(), err)
		}
		*p = append(*p, Property{Name: name.String(), Schema: s})
	}
	return nil
}

// UnmarshalJSON accepts an object or one of the schemas true and false. It ignores anything else,
// such as the item lists of old drafts.
func (s *Schema) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if !bytes.HasPrefix(raw, []byte("{")) {
		s.Never = string(raw) == "false"
		return nil
	}
	type plain Schema
	err := json.Unmarshal(raw, (*plain)(s))
	if _, oneKeyword := errors.AsType[*json.UnmarshalTypeError](err); oneKeyword {
		return nil // the others have been read
	}
	return err
}

// ParseSchema parses a schema. An empty raw is the schema that allows everything. Unknown keywords
// are ignored, and so are keywords with a value of another type. For example, exclusiveMinimum may be
// true in draft 4. Properties that are not an object are an error.
func ParseSchema(raw []byte) (*Schema, error) {
	s := &Schema{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, s); err != nil {
			return nil, fmt.Errorf("reading a schema: %w", err)
		}
	}
	s.adopt(s)
	return s, nil
}

// adopt sets the document that the references of every subschema are looked up in.
func (s *Schema) adopt(root *Schema) {
	if s == nil {
		return
	}
	s.root = root
	for _, p := range s.Properties {
		p.Schema.adopt(root)
	}
	for _, defs := range []map[string]*Schema{s.Defs, s.Old} {
		for _, d := range defs {
			d.adopt(root)
		}
	}
	for _, sub := range slices.Concat(s.AnyOf, s.OneOf, []*Schema{s.Items, s.Additional, s.Keys}) {
		sub.adopt(root)
	}
}

// Resolve follows references within the document. If a target cannot be found, or s is nil, Resolve
// returns a schema that allows everything.
func (s *Schema) Resolve() *Schema {
	for range maxRefs {
		if s == nil {
			return &Schema{}
		}
		if s.Ref == "" {
			return s
		}
		s = s.root.find(s.Ref)
	}
	return &Schema{}
}

func (s *Schema) find(ref string) *Schema {
	if s == nil || ref == "#" {
		return s
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.Old[name]
	}
	return nil
}

// settled resolves s. If s has only one alternative besides null, settled returns this alternative.
func (s *Schema) settled() *Schema {
	s = s.Resolve()
	alternatives := slices.DeleteFunc(slices.Concat(s.AnyOf, s.OneOf), func(a *Schema) bool { return a == nil || slices.Equal(a.Types, Types{"null"}) })
	if len(s.Properties) == 0 && s.Items == nil && len(alternatives) == 1 {
		return alternatives[0].Resolve()
	}
	return s
}

// Allows reports whether a value of the JSON type may fit. A schema that allows "number" also
// allows "integer".
func (s *Schema) Allows(typ string) bool {
	types := s.AllTypes()
	return len(types) == 0 || slices.Contains(types, typ) ||
		typ == "integer" && slices.Contains(types, "number")
}

// AllTypes returns the types that s or its alternatives name. If any type is allowed, it returns
// nil.
func (s *Schema) AllTypes() Types {
	s = s.Resolve()
	if len(s.Types) > 0 {
		return s.Types
	}
	var all Types
	if !s.gather(&all, map[*Schema]bool{}) {
		return nil
	}
	return all
}

// gather adds the types of each schema once, because alternatives may lead to the same schema in
// many ways. If one of the schemas allows any type, gather returns false.
func (s *Schema) gather(all *Types, seen map[*Schema]bool) bool {
	s = s.Resolve()
	if seen[s] {
		return true
	}
	seen[s] = true
	for _, t := range s.Types {
		if !slices.Contains(*all, t) {
			*all = append(*all, t)
		}
	}
	if len(s.Types) > 0 {
		return true
	}
	for _, a := range slices.Concat(s.AnyOf, s.OneOf) {
		if !a.gather(all, seen) {
			return false
		}
	}
	return len(s.AnyOf)+len(s.OneOf) > 0
}

// Property returns the schema of a member by name. If the member is not declared, it returns the
// schema of additional members. If there is none, or they are forbidden, Property returns nil and
// false.
func (s *Schema) Property(name string) (*Schema, bool) {
	s = s.Resolve()
	for _, a := range slices.Concat([]*Schema{s}, s.AnyOf, s.OneOf) {
		for _, p := range a.Resolve().Properties {
			if p.Name == name {
				return p.Schema, true
			}
		}
	}
	if s.Additional != nil && !s.Additional.Never {
		return s.Additional, true
	}
	return nil, false
}

// Names returns the names of the declared members, in order.
func (s *Schema) Names() []string {
	var names []string
	for _, p := range s.Resolve().Properties {
		names = append(names, p.Name)
	}
	return names
}
