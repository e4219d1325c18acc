package binding

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// compileRules gives the plan its own validator, with the tags of every
// reachable struct rewritten: required is dropped (presence is checked on the
// text), and elements are entered even where the author forgot dive.
func (c *compiler) compileRules(p *Plan) {
	if c.mode == Output || !hasRules(p.root.goType(), map[reflect.Type]bool{}) {
		return
	}
	v := c.newValidator()
	done := map[reflect.Type]bool{}
	for _, s := range c.structs {
		registerRules(v, s.t, done)
	}
	p.rules = v
	if deref(p.root.goType()).Kind() != reflect.Struct {
		p.diveTag = strings.Repeat(",dive", divesTo(p.root.goType()))
		if p.diveTag == "" {
			p.rules = nil
			return
		}
		p.diveTag = p.diveTag[1:]
	}
	c.rehearse(p)
}

// registerRules rewrites t and the structs embedded in it.
func registerRules(v *validator.Validate, t reflect.Type, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	rules := map[string]string{}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous && deref(sf.Type).Kind() == reflect.Struct {
			registerRules(v, deref(sf.Type), done)
		}
		rules[sf.Name] = rewritten(sf)
	}
	v.RegisterStructValidationMapRules(rules, reflect.New(t).Interface())
}

// rewritten is the tag that validator gets for a field.
func rewritten(sf reflect.StructField) string {
	tag := sf.Tag.Get("validate")
	if tag == "-" || sf.Tag.Get("json") == "-" {
		return "-"
	}
	if tag == "" {
		return strings.TrimPrefix(strings.Repeat(",dive", divesTo(sf.Type)), ",")
	}
	c, ok := parseTag(tag)
	if !ok {
		return "-" // a fault already
	}
	return c.tag(sf.Type, false)
}

// tag renders a level for validator.
func (c *constraints) tag(t reflect.Type, element bool) string {
	var parts []string
	for _, r := range c.rules {
		if r.name != "required" {
			parts = append(parts, r.encode())
			continue
		}
		// An element is always present: for a text, required can only mean
		// that it is not empty. For anything else it is idle.
		if element && deref(t).Kind() == reflect.String {
			parts = append(parts, "min=1")
		}
	}
	if c.elem == nil {
		for range divesTo(t) {
			parts = append(parts, "dive")
		}
		return strings.Join(parts, ",")
	}
	parts = append(parts, "dive")
	t = deref(t)
	if c.keys != nil && t.Kind() == reflect.Map {
		parts = append(parts, "keys", c.keys.tag(t.Key(), true), "endkeys")
	}
	if inner := c.elem.tag(t.Elem(), true); inner != "" {
		parts = append(parts, inner)
	}
	return strings.Join(parts, ",")
}

// encode writes the rule as it was, with validator's escapes.
func (r rule) encode() string {
	if len(r.alts) > 0 {
		parts := make([]string, len(r.alts))
		for i, a := range r.alts {
			parts[i] = a.encode()
		}
		return strings.Join(parts, "|")
	}
	r.param = strings.ReplaceAll(strings.ReplaceAll(r.param, ",", "0x2C"), "|", "0x7C")
	return r.String()
}

// divesTo counts the containers between t and a struct; 0 if there is none.
func divesTo(t reflect.Type) int {
	seen := map[reflect.Type]bool{}
	for n := 0; !seen[t]; {
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
			n++
		case reflect.Struct:
			if t.ConvertibleTo(timeType) {
				return 0
			}
			return n
		case reflect.Interface:
			return n * min(t.NumMethod(), 1) // a union's variants are structs
		default:
			return 0
		}
	}
	return 0
}

// hasRules reports whether any reachable struct has a validate tag.
func hasRules(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasRules(t.Elem(), seen)
	case reflect.Interface:
		return t.NumMethod() > 0 // a variant may have some
	case reflect.Struct:
		for i := range t.NumField() {
			sf := t.Field(i)
			if tag := sf.Tag.Get("validate"); tag != "" && tag != "-" && (sf.IsExported() || sf.Anonymous) {
				return true
			}
			if (sf.IsExported() || sf.Anonymous) && hasRules(sf.Type, seen) {
				return true
			}
		}
	}
	return false
}

