package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// SameJSON reports whether two JSON values are equal. The order of members does not matter.
func SameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// FromInvopop converts a schema of invopop into keywords, and corrects its peculiarities.
func FromInvopop(s *jsonschema.Schema) (Keywords, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if hasReference(raw) {
		return nil, fmt.Errorf("it has a $ref, which would point into another document")
	}
	if string(raw) == "true" {
		return nil, nil
	}
	if string(raw) == "false" {
		return Keywords{{"not", jsonedit.EmptyObject}}, nil
	}
	k := Parse(tidy(raw))
	for _, name := range []string{"$schema", "$id", "$defs", "$anchor"} {
		k.Drop(name)
	}
	return k, nil
}

func hasReference(raw []byte) bool {
	for key, value := range jsontext.Members(raw) {
		if key.Is("$ref") && jsontext.KindOf(value) == jsontext.KindString || hasReference(value) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(jsontext.Elements(raw)), hasReference)
}

var (
	schemaValued = map[string]bool{
		"items": true, "contains": true, "additionalProperties": true, "propertyNames": true,
		"not": true, "if": true, "then": true, "else": true,
	}
	schemaLists = map[string]bool{"anyOf": true, "oneOf": true, "allOf": true, "prefixItems": true}
	schemaMaps  = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true, "$defs": true}
)

// tidy writes true as {} wherever a schema may be, because clients refuse a whole list of tools with
// properties:{a:true}.
func tidy(raw []byte) []byte {
	switch jsontext.KindOf(raw) {
	case jsontext.KindBool:
		if raw[0] == 't' {
			return jsonedit.EmptyObject
		}
		return raw
	case jsontext.KindObject:
	default:
		return raw
	}
	out := eachInside(raw, tidy)
	if string(Value(out, "properties")) == "{}" {
		out.Drop("properties")
	}
	return RenderMembers(out)
}

// TagKeys are the keywords of a jsonschema tag, by the JSON type of the field. Invopop silently ignores any
// other.
var TagKeys = map[string][]string{
	"":        {"title", "description", "type", "oneof_type", "anyof_type"},
	"string":  {"minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly", "default", "example", "enum"},
	"number":  {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "example", "enum"},
	"boolean": {"default"},
	"array":   {"minItems", "maxItems", "uniqueItems", "format", "pattern", "default", "minLength", "maxLength", "enum", "minimum", "maximum", "example"},
	"object":  {},
}

// Annotations are keywords that need no enforcement.
var Annotations = map[string]bool{
	"title": true, "description": true, "format": true, "readOnly": true, "writeOnly": true,
	"default": true, "examples": true, "deprecated": true,
}

// ReadTag lets invopop read the tag of a field as if the field had a bare JSON type, so that
// invopop's own mapping of types does not matter.
func ReadTag(sf reflect.StructField, jsonType string, shape Keywords) (Keywords, error) {
	probe := reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: reflect.TypeFor[probeField](), Tag: reflect.StructTag(fmt.Sprintf(`json:"f" jsonschema:%q`, sf.Tag.Get("jsonschema"))),
	}})
	items := "string"
	if raw, ok := shape.Get("items"); ok {
		items = Parse(raw).Text("type")
	}
	r := &jsonschema.Reflector{
		Anonymous: true, DoNotReference: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t != reflect.TypeFor[probeField]() {
				return nil
			}
			s := &jsonschema.Schema{Type: jsonType}
			if jsonType == "array" {
				s.Items = &jsonschema.Schema{Type: items}
			}
			return s
		},
	}
	property, ok := r.ReflectFromType(probe).Properties.Get("f")
	if !ok {
		return nil, fmt.Errorf("it cannot be read")
	}
	return FromInvopop(property)
}

// probeField stands for the field's type while invopop reads a tag.
type probeField struct{}

// Value returns the value of a keyword, or nil.
func Value(k Keywords, name string) []byte {
	raw, _ := k.Get(name)
	return raw
}

// MergeItems adds the keywords of added to the schema old. The type of old stays.
func MergeItems(old, added []byte) []byte {
	more := Parse(added)
	more.Drop("type")
	return over(Parse(old), more).Render()
}

// GoClass is the beginning of a class of characters in Go. It means something else in ECMA-262, and clients
// compile patterns by ECMA-262.
const GoClass = "[[:"
