package rawschema

import (
	"regexp"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// site is a schema that is being compiled.
type site struct {
	*compiler
	v    *value
	home *resource
}

// operand is a keyword of a schema with its value. The value has the right type, because the
// metaschema has accepted it.
type operand struct {
	keyword string
	*value
}

// maker compiles one keyword of a schema, or a few that belong together. make returns nil if there
// is nothing to check. The check must not refer to the site, because it would then keep everything in
// memory that only the compiler needs.
type maker struct {
	keyword      string // empty: make looks for its keywords itself
	since, until version
	kind         jsontext.Kind // of the values that it judges
	make         func(site, operand) check
}

// Kinds of values.
const (
	all     = jsontext.KindInvalid
	numbers = jsontext.KindNumber
	texts   = jsontext.KindString
	arrays  = jsontext.KindArray
	objects = jsontext.KindObject
)

// decisive returns the keywords whose faults make the faults of the others useless.
func decisive() []maker {
	return []maker{
		{"type", draft4, draft2020, all, site.types},
		{"const", draft6, draft2020, all, site.enum},
		{"enum", draft4, draft2020, all, site.enum},
		{"format", draft4, draft7, texts, site.format},
	}
}

// others returns the makers of the other keywords, in the order of the reports. Keywords for
// unevaluated items come last.
func others() []maker {
	return []maker{
		{"required", draft4, draft2020, objects, site.required},
		{"minProperties", draft4, draft2020, objects, site.count},
		{"maxProperties", draft4, draft2020, objects, site.count},
		{"minItems", draft4, draft2020, arrays, site.count},
		{"maxItems", draft4, draft2020, arrays, site.count},
		{"minLength", draft4, draft2020, texts, site.count},
		{"maxLength", draft4, draft2020, texts, site.count},
		{"", draft4, draft2020, objects, site.members},
		{"propertyNames", draft6, draft2020, objects, site.names},
		{"dependencies", draft4, draft2020, objects, site.dependents},
		{"dependentRequired", draft2019, draft2020, objects, site.dependents},
		{"dependentSchemas", draft2019, draft2020, objects, site.dependents},
		{"", draft4, draft2020, arrays, site.elements},
		{"contains", draft6, draft2020, arrays, site.contains},
		{"uniqueItems", draft4, draft2020, arrays, site.unique},
		{"pattern", draft4, draft2020, texts, site.pattern},
		{"minimum", draft4, draft2020, numbers, site.bound},
		{"maximum", draft4, draft2020, numbers, site.bound},
		{"exclusiveMinimum", draft6, draft2020, numbers, site.bound},
		{"exclusiveMaximum", draft6, draft2020, numbers, site.bound},
		{"multipleOf", draft4, draft2020, numbers, site.multiple},
		{"$ref", draft2019, draft2020, all, site.ref},
		{"$recursiveRef", draft2019, draft2019, all, site.dynamicRef},
		{"$dynamicRef", draft2020, draft2020, all, site.dynamicRef},
		{"allOf", draft4, draft2020, all, site.allOf},
		{"anyOf", draft4, draft2020, all, site.someOf},
		{"oneOf", draft4, draft2020, all, site.someOf},
		{"not", draft4, draft2020, all, site.not},
		{"if", draft7, draft2020, all, site.condition},
		{"unevaluatedProperties", draft2019, draft2020, objects, site.unevaluated},
		{"unevaluatedItems", draft2019, draft2020, arrays, site.unevaluated},
	}
}

func (s site) keywords(makers []maker) (made []keyword) {
	for _, m := range makers {
		o := operand{m.keyword, s.v.member(m.keyword)}
		if s.home.dialect < m.since || s.home.dialect > m.until || m.keyword != "" && o.value == nil {
			continue
		}
		if judge := m.make(s, o); judge != nil {
			made = append(made, keyword{m.kind, judge})
		}
	}
	return made
}

// sub compiles the schema that a keyword holds; nil if there is none.
func (s site) sub(keyword string) *Schema {
	if v := s.v.member(keyword); v != nil {
		return s.schema(v, s.home)
	}
	return nil
}

// subs compiles the schemas in an array or an object. If v is nil, it returns no schemas.
func (s site) subs(v *value) []*Schema {
	if v == nil {
		return nil
	}
	out := make([]*Schema, len(v.items))
	for i := range v.items {
		out[i] = s.schema(&v.items[i], s.home)
	}
	return out
}

// number reads a number that values are compared with. If it cannot be compared, number reports a
// fault.
func (s site) number(o operand) decimal.Number {
	n, ok := decimal.Of(o.raw)
	if !ok {
		s.fail("%s %s is beyond what can be compared", o.keyword, o.raw)
	}
	return n
}

func (s site) expression(text []byte) *regexp.Regexp {
	re, err := compileECMA(string(text))
	if err != nil {
		s.fail("pattern %q: %w", text, err)
	}
	return re
}