// run asks validator, which panics on values it did not expect.
func (p *Plan) run(ctx context.Context, v reflect.Value) (failed validator.ValidationErrors, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("validator: %v", r)
		}
	}()
	v = reflect.Indirect(v)
	if !v.IsValid() {
		return nil, nil
	}
	var result error
	if p.diveTag != "" {
		result = p.rules.VarCtx(ctx, v.Interface(), p.diveTag)
	} else {
		result = p.rules.StructCtx(ctx, v.Addr().Interface())
	}
	if errors.As(result, &failed) {
		return failed, nil
	}
	return nil, result
}

// judge adds what validator finds to what decoding found.
func (p *Plan) judge(ctx context.Context, d *decoder, raw []byte, v reflect.Value) {
	if p.rules == nil {
		return
	}
	failed, err := p.run(ctx, v)
	if err != nil {
		d.file(finding{Issue: Issue{Rule: RulePanic, Hint: "A rule does not fit the kind of value that was sent."}, n: p.root})
		return
	}
	values := finder{raw: raw}
	for _, fe := range failed {
		if len(d.found) >= maxFindings {
			d.total++
			continue
		}
		p.fileFailure(ctx, d, &values, v, fe)
	}
}

// fileFailure files one failed tag, unless it is about a value that was not
// sent, is not part of the JSON form, or could not be decoded.
func (p *Plan) fileFailure(ctx context.Context, d *decoder, values *finder, v reflect.Value, fe validator.FieldError) {
	l := locator{}
	if !l.locate(p.root, v, fe.StructNamespace()) {
		return
	}
	path := pointerOf(l.path)
	if d.faulty(path) {
		return
	}
	rule := fe.ActualTag()
	value, sent := values.find(path)
	sent = sent && jsontext.KindOf(value) != jsontext.KindNull
	_, aboutPresence := presenceSentences[rule]
	if !sent && !aboutPresence {
		return
	}
	if sent && strings.HasPrefix(rule, "required_") {
		// What was sent is there, be it zero; what else is asked of it was not
		// looked at yet.
		failed, ok := p.next(ctx, l.c, rule, fe)
		if ok {
			return
		}
		rule = failed
	}
	d.total++
	d.found = append(d.found, l.finding(p, path, rule, value, sent))
}

// faulty reports whether the value at path, or one around it, has a finding.
func (d *decoder) faulty(path string) bool {
	return slices.ContainsFunc(d.found, func(f finding) bool {
		return f.Path == "" || path == f.Path || strings.HasPrefix(path, f.Path+"/")
	})
}

// next judges a value by the rules that follow a failed one.
func (p *Plan) next(ctx context.Context, c *constraints, failed string, fe validator.FieldError) (name string, ok bool) {
	if c == nil {
		return "", true
	}
	i := slices.IndexFunc(c.rules, func(r rule) bool { return r.name == failed })
	rest := constraints{rules: c.rules[i+1:]}
	tag := rest.tag(fe.Type(), false)
	if tag == "" || rest.relates() {
		return "", true
	}
	var errs validator.ValidationErrors
	if errors.As(p.rules.VarCtx(ctx, fe.Value(), tag), &errs) {
		return errs[0].ActualTag(), false
	}
	return "", true
}

// finding words one failed rule.
func (l *locator) finding(p *Plan, path, rule string, value []byte, sent bool) finding {
	f := finding{Issue: Issue{Path: path, Rule: rule, Want: p.wanted(l.n, l.c)}, n: l.n, c: l.c, f: l.f}
	switch {
	case l.inKeys(rule):
		_, name := splitPointer(path)
		f.Got = "the key " + quoteShort(name)
		f.Want = "keys that are " + describe(p.printer.words(&stringNode{reflect.TypeFor[string]()}, l.keys))
	case !sent:
		f.missing, f.Rule = true, RuleRequired
	case l.secret:
		f.Got = "a value that is not shown"
	default:
		f.Got = gotWords(value)
	}
	if l.f != nil && sent {
		f.Hint = l.f.defaultWords()
	}
	return f
}

