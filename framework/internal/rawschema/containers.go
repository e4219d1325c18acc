package rawschema

import (
	"math"
	"regexp"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// required compiles the keyword required. A report of a missing member also has the schema that
// properties has for its name.
func (s site) required(o operand) check {
	names := o.strings()
	schemas := make([][]byte, len(names)) // nil: nothing
	if properties := s.v.member("properties"); properties != nil {
		for i, name := range names {
			if schema := properties.member(name); schema != nil {
				schemas[i] = schema.raw
			}
		}
	}
	return func(r *run, v *value, _ []bool) bool { return r.present(v, o.keyword, names, schemas) }
}

// present reports the names that the object does not have. schemas has the schema of each name,
// or is nil.
func (r *run) present(v *value, keyword string, names []string, schemas [][]byte) bool {
	missing := Failure{Value: v.raw, Keyword: keyword}
	for i, name := range names {
		if v.member(name) != nil {
			continue
		}
		missing.Names = append(missing.Names, name)
		if schemas != nil {
			missing.Schemas = append(missing.Schemas, schemas[i])
		}
	}
	return missing.Names == nil || r.report(missing, len(missing.Names))
}

// members are the keywords properties, patternProperties and additionalProperties: together
// they judge each member of an object.
type members struct {
	named      map[string]*Schema
	order      []string // of named, as written
	patterns   []patterned
	additional *Schema // nil: anything
}

type patterned struct {
	name   *regexp.Regexp
	schema *Schema
}

// members compiles properties, patternProperties and additionalProperties.
func (s site) members(operand) check {
	k := members{named: map[string]*Schema{}, additional: s.sub("additionalProperties")}
	properties, patterns := s.v.member("properties"), s.v.member("patternProperties")
	for i, schema := range s.subs(properties) {
		name := string(properties.items[i].name)
		k.named[name] = schema
		k.order = append(k.order, name)
	}
	for i, schema := range s.subs(patterns) {
		k.patterns = append(k.patterns, patterned{s.expression(patterns.items[i].name), schema})
	}
	if len(k.named) == 0 && k.patterns == nil && k.additional == nil {
		return nil
	}
	return k.check
}

func (k members) check(r *run, v *value, seen []bool) bool {
	ok := true
	var extra []string
	for i := range v.items {
		fits, known := k.judge(r, v, i)
		switch {
		case known:
		case k.additional == nil:
			continue
		case k.additional.never:
			extra = append(extra, string(v.items[i].name))
		default:
			fits = r.inside(k.additional, v, i)
		}
		mark(seen, i)
		if ok = ok && fits && extra == nil; !ok && r.quiet > 0 {
			return false
		}
	}
	if extra != nil {
		r.report(Failure{Value: v.raw, Keyword: "additionalProperties", Names: extra, Known: k.order}, len(extra))
	}
	return ok
}

// judge judges a member by the schemas for its name. known is false if there is no such schema.
func (k members) judge(r *run, v *value, i int) (ok, known bool) {
	ok = true
	if s := k.named[string(v.items[i].name)]; s != nil {
		ok, known = r.inside(s, v, i), true
	}
	for _, p := range k.patterns {
		if p.name.Match(v.items[i].name) {
			ok, known = r.inside(p.schema, v, i) && ok, true
		}
	}
	return ok, known
}

// names compiles propertyNames.
func (s site) names(o operand) check {
	schema := s.schema(o.value, s.home)
	return func(r *run, v *value, _ []bool) bool {
		ok := true
		for i := range v.items {
			text := v.items[i].name
			name := value{kind: jsontext.KindString, raw: jsontext.QuoteBytes(nil, text), text: text}
			if !r.quietly(schema, &name, nil) {
				ok = r.report(Failure{Value: v.raw, Keyword: o.keyword, Want: o.raw, Names: []string{string(text)}}, 1)
			}
		}
		return ok
	}
}

// dependent contains the demands of a keyword on objects with a certain member.
type dependent struct {
	on     string
	names  []string // members that must also be there
	schema *Schema  // or the schema that must accept the object
}

// dependents compiles dependentRequired, dependentSchemas and dependencies. In 2019-09,
// dependencies was split into the other two. It still works (2020-12 validation, appendix A),
// because schemas without $schema are often older than they seem.
func (s site) dependents(o operand) check {
	found := make([]dependent, len(o.items))
	for i := range o.items {
		item := &o.items[i]
		found[i].on = string(item.name)
		if item.kind == jsontext.KindArray {
			found[i].names = item.strings()
		} else {
			found[i].schema = s.schema(item, s.home)
		}
	}
	return func(r *run, v *value, seen []bool) bool {
		ok := true
		for _, d := range found {
			switch {
			case v.member(d.on) == nil:
			case d.schema != nil:
				ok = d.schema.check(r, v, seen) && ok
			default:
				ok = r.present(v, o.keyword, d.names, nil) && ok
			}
		}
		return ok
	}
}

// elements compiles the keywords that judge the elements of an array: prefixItems and items. Before
// 2020-12 these were items, as an array, and additionalItems.
func (s site) elements(operand) check {
	first, others := s.v.member("prefixItems"), "items"
	if items := s.v.member("items"); s.home.dialect < draft2020 {
		first = nil
		if items != nil && items.kind == jsontext.KindArray {
			first, others = items, "additionalItems"
		}
	}
	prefix, rest := s.subs(first), s.sub(others)
	if prefix == nil && rest == nil {
		return nil
	}
	return func(r *run, v *value, seen []bool) bool {
		ok := true
		for i := range v.items {
			s := rest
			if i < len(prefix) {
				s = prefix[i]
			}
			if s == nil {
				break
			}
			mark(seen, i)
			if ok = r.inside(s, v, i) && ok; !ok && r.quiet > 0 {
				return false
			}
		}
		return ok
	}
}

func (site) unique(o operand) check {
	if !o.isTrue() {
		return nil
	}
	return func(r *run, v *value, _ []bool) bool {
		if len(v.items) < 2 { // else each level of nested arrays would copy all below it
			return true
		}
		keys := make(map[string]bool, len(v.items))
		var key []byte
		for i := range v.items {
			key = v.items[i].appendKey(key[:0])
			if keys[string(key)] {
				return r.fail(v, o)
			}
			keys[string(key)] = true
		}
		return true
	}
}

// contains compiles contains, minContains and maxContains. Since 2020-12 the elements found count
// as evaluated.
func (s site) contains(o operand) check {
	schema, marks := s.schema(o.value, s.home), s.home.dialect >= draft2020
	least, most, atLeast, atMost := o, o, 1, math.MaxInt
	if s.home.dialect >= draft2019 {
		if v := s.v.member("minContains"); v != nil {
			least, atLeast = operand{"minContains", v}, v.count()
		}
		if v := s.v.member("maxContains"); v != nil {
			most, atMost = operand{"maxContains", v}, v.count()
		}
	}
	return func(r *run, v *value, seen []bool) bool {
		found := 0
		r.quiet++
		for i := range v.items {
			if r.inside(schema, v, i) {
				found++
				if marks {
					mark(seen, i)
				}
			}
		}
		r.quiet--
		switch {
		case found < atLeast:
			return r.fail(v, least)
		case found > atMost:
			return r.fail(v, most)
		}
		return true
	}
}

// unevaluated compiles unevaluatedProperties and unevaluatedItems.
func (s site) unevaluated(o operand) check {
	schema := s.schema(o.value, s.home)
	return func(r *run, v *value, seen []bool) bool {
		ok := true
		var extra []string
		for i := range v.items {
			switch {
			case seen[i]:
			case schema.never && v.items[i].name != nil:
				extra = append(extra, string(v.items[i].name))
			default:
				ok = r.inside(schema, v, i) && ok
			}
			mark(seen, i)
		}
		if extra != nil {
			return r.report(Failure{Value: v.raw, Keyword: o.keyword, Names: extra}, len(extra))
		}
		return ok
	}
}
