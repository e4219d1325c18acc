package binding

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// override asks the type for its own schema, on value and pointer receivers (invopop ignores
// the latter). The schema is copied by writing it as JSON, since invopop lets the tags of a
// field change a schema that is shared.
func (c *compiler) override(t reflect.Type, n node) {
	type whole interface{ JSONSchema() *jsonschema.Schema }
	type extends interface{ JSONSchemaExtend(*jsonschema.Schema) }
	if t.Kind() == reflect.Interface {
		return
	}
	value := reflect.New(t).Interface()
	hook, replaced := value.(whole)
	ext, extended := value.(extends)
	if !replaced && !extended {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.fault("", fmt.Sprintf("the schema hook of %s panicked: %v", t, r), "Make it independent of the receiver")
		}
	}()
	s := &jsonschema.Schema{}
	var own keywords
	if replaced {
		if got := hook.JSONSchema(); got != nil {
			s = got
		}
	} else {
		own = c.schemer().inline(n, nil)
		if err := json.Unmarshal(own.render(), s); err != nil {
			c.fault("", fmt.Sprintf("the schema of %s cannot be extended: %v", t, err), "Use JSONSchema instead")
			return
		}
	}
	if extended {
		copied := *s
		ext.JSONSchemaExtend(&copied)
		s = &copied
	}
	k, err := fromInvopop(s)
	if err != nil {
		c.fault("", fmt.Sprintf("the schema hook of %s: %v", t, err), "Return a complete schema without $ref")
		return
	}
	for _, w := range own {
		if strings.HasPrefix(w.name, "x-") && !k.has(w.name) {
			k.set(w.name, w.value)
		}
	}
	c.overrides[n] = k
	c.enforceHook(t, n, k, own)
}

// enforceHook makes the plan check what a schema hook demands beyond the schema that the type
// has without it. Results are not checked.
func (c *compiler) enforceHook(t reflect.Type, n node, said, without keywords) {
	var k keywords
	for _, w := range said {
		old, ok := without.get(w.name)
		if annotations[w.name] || ok && sameJSON(old, w.value) || w.name == "type" && c.mode == Strings {
			continue // all values are texts here, and have the type that they have in JSON elsewhere
		}
		k = append(k, w)
	}
	if c.mode == Output || len(k) == 0 {
		return
	}
	raw, err := CompileRaw(k.render())
	if err != nil {
		c.fault("", fmt.Sprintf("the schema hook of %s: %v", t, err), "Correct the schema")
		return
	}
	c.own[n] = raw
}

// sameJSON compares values without regard to the order of members.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// fromInvopop turns invopop's schema into keywords, and corrects its peculiarities.
func fromInvopop(s *jsonschema.Schema) (keywords, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	if hasReference(doc) {
		return nil, fmt.Errorf("it has a $ref, which would point into another document")
	}
	if string(raw) == "true" {
		return nil, nil
	}
	if string(raw) == "false" {
		return keywords{{"not", emptyObject}}, nil
	}
	k := parseKeywords(tidy(raw))
	for _, name := range []string{"$schema", "$id", "$defs", "$anchor"} {
		k.drop(name)
	}
	return k, nil
}