// finder looks values up by path. The first look-ups search the text; when
// there are many, it is indexed once, so that a long list of items without an
// optional member does not cost its square.
type finder struct {
	raw   []byte
	count int
	index map[string][]byte
}

func (f *finder) find(path string) ([]byte, bool) {
	const few = 16
	f.count++
	if f.count <= few {
		return valueAt(f.raw, path)
	}
	if f.index == nil {
		f.index = map[string][]byte{}
		f.add("", f.raw)
	}
	value, ok := f.index[path]
	return value, ok
}

func (f *finder) add(path string, raw []byte) {
	f.index[path] = raw
	if inner, ok := unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
		raw = inner
	}
	for key, value := range jsontext.Members(raw) {
		f.add(jsontext.Pointer(path, key.String()), value)
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		f.add(jsontext.PointerIndex(path, i), item)
		i++
	}
}

// valueAt finds the value at a JSON pointer, also inside strings that hold
// JSON: a repaired document is judged by where its values really were.
func valueAt(raw []byte, path string) ([]byte, bool) {
	for path != "" {
		var part string
		part, path = firstStep(path)
		if inner, ok := unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
			raw = inner
		}
		next, ok := childOf(raw, unescaped(part))
		if !ok {
			return nil, false
		}
		raw = next
	}
	return raw, true
}

func childOf(raw []byte, part string) ([]byte, bool) {
	if jsontext.KindOf(raw) == jsontext.KindObject {
		return jsontext.Member(raw, part)
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		if fmt.Sprint(i) == part {
			return item, true
		}
		i++
	}
	return nil, false
}

// locator follows a namespace of validator's, which is written in Go names,
// with raw map keys in it, down the plan and the value.
type locator struct {
	path   []step
	n      node
	c      *constraints
	f      *field
	secret bool
	keys   *constraints // rules of the keys, where the last step is an entry of a map
}

// inKeys reports whether the rule that failed is one of the map's keys.
func (l *locator) inKeys(name string) bool {
	has := func(c *constraints) bool {
		return c != nil && slices.ContainsFunc(c.rules, func(r rule) bool { return r.name == name })
	}
	return has(l.keys) && !has(l.c)
}

func (l *locator) locate(root node, v reflect.Value, ns string) bool {
	if t := deref(root.goType()); t.Kind() == reflect.Struct && t.Name() != "" {
		ns = strings.TrimPrefix(ns, t.Name())
	} else if t.Kind() == reflect.Struct {
		ns = "." + ns
	}
	return l.walk(root, nil, v, ns)
}

func (l *locator) walk(n node, c *constraints, v reflect.Value, rest string) bool {
	for {
		p, ok := n.(*ptrNode)
		if !ok {
			break
		}
		n = p.elem
		if v.IsValid() {
			v = v.Elem()
		}
	}
	if m, ok := n.(*methodNode); ok && m.shown() == byShape {
		n = m.base
	}
	l.n, l.c = n, c
	if rest != "" {
		l.keys = nil
	}
	if rest == "" || !v.IsValid() {
		return rest == ""
	}
	switch n := n.(type) {
	case *structNode:
		return l.member(n, v, rest)
	case *sliceNode:
		return l.item(n.elem, c, v, rest)
	case *arrayNode:
		return l.item(n.elem, c, v, rest)
	case *mapNode:
		return l.entry(n, c, v, rest)
	case *unionNode:
		return l.variant(n, v, rest)
	}
	return true // inside a type that marshals itself: reported where it stands
}

// member descends by a Go field name, through embedded structs.
func (l *locator) member(n *structNode, v reflect.Value, rest string) bool {
	var index []int
	t := n.t
	for strings.HasPrefix(rest, ".") {
		name := rest[1:]
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		rest = rest[1+len(name):]
		sf, ok := directField(t, name)
		if !ok {
			return false
		}
		index = append(index, sf.Index...)
		if f := n.byIndex(index); f != nil {
			value, ok := f.value(v)
			if !ok {
				return false
			}
			l.path = append(l.path, step{name: f.name, member: true})
			l.f = f
			l.secret = l.secret || f.secret
			return l.walk(f.node, f.c, value, rest)
		}
		t = deref(sf.Type)
		if !sf.Anonymous || t.Kind() != reflect.Struct {
			return false
		}
	}
	return false
}

