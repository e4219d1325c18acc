package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// override asks the type for its own schema, on value and pointer receivers (invopop ignores
// the latter). The schema is copied by writing it as JSON, since invopop lets the tags of a
// field change a schema that is shared.
func (c *compiler) override(t reflect.Type, n Node) {
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
			c.Fault("", fmt.Sprintf("the schema hook of %s panicked: %v", t, r), "Make it independent of the receiver")
		}
	}()
	s := &jsonschema.Schema{}
	var own schema.Keywords
	if replaced {
		if got := hook.JSONSchema(); got != nil {
			s = got
		}
	} else {
		own = c.schemer().inline(n, nil)
		if err := json.Unmarshal(own.Render(), s); err != nil {
			c.Fault("", fmt.Sprintf("the schema of %s cannot be extended: %v", t, err), "Use JSONSchema instead")
			return
		}
	}
	if extended {
		copied := *s
		ext.JSONSchemaExtend(&copied)
		s = &copied
	}
	k, err := schema.FromInvopop(s)
	if err != nil {
		c.Fault("", fmt.Sprintf("the schema hook of %s: %v", t, err), "Return a complete schema without $ref")
		return
	}
	for _, w := range own {
		if strings.HasPrefix(w.Name, "x-") && !k.Has(w.Name) {
			k.Set(w.Name, w.Value)
		}
	}
	c.overrides[n] = k
	c.enforceHook(t, n, k, own)
}

// enforceHook makes the plan check what a schema hook demands beyond the schema that the type
// has without it. Results are not checked.
func (c *compiler) enforceHook(t reflect.Type, n Node, said, without schema.Keywords) {
	var k schema.Keywords
	for _, w := range said {
		old, ok := without.Get(w.Name)
		if schema.Annotations[w.Name] && w.Name != "format" || ok && schema.SameJSON(old, w.Value) || w.Name == "type" && c.mode == Strings {
			continue // all values are texts here, and have the type that they have in JSON elsewhere
		}
		k = append(k, w)
	}
	if c.mode == Output || len(k) == 0 {
		return
	}
	if k.Has("format") && said.Text("type") == "string" { // an object may have keywords of newer dialects
		k = assertingFormats(k)
	}
	raw, err := schema.CompileRaw(k.Render())
	if err != nil {
		c.Fault("", fmt.Sprintf("the schema hook of %s: %v", t, err), "Correct the schema")
		return
	}
	c.own[n] = raw
}

// extraKeywords reads the jsonschema tag: what the other tags cannot say.
func (c *compiler) extraKeywords(f *Member, sf reflect.StructField) {
	tag := sf.Tag.Get("jsonschema")
	if tag == "" {
		return
	}
	shape := c.schemer().of(f.Node, nil)
	jsonType := jsonTypeOf(shape, tag)
	if !c.knownKeys(tag, jsonType) {
		return
	}
	got, err := schema.ReadTag(sf, jsonType, shape)
	if err != nil {
		c.Fault("", fmt.Sprintf("jsonschema tag: %v", err), "Write keyword=value, separated by commas")
		return
	}
	if c.unread(tag, got) {
		return
	}
	c.mergeExtra(f, got)
}

// jsonTypeOf is the JSON type of a shape, the first if there are several. For a type that reads
// its own JSON, only the tag has it.
func jsonTypeOf(shape schema.Keywords, tag string) string {
	raw := schema.Value(shape, "type")
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
	return jsonedit.TextOf(raw)
}

// unread reports keywords whose value invopop could not read: it drops them in
// silence.
func (c *compiler) unread(tag string, got schema.Keywords) bool {
	wire := map[string]string{"example": "examples", "oneof_type": "oneOf", "anyof_type": "anyOf"}
	items := schema.Parse(schema.Value(got, "items"))
	before := len(c.List)
	for part := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, ""), ",") {
		name, value, _ := strings.Cut(part, "=")
		name = cmp.Or(wire[name], name)
		if name == "uniqueItems" && value == "false" { // invopop reads it as true
			c.Fault("", "jsonschema keyword uniqueItems has the value false", "Leave it out")
		}
		if !got.Has(name) && !items.Has(name) && value != "false" {
			c.Fault("", fmt.Sprintf("jsonschema keyword %s has the value %q, which cannot be read", name, value), "Correct the value")
		}
	}
	return len(c.List) > before
}