func hasReference(doc any) bool {
	switch doc := doc.(type) {
	case map[string]any:
		if _, ok := doc["$ref"].(string); ok {
			return true
		}
		for _, v := range doc {
			if hasReference(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(doc, hasReference)
	}
	return false
}

var (
	schemaValued = map[string]bool{
		"items": true, "contains": true, "additionalProperties": true, "propertyNames": true,
		"not": true, "if": true, "then": true, "else": true,
	}
	schemaLists = map[string]bool{"anyOf": true, "oneOf": true, "allOf": true, "prefixItems": true}
	schemaMaps  = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true, "$defs": true}
)

// tidy writes true as {} wherever a schema may be: clients refuse a whole list of tools because
// of properties:{a:true}.
func tidy(raw []byte) []byte {
	switch jsontext.KindOf(raw) {
	case jsontext.KindBool:
		if raw[0] == 't' {
			return emptyObject
		}
		return raw
	case jsontext.KindObject:
	default:
		return raw
	}
	var out keywords
	for key, value := range jsontext.Members(raw) {
		name := key.String()
		switch {
		case schemaValued[name]:
			value = tidy(value)
		case schemaLists[name]:
			var items [][]byte
			for item := range jsontext.Elements(value) {
				items = append(items, tidy(item))
			}
			value = list(items)
		case schemaMaps[name]:
			var members keywords
			for k, item := range jsontext.Members(value) {
				members = append(members, keyword{k.String(), tidy(item)})
			}
			value = renderMembers(members)
		}
		if name == "properties" && string(value) == "{}" {
			continue
		}
		out = append(out, keyword{name, value})
	}
	return renderMembers(out)
}

// tagKeys are the keywords of a jsonschema tag by the JSON type of the field;
// invopop ignores any other in silence.
var tagKeys = map[string][]string{
	"":        {"title", "description", "type", "oneof_type", "anyof_type"},
	"string":  {"minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly", "default", "example", "enum"},
	"number":  {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "example", "enum"},
	"boolean": {"default"},
	"array":   {"minItems", "maxItems", "uniqueItems", "format", "pattern", "default", "minLength", "maxLength", "enum", "minimum", "maximum", "example"},
	"object":  {},
}

// annotations are keywords that need no enforcement.
var annotations = map[string]bool{
	"title": true, "description": true, "format": true, "readOnly": true, "writeOnly": true,
	"default": true, "examples": true, "deprecated": true,
}

// extraKeywords reads the jsonschema tag: what the other tags cannot say.
func (c *compiler) extraKeywords(f *field, sf reflect.StructField) {
	tag := sf.Tag.Get("jsonschema")
	if tag == "" {
		return
	}
	shape := c.schemer().of(f.node, nil)
	jsonType := jsonTypeOf(shape, tag)
	if !c.knownKeys(tag, jsonType) {
		return
	}
	got, err := readTag(sf, jsonType, shape)
	if err != nil {
		c.fault("", fmt.Sprintf("jsonschema tag: %v", err), "Write keyword=value, separated by commas")
		return
	}
	if c.unread(tag, got) {
		return
	}
	c.mergeExtra(f, got)
}

// jsonTypeOf is the JSON type of a shape, the first if there are several. For a type that reads
// its own JSON only the tag can tell.
func jsonTypeOf(shape keywords, tag string) string {
	raw := mustGet(shape, "type")
	for first := range jsontext.Elements(raw) {
		name, _ := jsontext.String(first)
		return name
	}
	if len(shape) == 0 {
		for part := range strings.SplitSeq(tag, ",") {
			if name, ok := strings.CutPrefix(part, "type="); ok {
				return name
			}
		}
	}
	return textOf(raw)
}

// unread reports keywords whose value invopop could not read: it drops them in
// silence.
func (c *compiler) unread(tag string, got keywords) bool {
	wire := map[string]string{"example": "examples", "oneof_type": "oneOf", "anyof_type": "anyOf"}
	items := parseKeywords(mustGet(got, "items"))
	bad := false
	for part := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, ""), ",") {
		name, value, _ := strings.Cut(part, "=")
		if other, ok := wire[name]; ok {
			name = other
		}
		if !got.has(name) && !items.has(name) && value != "false" {
			c.fault("", fmt.Sprintf("jsonschema keyword %s has the value %q, which cannot be read", name, value), "Correct the value")
			bad = true
		}
	}
	return bad
}

func (c *compiler) knownKeys(tag, jsonType string) bool {
	if jsonType == "integer" {
		jsonType = "number"
	}
	known := tagKeys[""]
	if jsonType != "" {
		known = slices.Concat(known, tagKeys[jsonType])
	}
	ok := true
	for part := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, ""), ",") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case value == "" && strings.Contains(strings.TrimSpace(name), " "): // as the official SDK has it
			c.fault("", "the jsonschema tag is a text, not keyword=value", `Use doc:"…" to describe a member`)
			return false
		case name == "required":
			c.fault("", "jsonschema:\"required\" is not read", `Use validate:"required"`)
			ok = false
		case name == "description":
			c.fault("", "description in a jsonschema tag ends at its first comma", `Use doc:"…"`)
			ok = false
		case name == "default":
			c.fault("", "default in a jsonschema tag is not enforced", `Use default:"…"`)
			ok = false
		case !slices.Contains(known, name):
			fix := "Known for this type: " + strings.Join(known, ", ")
			if best := nearestName(name, known); best != "" {
				fix = "Did you mean " + best + "?"
			}
			c.fault("", fmt.Sprintf("jsonschema keyword %q does not exist for this type", name), fix)
			ok = false
		case value == "":
			c.fault("", fmt.Sprintf("jsonschema keyword %q has no value", name), "Write "+name+"=value")
			ok = false
		}
	}
	return ok
}

// readTag lets invopop read the tag of a field as if the field had a bare JSON type, so that
// invopop's own mapping of types does not matter.
func readTag(sf reflect.StructField, jsonType string, shape keywords) (keywords, error) {
	probe := reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: reflect.TypeFor[probeField](), Tag: `json:"f" ` + sf.Tag[:0] + reflect.StructTag(fmt.Sprintf("jsonschema:%q", sf.Tag.Get("jsonschema"))),
	}})
	items := "string"
	if raw, ok := shape.get("items"); ok {
		items = parseKeywords(raw).text("type")
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
	return fromInvopop(property)
}