func directField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Name == name {
			return sf, true
		}
	}
	return reflect.StructField{}, false
}

func (n *structNode) byIndex(index []int) *field {
	for _, f := range n.fields {
		if slices.Equal(f.index, index) {
			return f
		}
	}
	return nil
}

func (l *locator) item(elem node, c *constraints, v reflect.Value, rest string) bool {
	var i int
	if _, err := fmt.Sscanf(rest, "[%d]", &i); err != nil || i < 0 || i >= v.Len() {
		return false
	}
	rest = rest[strings.IndexByte(rest, ']')+1:]
	l.path = append(l.path, step{index: i})
	return l.walk(elem, c.element(), v.Index(i), rest)
}

// entry tries the keys that are there: a key may contain any character of the
// namespace's syntax.
func (l *locator) entry(n *mapNode, c *constraints, v reflect.Value, rest string) bool {
	for key, after := range n.keysIn(v, rest) {
		value := v.MapIndex(key)
		name, err := n.key.write(key)
		if err != nil || !value.IsValid() {
			continue
		}
		before := *l
		l.path = append(l.path[:len(l.path):len(l.path)], step{name: name, member: true})
		l.keys = c.keyRules()
		if l.walk(n.elem, c.element(), value, after) {
			return true
		}
		*l = before
	}
	return false
}

// keysIn yields the keys that rest may begin with, and what follows them. Keys
// of texts are cut out of rest; others are compared one by one.
func (n *mapNode) keysIn(v reflect.Value, rest string) iter.Seq2[reflect.Value, string] {
	return func(yield func(reflect.Value, string) bool) {
		if n.key.t.Kind() != reflect.String {
			for it := v.MapRange(); it.Next(); {
				after, ok := strings.CutPrefix(rest, fmt.Sprintf("[%v]", it.Key()))
				if ok && !yield(it.Key(), after) {
					return
				}
			}
			return
		}
		for i := 1; i < len(rest); i++ {
			if rest[i] != ']' {
				continue
			}
			key := reflect.ValueOf(rest[1:i]).Convert(n.key.t)
			if !yield(key, rest[i+1:]) {
				return
			}
		}
	}
}

// userCheck is a type's own Validate method.
type userCheck interface {
	run(ctx context.Context, v reflect.Value) error
}

type (
	checker        interface{ Validate() error }
	contextChecker interface {
		Validate(ctx context.Context) error
	}
	plainCheck   struct{}
	contextCheck struct{}
)

// userCheckOf looks at the value's own methods and at those of its pointer.
func userCheckOf(t reflect.Type) userCheck {
	p := reflect.PointerTo(deref(t))
	switch {
	case p.Implements(reflect.TypeFor[checker]()):
		return plainCheck{}
	case p.Implements(reflect.TypeFor[contextChecker]()):
		return contextCheck{}
	}
	return nil
}

func receiver(v reflect.Value) any {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Addr().Interface()
}

func (plainCheck) run(_ context.Context, v reflect.Value) error {
	return custom(receiver(v).(checker).Validate())
}

func (contextCheck) run(ctx context.Context, v reflect.Value) error {
	err := receiver(v).(contextChecker).Validate(ctx)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return custom(err)
}

// custom turns an error of the user's Validate into issues: it was written for
// the caller. Joined errors are one issue each.
func custom(err error) error {
	if err == nil {
		return nil
	}
	var invalid *Invalid
	if errors.As(err, &invalid) {
		return invalid
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
		errs = joined.Unwrap()
	}
	issues := make([]Issue, 0, len(errs))
	for _, e := range errs {
		text := strings.TrimSuffix(clip(oneLine(e.Error()), 500), ".")
		issues = append(issues, Issue{Hint: text + ".", Rule: RuleCustom})
	}
	return NewInvalid(issues...)
}