func (c *compiler) knownKeys(tag, jsonType string) bool {
	if jsonType == "integer" {
		jsonType = "number"
	}
	known := schema.TagKeys[""]
	if jsonType != "" {
		known = slices.Concat(known, schema.TagKeys[jsonType])
	}
	before := len(c.List)
	for part := range strings.SplitSeq(strings.ReplaceAll(tag, `\,`, ""), ",") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case value == "" && strings.Contains(strings.TrimSpace(name), " "): // as the official SDK has it
			c.Fault("", "the jsonschema tag is a text, not keyword=value", `Use doc:"…" to describe a member`)
			return false
		case name == "required":
			c.Fault("", "jsonschema:\"required\" is not read", `Use validate:"required"`)
		case name == "description":
			c.Fault("", "description in a jsonschema tag ends at its first comma", `Use doc:"…"`)
		case name == "default":
			c.Fault("", "default in a jsonschema tag is not enforced", `Use default:"…"`)
		case !slices.Contains(known, name):
			fix := "Known for this type: " + strings.Join(known, ", ")
			if best := spelling.Nearest(name, known); best != "" {
				fix = "Did you mean " + best + "?"
			}
			c.Fault("", fmt.Sprintf("jsonschema keyword %q does not exist for this type", name), fix)
		case value == "":
			c.Fault("", fmt.Sprintf("jsonschema keyword %q has no value", name), "Write "+name+"=value")
		}
	}
	return len(c.List) == before
}

// mergeExtra adds what the tag has added, refuses what contradicts another tag, and compiles
// what must be enforced.
func (c *compiler) mergeExtra(f *Member, got schema.Keywords) {
	base := c.schemer().of(f.Node, f.Rules)
	bare := c.schemer().of(f.Node, nil)
	var extra, enforced schema.Keywords
	for _, w := range got {
		value, ok := c.added(w, base, bare)
		asserts := !schema.Annotations[w.Name] || w.Name == "format"
		if !ok || c.mode == Output && asserts {
			continue
		}
		w.Value = value
		extra = append(extra, w)
		if asserts {
			enforced = append(enforced, w)
		}
	}
	f.title = cmp.Or(f.title, extra.Text("title"))
	if len(extra) == 0 {
		return
	}
	if f.Rules == nil {
		f.Rules = &rules.Constraints{}
	}
	f.Rules.Extra = extra
	if len(enforced) > 0 {
		c.enforce(f, enforced)
	}
}

// added is the value that a keyword of the tag has beside the schema of all
// other tags (base) and the schema of the type alone (bare). It returns false if the
// keyword adds nothing. It also returns false, and files a fault, if the keyword contradicts another tag.
func (c *compiler) added(w schema.Keyword, base, bare schema.Keywords) ([]byte, bool) {
	if w.Name == "type" && bare.Has("type") {
		if !bytes.Contains(schema.Value(bare, "type"), w.Value) {
			c.Fault("", fmt.Sprintf("jsonschema type=%s does not fit the Go type", w.Value), "Leave it out")
		}
		return nil, false
	}
	if w.Name == "items" && len(schema.Parse(w.Value)) <= 1 {
		return nil, false
	}
	if c.rivals(w, base, bare) {
		return nil, false
	}
	old, ok := base.Get(w.Name)
	if !ok || string(old) == string(w.Value) {
		return w.Value, true
	}
	if said, typed := bare.Get(w.Name); !typed || string(said) != string(old) {
		c.Fault("", fmt.Sprintf("jsonschema %s=%s but validate says %s", w.Name, w.Value, old), "Keep one; validate is the source")
		return nil, false
	}
	if w.Name == "items" {
		return schema.MergeItems(old, w.Value), true
	}
	return w.Value, true
}

// enforce compiles the keywords that have no validate tag.
func (c *compiler) enforce(f *Member, k schema.Keywords) {
	if pattern := k.Text("pattern"); strings.Contains(pattern, schema.GoClass) {
		c.Fault("", fmt.Sprintf("pattern %s uses %s, which JSON Schema does not know", pattern, schema.GoClass), "Write it as an ECMAScript pattern")
		return
	}
	format := k.Has("format") || schema.Parse(schema.Value(k, "items")).Has("format")
	if _, isPtr := f.Node.(*ptrNode); isPtr {
		k = schema.WrapNullable(k)
	}
	if format {
		k = assertingFormats(k)
	}
	raw, err := schema.CompileRaw(k.Render())
	if err != nil {
		c.Fault("", fmt.Sprintf("jsonschema tag: %v", err), "Correct the keyword")
		return
	}
	f.extra = raw
}

// assertingFormats is k in a dialect that asserts formats, which newer ones only note.
func assertingFormats(k schema.Keywords) schema.Keywords {
	k = slices.Clone(k)
	k.SetText("$schema", "http://json-schema.org/draft-07/schema#")
	return k
}

// rivals reports a bound of a jsonschema tag next to one of the other kind (at least, more
// than) that comes from validate: a reader would not know which one counts.
func (c *compiler) rivals(w schema.Keyword, base, bare schema.Keywords) bool {
	other := map[string]string{
		"minimum": "exclusiveMinimum", "exclusiveMinimum": "minimum",
		"maximum": "exclusiveMaximum", "exclusiveMaximum": "maximum",
	}[w.Name]
	said, ok := base.Get(other)
	if own, typed := bare.Get(other); !ok || typed && string(own) == string(said) {
		return false
	}
	c.Fault("", fmt.Sprintf("jsonschema %s=%s but validate says %s %s", w.Name, w.Value, other, said), "Keep one; validate is the source")
	return true
}
