package rawschema

// reference is the keyword $ref, and also $dynamicRef and $recursiveRef where their target is
// static.
type reference struct {
	target *Schema
	back   bool // the target contains the reference: the schema is recursive
}

func (s site) ref() keyword {
	if s.v.member("$ref") == nil {
		return nil
	}
	if target, _, ok := s.follow("$ref"); ok {
		return s.to(target)
	}
	return nil
}

// follow compiles the target of a reference.
func (s site) follow(keyword string) (*Schema, *resource, bool) {
	v, home, err := s.resolve(string(s.v.member(keyword).text), s.home)
	if err != nil {
		s.fail("%s: %w", keyword, err)
		return nil, nil, false
	}
	return s.schema(v, home), home, true
}

func (c *compiler) to(target *Schema) reference { return reference{target, c.open[target]} }

func (k reference) check(r *run, v *value, seen []bool) bool {
	if !k.back {
		return k.target.check(r, v, seen)
	}
	return r.again(k.target, v, seen)
}

// again lets a recursive schema judge a value, and keeps the verdict if it may be kept.
func (r *run) again(s *Schema, v *value, seen []bool) bool {
	if seen == nil && r.remembers {
		return r.once(s, v)
	}
	return s.check(r, v, seen)
}

// verdict is whether a schema accepts a value, and whether its faults were reported.
type verdict struct{ ok, told bool }

// once lets a schema judge a value only once, and a second time if there are faults that were
// not reported. Otherwise a schema that recurs in several branches would double the cost at
// each level, and a value of depth 60 would take for ever.
func (r *run) once(s *Schema, v *value) bool {
	at := frame{s, v}
	if known, ok := r.verdicts[at]; ok && (known.ok || known.told || r.quiet > 0) {
		return known.ok
	}
	ok := s.check(r, v, nil)
	if r.remembers {
		if r.verdicts == nil {
			r.verdicts = map[frame]verdict{}
		}
		r.verdicts[at] = verdict{ok, r.quiet == 0}
	}
	return ok
}

// recursiveRef is the keyword $recursiveRef of a schema whose root has
// $recursiveAnchor (2019-09 core 8.2.4.2).
type recursiveRef struct{ target *Schema }

func (s site) recursiveRef() keyword {
	if s.v.member("$recursiveRef") == nil {
		return nil
	}
	target, home, ok := s.follow("$recursiveRef")
	switch {
	case !ok:
		return nil
	case target.source == home.root && (site{s.compiler, home.root, home}).flag("$recursiveAnchor"):
		s.dynamic = true
		return recursiveRef{target}
	}
	return s.to(target)
}

func (k recursiveRef) check(r *run, v *value, seen []bool) bool {
	for _, f := range r.frames {
		if outer := f.schema.home.recursive; outer != nil {
			return r.again(outer, v, seen)
		}
	}
	return r.again(k.target, v, seen)
}

// dynamicRef is the keyword $dynamicRef whose first target is a $dynamicAnchor
// (2020-12 core 8.2.3.2).
type dynamicRef struct {
	target *Schema
	anchor string
}

func (s site) dynamicRef() keyword {
	v := s.v.member("$dynamicRef")
	if v == nil {
		return nil
	}
	target, home, ok := s.follow("$dynamicRef")
	if !ok {
		return nil
	}
	address, _ := s.home.address.Parse(string(v.text))
	if home.dynamic[address.Fragment] == target.source {
		s.dynamic = true
		return dynamicRef{target, address.Fragment}
	}
	return s.to(target)
}

func (k dynamicRef) check(r *run, v *value, seen []bool) bool {
	for _, f := range r.frames {
		if outer := f.schema.home.scoped[k.anchor]; outer != nil {
			return r.again(outer, v, seen)
		}
	}
	return r.again(k.target, v, seen)
}

// allOf is the keyword allOf.
type allOf []*Schema

func (s site) allOf() keyword {
	if all := s.subs("allOf"); all != nil {
		return allOf(all)
	}
	return nil
}

func (k allOf) check(r *run, v *value, seen []bool) bool {
	ok := true
	for _, s := range k {
		if ok = s.check(r, v, seen) && ok; !ok && r.quiet > 0 {
			return false
		}
	}
	return ok
}

// anyOf is the keyword anyOf.
type anyOf struct {
	schemas []*Schema
	want    []byte
}

func (s site) anyOf() keyword {
	if schemas := s.subs("anyOf"); schemas != nil {
		return anyOf{schemas, s.v.member("anyOf").raw}
	}
	return nil
}

func (k anyOf) check(r *run, v *value, seen []bool) bool {
	ok := false
	for _, s := range k.schemas {
		if ok = r.branch(s, v, seen) || ok; ok && seen == nil {
			return true
		}
	}
	return ok || r.fail(v, "anyOf", k.want)
}

// oneOf is the keyword oneOf.
type oneOf struct {
	schemas []*Schema
	want    []byte
}

func (s site) oneOf() keyword {
	if schemas := s.subs("oneOf"); schemas != nil {
		return oneOf{schemas, s.v.member("oneOf").raw}
	}
	return nil
}

func (k oneOf) check(r *run, v *value, seen []bool) bool {
	matches := 0
	for _, s := range k.schemas {
		if r.branch(s, v, seen) {
			matches++
		}
	}
	return matches == 1 || r.fail(v, "oneOf", k.want)
}

// not is the keyword not.
type not struct {
	schema *Schema
}

func (s site) not() keyword {
	if schema := s.sub("not"); schema != nil {
		return not{schema}
	}
	return nil
}

func (k not) check(r *run, v *value, _ []bool) bool {
	return !r.quietly(k.schema, v, nil) || r.fail(v, "not", k.schema.source.raw)
}

// condition are the keywords if, then and else.
type condition struct{ when, then, otherwise *Schema }

func (s site) condition() keyword {
	when := s.sub("if")
	if when == nil {
		return nil
	}
	return condition{when, s.sub("then"), s.sub("else")}
}

func (k condition) check(r *run, v *value, seen []bool) bool {
	next := k.otherwise
	if r.branch(k.when, v, seen) {
		next = k.then
	}
	return next == nil || next.check(r, v, seen)
}
