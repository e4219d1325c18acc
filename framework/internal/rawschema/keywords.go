package rawschema

import (
	"math"
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

// maker compiles one keyword of a schema, or a few that belong together; nil if the schema does
// not have it. Operands have the right type, since the metaschema has accepted them.
type maker struct {
	since, until version
	make         func(site) keyword
}

// decisive returns the keywords whose faults make the faults of the others useless.
func decisive() []maker {
	return []maker{
		{draft4, draft2020, site.types}, {draft6, draft2020, site.constant}, {draft4, draft2020, site.enum}, {draft4, draft7, site.format},
	}
}

// others are in the order in which faults are reported. Those that ask which items are
// unevaluated come last.
func others() []maker {
	return []maker{
		{draft4, draft2020, site.required},
		{draft4, draft2020, site.counts},
		{draft4, draft2020, site.members},
		{draft6, draft2020, site.names},
		{draft4, draft2020, site.dependencies},
		{draft2019, draft2020, site.dependentRequired},
		{draft2019, draft2020, site.dependentSchemas},
		{draft4, draft2020, site.elements},
		{draft6, draft2020, site.contains},
		{draft4, draft2020, site.unique},
		{draft4, draft2020, site.pattern},
		{draft4, draft2020, site.bounds},
		{draft4, draft2020, site.multiple},
		{draft2019, draft2020, site.ref},
		{draft2019, draft2019, site.recursiveRef},
		{draft2020, draft2020, site.dynamicRef},
		{draft4, draft2020, site.allOf},
		{draft4, draft2020, site.anyOf},
		{draft4, draft2020, site.oneOf},
		{draft4, draft2020, site.not},
		{draft7, draft2020, site.condition},
		{draft2019, draft2020, site.unevaluatedProperties},
		{draft2019, draft2020, site.unevaluatedItems},
	}
}

func (c *compiler) keywords(s *Schema, at site) {
	s.first, s.rest = at.all(decisive()), at.all(others())
	for _, k := range s.rest {
		if _, ok := k.(unevaluated); ok {
			s.tracks = true
		}
	}
}

func (s site) all(makers []maker) (made []keyword) {
	for _, m := range makers {
		if s.home.dialect < m.since || s.home.dialect > m.until {
			continue
		}
		if k := m.make(s); k != nil {
			made = append(made, k)
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

// subs compiles the schemas that a keyword holds, in an array or an object.
func (s site) subs(keyword string) []*Schema {
	v := s.v.member(keyword)
	if v == nil {
		return nil
	}
	out := make([]*Schema, len(v.items))
	for i := range v.items {
		out[i] = s.schema(&v.items[i], s.home)
	}
	return out
}

// number reads a keyword's number; absent if there is none.
func (s site) number(keyword string) (n decimal.Number, raw []byte) {
	v := s.v.member(keyword)
	if v == nil || v.kind != jsontext.KindNumber {
		return n, nil
	}
	n, ok := decimal.Of(v.raw)
	if !ok {
		s.fail("%s %s is beyond what can be compared", keyword, v.raw)
	}
	return n, v.raw
}

// count reads a keyword's number of items or characters. A larger one than an int holds is cut
// to that: no value has as many.
func (s site) count(keyword string) (n int, raw []byte) {
	v := s.v.member(keyword)
	if v == nil {
		return 0, nil
	}
	if n, ok := jsontext.Int64(v.raw); ok {
		return int(min(n, math.MaxInt)), v.raw
	}
	return math.MaxInt, v.raw
}

// flag reports whether a keyword is true.
func (s site) flag(keyword string) bool {
	v := s.v.member(keyword)
	return v != nil && v.kind == jsontext.KindBool && v.raw[0] == 't'
}

func (s site) expression(text []byte) *regexp.Regexp {
	re, err := compileECMA(string(text))
	if err != nil {
		s.fail("pattern %q: %w", text, err)
	}
	return re
}