// probeField stands for the field's type while invopop reads a tag.
type probeField struct{}

// mergeExtra adds what the tag has added, refuses what contradicts another tag, and compiles
// what must be enforced.
func (c *compiler) mergeExtra(f *field, got keywords) {
	base := c.schemer().of(f.node, f.c)
	bare := c.schemer().of(f.node, nil)
	var extra, enforced keywords
	for _, w := range got {
		value, ok := c.added(w, base, bare)
		if !ok || c.mode == Output && !annotations[w.name] {
			continue
		}
		w.value = value
		extra = append(extra, w)
		if !annotations[w.name] || w.name == "format" && c.mode != Output {
			enforced = append(enforced, w)
		}
	}
	if title := extra.text("title"); title != "" && f.title == "" {
		f.title = title
	}
	if len(extra) == 0 {
		return
	}
	if f.c == nil {
		f.c = &constraints{}
	}
	f.c.extra = extra
	if len(enforced) > 0 {
		c.enforce(f, enforced)
	}
}

// added is the value that a keyword of the tag has beside the schema of all
// other tags (base) and that of the type alone (bare). It is false if the
// keyword adds nothing, or says something else, which is a fault.
func (c *compiler) added(w keyword, base, bare keywords) ([]byte, bool) {
	if w.name == "type" && bare.has("type") {
		c.checkType(w, string(mustGet(bare, "type")))
		return nil, false
	}
	if w.name == "items" && len(parseKeywords(w.value)) <= 1 {
		return nil, false
	}
	if c.rivals(w, base, bare) {
		return nil, false
	}
	old, ok := base.get(w.name)
	if !ok || string(old) == string(w.value) {
		return w.value, true
	}
	if said, typed := bare.get(w.name); !typed || string(said) != string(old) {
		c.fault("", fmt.Sprintf("jsonschema %s=%s but validate says %s", w.name, w.value, old), "Keep one; validate is the source")
		return nil, false
	}
	if w.name == "items" {
		return mergeItems(old, w.value), true
	}
	return w.value, true
}

// checkType refuses a type keyword that names another type than the field has.
func (c *compiler) checkType(w keyword, types string) {
	if !strings.Contains(types, string(w.value)) {
		c.fault("", fmt.Sprintf("jsonschema type=%s does not fit the Go type", w.value), "Leave it out")
	}
}

func mustGet(k keywords, name string) []byte {
	raw, _ := k.get(name)
	return raw
}

func mergeItems(old, added []byte) []byte {
	k := parseKeywords(old)
	for _, w := range parseKeywords(added) {
		if w.name != "type" {
			k.set(w.name, w.value)
		}
	}
	return k.render()
}

// enforce compiles the keywords for which there is no validate tag.
func (c *compiler) enforce(f *field, k keywords) {
	if !c.checkPattern(k.text("pattern")) {
		return
	}
	format := k.has("format")
	if _, isPtr := f.node.(*ptrNode); isPtr {
		k = wrapNullable(k)
	}
	if format { // which newer drafts only note
		k = slices.Clone(k)
		k.setText("$schema", "http://json-schema.org/draft-07/schema#")
	}
	raw, err := CompileRaw(k.render())
	if err != nil {
		c.fault("", fmt.Sprintf("jsonschema tag: %v", err), "Correct the keyword")
		return
	}
	f.extra = raw
}

// goClass is how a class of characters begins that Go knows, and that means something else in
// ECMA-262, whose patterns clients compile.
const goClass = "[[:"

func (c *compiler) checkPattern(pattern string) bool {
	if !strings.Contains(pattern, goClass) {
		return true
	}
	c.fault("", fmt.Sprintf("pattern %s uses %s, which JSON Schema does not know", pattern, goClass), "Write it as an ECMAScript pattern")
	return false
}

// rivals reports a bound of a jsonschema tag next to one of the other kind (at least, more
// than) that comes from validate: a reader would not know which one counts.
func (c *compiler) rivals(w keyword, base, bare keywords) bool {
	other := map[string]string{
		"minimum": "exclusiveMinimum", "exclusiveMinimum": "minimum",
		"maximum": "exclusiveMaximum", "exclusiveMaximum": "maximum",
	}[w.name]
	said, ok := base.get(other)
	if own, typed := bare.get(other); !ok || typed && string(own) == string(said) {
		return false
	}
	c.fault("", fmt.Sprintf("jsonschema %s=%s but validate says %s %s", w.name, w.value, other, said), "Keep one; validate is the source")
	return true
}
