package rawschema

func (s site) ref(o operand) check {
	if target, _, ok := s.follow(o); ok {
		return s.checkOf(target)
	}
	return nil
}

// follow compiles the target of a reference.
func (s site) follow(o operand) (*Schema, *resource, bool) {
	v, home, err := s.resolve(string(o.text), s.home)
	if err != nil {
		s.fail("%s: %w", o.keyword, err)
		return nil, nil, false
	}
	return s.schema(v, home), home, true
}

// checkOf returns the check of a reference to target. If the target contains the reference, the
// schema is recursive.
func (c *compiler) checkOf(target *Schema) check {
	if !c.open[target] {
		return target.check
	}
	return func(r *run, v *value, seen []bool) bool { return r.judgeRecursive(target, v, seen) }
}

// verdict records whether a schema accepts a value, and whether its faults were reported.
type verdict struct{ ok, reported bool }

// judgeRecursive lets a recursive schema judge a value. If the verdict may be kept, the schema
// judges the value only once, or twice if the first faults were not reported. Otherwise a schema
// that recurs in several branches would double the cost at each level, and a value of depth 60
// would take forever.
func (r *run) judgeRecursive(s *Schema, v *value, seen []bool) bool {
	if seen != nil || !r.remembers {
		return s.check(r, v, seen)
	}
	at := frame{s, v}
	if known, ok := r.verdicts[at]; ok && (known.ok || known.reported || r.quiet > 0) {
		return known.ok
	}
	ok := s.check(r, v, nil)
	if r.remembers { // no check has found a circle
		if r.verdicts == nil {
			r.verdicts = map[frame]verdict{}
		}
		r.verdicts[at] = verdict{ok, r.quiet == 0}
	}
	return ok
}

// dynamicRef compiles $dynamicRef (2020-12 core 8.2.3.2) and $recursiveRef (2019-09 core 8.2.4.2).
// If the first target has a $dynamicAnchor or $recursiveAnchor, the reference leads to the
// outermost schema in the dynamic scope with the same anchor.
func (s site) dynamicRef(o operand) check {
	target, home, ok := s.follow(o)
	if !ok {
		return nil
	}
	address, _ := s.home.address.Parse(string(o.text))
	anchor := address.Fragment
	if home.dynamic[anchor] != target.source {
		return s.checkOf(target)
	}
	s.dynamic = true
	return func(r *run, v *value, seen []bool) bool {
		for _, f := range r.frames {
			if outer := f.schema.home.scoped[anchor]; outer != nil {
				return r.judgeRecursive(outer, v, seen)
			}
		}
		return r.judgeRecursive(target, v, seen)
	}
}

func (s site) allOf(o operand) check {
	schemas := s.subs(o.value)
	return func(r *run, v *value, seen []bool) bool {
		ok := true
		for _, s := range schemas {
			if ok = s.check(r, v, seen) && ok; !ok && r.quiet > 0 {
				return false
			}
		}
		return ok
	}
}

// someOf compiles anyOf and oneOf.
func (s site) someOf(o operand) check {
	schemas, several := s.subs(o.value), o.keyword == "anyOf"
	return func(r *run, v *value, seen []bool) bool {
		matches := 0
		for _, s := range schemas {
			if !r.branch(s, v, seen) {
				continue
			}
			if matches++; several && seen == nil {
				return true
			}
		}
		return matches == 1 || several && matches > 1 || r.fail(v, o)
	}
}

func (s site) not(o operand) check {
	schema := s.schema(o.value, s.home)
	return func(r *run, v *value, _ []bool) bool { return !r.quietly(schema, v, nil) || r.fail(v, o) }
}

// condition compiles if, then and else.
func (s site) condition(o operand) check {
	when, then, otherwise := s.schema(o.value, s.home), s.sub("then"), s.sub("else")
	return func(r *run, v *value, seen []bool) bool {
		next := otherwise
		if r.branch(when, v, seen) {
			next = then
		}
		return next == nil || next.check(r, v, seen)
	}
}
