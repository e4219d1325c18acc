package rawschema

import (
	"regexp"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// required is the keyword required, with what properties says of the names.
type required struct {
	names   []string
	schemas [][]byte // nil: nothing
}

func (s site) required() keyword {
	v := s.v.member("required")
	if v == nil || len(v.items) == 0 {
		return nil
	}
	k := required{names: v.strings()}
	k.schemas = make([][]byte, len(k.names))
	if properties := s.v.member("properties"); properties != nil {
		for i, name := range k.names {
			if schema := properties.member(name); schema != nil {
				k.schemas[i] = schema.raw
			}
		}
	}
	return k
}

func (k required) check(r *run, v *value, _ []bool) bool {
	return v.kind != jsontext.KindObject || r.present(v, "required", k.names, k.schemas)
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

func (s site) members() keyword {
	k := members{named: map[string]*Schema{}, additional: s.sub("additionalProperties")}
	for i, schema := range s.subs("properties") {
		name := string(s.v.member("properties").items[i].name)
		k.named[name] = schema
		k.order = append(k.order, name)
	}
	for i, schema := range s.subs("patternProperties") {
		name := s.expression(s.v.member("patternProperties").items[i].name)
		k.patterns = append(k.patterns, patterned{name, schema})
	}
	if len(k.named) == 0 && k.patterns == nil && k.additional == nil {
		return nil
	}
	return k
}

func (k members) check(r *run, v *value, seen []bool) bool {
	if v.kind != jsontext.KindObject {
		return true
	}
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

// judge judges a member by the schemas for its name. known says that there is one.
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

// names is the keyword propertyNames.
type names struct{ schema *Schema }

func (s site) names() keyword {
	if schema := s.sub("propertyNames"); schema != nil {
		return names{schema}
	}
	return nil
}

func (k names) check(r *run, v *value, _ []bool) bool {
	if v.kind != jsontext.KindObject {
		return true
	}
	ok := true
	for i := range v.items {
		text := v.items[i].name
		name := value{kind: jsontext.KindString, raw: jsontext.QuoteBytes(nil, text), text: text}
		if !r.quietly(k.schema, &name, nil) {
			ok = r.report(Failure{Value: v.raw, Keyword: "propertyNames", Want: k.schema.source.raw, Names: []string{string(text)}}, 1)
		}
	}
	return ok
}

// dependent is a keyword that demands something of objects that have a certain member.
type dependent struct {
	keyword string
	on      string
	names   []string // members that must be there, too
	schema  *Schema  // or the schema that must accept the object
}

type dependents []dependent

func (s site) dependentRequired() keyword { return s.dependentsOf("dependentRequired") }

func (s site) dependentSchemas() keyword { return s.dependentsOf("dependentSchemas") }

// dependencies is the keyword that was split in 2019-09. It is still understood (2020-12
// validation, appendix A), since schemas without $schema are often older than they seem.
func (s site) dependencies() keyword { return s.dependentsOf("dependencies") }

func (s site) dependentsOf(keyword string) keyword {
	v := s.v.member(keyword)
	if v == nil || len(v.items) == 0 {
		return nil
	}
	found := make(dependents, len(v.items))
	for i := range v.items {
		item := &v.items[i]
		found[i] = dependent{keyword: keyword, on: string(item.name)}
		if item.kind == jsontext.KindArray {
			found[i].names = item.strings()
		} else {
			found[i].schema = s.schema(item, s.home)
		}
	}
	return found
}

func (all dependents) check(r *run, v *value, seen []bool) bool {
	ok := true
	for _, k := range all {
		if v.member(k.on) == nil {
			continue
		}
		if k.schema != nil {
			ok = k.schema.check(r, v, seen) && ok
		} else {
			ok = r.present(v, k.keyword, k.names, nil) && ok
		}
	}
	return ok
}

// elements are the keywords that judge the elements of an array: prefixItems and items. Before
// 2020-12 these were items, as an array, and additionalItems.
type elements struct {
	prefix []*Schema
	rest   *Schema // nil: anything
}

func (s site) elements() keyword {
	prefix, rest := "prefixItems", "items"
	if items := s.v.member("items"); s.home.dialect < draft2020 {
		prefix = ""
		if items != nil && items.kind == jsontext.KindArray {
			prefix, rest = "items", "additionalItems"
		}
	}
	k := elements{s.subs(prefix), s.sub(rest)}
	if k.prefix == nil && k.rest == nil {
		return nil
	}
	return k
}

func (k elements) check(r *run, v *value, seen []bool) bool {
	if v.kind != jsontext.KindArray {
		return true
	}
	ok := true
	for i := range v.items {
		s := k.rest
		if i < len(k.prefix) {
			s = k.prefix[i]
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

// unique is the keyword uniqueItems.
type unique struct{}

func (s site) unique() keyword {
	if s.flag("uniqueItems") {
		return unique{}
	}
	return nil
}

func (unique) check(r *run, v *value, _ []bool) bool {
	if v.kind != jsontext.KindArray || len(v.items) < 2 {
		return true
	}
	keys := make(map[string]bool, len(v.items))
	var key []byte
	for i := range v.items {
		key = v.items[i].appendKey(key[:0])
		if keys[string(key)] {
			return r.fail(v, "uniqueItems", []byte("true"))
		}
		keys[string(key)] = true
	}
	return true
}

// contains are the keywords contains, minContains and maxContains.
type contains struct {
	schema   *Schema
	min, max *count
	marks    bool // since 2020-12 the elements found count as evaluated
}

func (s site) contains() keyword {
	schema := s.sub("contains")
	if schema == nil {
		return nil
	}
	k := contains{schema: schema, marks: s.home.dialect >= draft2020}
	if s.home.dialect >= draft2019 {
		k.min, k.max = s.contained("minContains", true), s.contained("maxContains", false)
	}
	return k
}

func (s site) contained(keyword string, minimum bool) *count {
	bound, raw := s.count(keyword)
	if raw == nil {
		return nil
	}
	return &count{keyword: keyword, minimum: minimum, bound: bound, want: raw}
}

func (k contains) check(r *run, v *value, seen []bool) bool {
	if v.kind != jsontext.KindArray {
		return true
	}
	found := 0
	r.quiet++
	for i := range v.items {
		if r.inside(k.schema, v, i) {
			found++
			if k.marks {
				mark(seen, i)
			}
		}
	}
	r.quiet--
	switch {
	case k.min == nil && found == 0:
		return r.fail(v, "contains", k.schema.source.raw)
	case k.min != nil && !k.min.fits(found):
		return r.fail(v, k.min.keyword, k.min.want)
	case k.max != nil && !k.max.fits(found):
		return r.fail(v, k.max.keyword, k.max.want)
	}
	return true
}

// unevaluated are the keywords unevaluatedProperties and unevaluatedItems.
type unevaluated struct {
	keyword string
	kind    jsontext.Kind
	schema  *Schema
}

func (s site) unevaluatedProperties() keyword {
	return s.unevaluated("unevaluatedProperties", jsontext.KindObject)
}

func (s site) unevaluatedItems() keyword {
	return s.unevaluated("unevaluatedItems", jsontext.KindArray)
}

func (s site) unevaluated(keyword string, kind jsontext.Kind) keyword {
	if schema := s.sub(keyword); schema != nil {
		return unevaluated{keyword, kind, schema}
	}
	return nil
}

func (k unevaluated) check(r *run, v *value, seen []bool) bool {
	if v.kind != k.kind {
		return true
	}
	ok := true
	var extra []string
	for i := range v.items {
		switch {
		case seen[i]:
		case k.schema.never && v.items[i].name != nil:
			extra = append(extra, string(v.items[i].name))
		default:
			ok = r.inside(k.schema, v, i) && ok
		}
		mark(seen, i)
	}
	if extra != nil {
		return r.report(Failure{Value: v.raw, Keyword: k.keyword, Names: extra}, len(extra))
	}
	return ok
}
