package binding

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"
)

// lint runs every rule once on a sample, because validator panics at the first use of a tag
// that it cannot read, which would be in production. owner is the struct whose members the rule
// may name.
func (c *ruleCompiler) lint(k *constraints, t, owner reflect.Type) bool {
	t = deref(t)
	ok := true
	for i, r := range k.rules {
		if i > 0 && c.strayWord(k.rules[i-1], r, t) {
			return false
		}
		ok = c.lintRule(r, t, owner) && c.lintVerdict(r, t) && ok
	}
	if k.elem == nil {
		return ok
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
	case reflect.Map:
		if k.keys != nil {
			ok = c.lint(k.keys, t.Key(), owner) && ok
		}
	default:
		c.fault("", fmt.Sprintf("validate dive on type %s, which has no elements", t), "Remove dive")
		return false
	}
	if k.keys != nil && t.Kind() != reflect.Map {
		c.fault("", fmt.Sprintf("validate keys on type %s, which is no map", t), "Remove keys…endkeys")
		return false
	}
	return c.lint(k.elem, t.Elem(), owner) && ok
}

// strayWord reports a rule that seems to be meant as a word of the list of choices before it.
func (c *ruleCompiler) strayWord(before, r rule, t reflect.Type) bool {
	if !before.lists() || r.structural() || r.param != "" || len(r.alts) > 0 || r.check != nil {
		return false
	}
	if _, problem := tryRule(c.single(), r, sample(t, 3)); !strings.HasPrefix(problem, undefined) {
		return false
	}
	c.fault("", fmt.Sprintf("validate rule %q does not exist", r), "If it is a word of "+before.name+": they are separated by spaces")
	return true
}

// lists reports whether the parameter is a list of values.
func (r rule) lists() bool {
	return slices.Contains([]string{"oneof", "noneof", "oneofci", "noneofci"}, r.name)
}

func (c *ruleCompiler) lintRule(r rule, t, owner reflect.Type) bool {
	if len(r.alts) > 0 {
		return c.lintAlternatives(r, t, owner)
	}
	if forbidden[r.name] {
		c.fault("", fmt.Sprintf("validate rule %q touches files or the network with what a caller sent", r.name),
			"Check it in the handler, where access is controlled")
		return false
	}
	if r.structural() {
		return true
	}
	if r.lists() && len(r.words()) == 0 {
		c.fault("", fmt.Sprintf("validate rule %q names no value", r), "Write the values behind it, with spaces between them: "+r.name+"=a b")
		return false
	}
	if r.check != nil {
		return c.lintCheck(r, t)
	}
	if _, ok := fieldSentences[r.name]; ok {
		return c.lintNames(r, owner, []string{r.param}) && (strings.HasSuffix(r.name, "csfield") || c.lintRelation(r, t, owner))
	}
	if _, ok := presenceSentences[r.name]; ok {
		return c.lintPresence(r, owner)
	}
	if !c.lintUnique(r, t) {
		return false
	}
	if nativeTest(r, t) != nil {
		return true // its parameter could be read
	}
	if _, problem := tryRule(c.single(), r, sample(t, 3)); problem != "" {
		c.unworkable(r, t, problem)
		return false
	}
	return true
}

func (c *ruleCompiler) lintAlternatives(r rule, t, owner reflect.Type) bool {
	ok := true
	for i, alt := range r.alts {
		if i > 0 && c.strayWord(r.alts[i-1], alt, t) {
			return false
		}
		ok = c.lintRule(alt, t, owner) && ok
	}
	return ok
}

// undefined is how validator begins to say that there is no such rule.
const undefined = "Undefined validation function"

// unworkable words validator's panic as a fault of the tag.
func (c *ruleCompiler) unworkable(r rule, t reflect.Type, panicked string) {
	problem := fmt.Sprintf("validate rule %q does not work on type %s", r, t)
	switch number := strings.HasPrefix(panicked, "strconv."); {
	case strings.HasPrefix(panicked, undefined):
		c.fault("", fmt.Sprintf("validate rule %q does not exist", r), c.meantRule(r))
	case number && r.param == "":
		c.fault("", problem+": its parameter is missing", "Write "+r.name+"=…")
	case number:
		c.fault("", problem+": its parameter is wrong", fmt.Sprintf("Correct %q", r.param))
	case strings.HasPrefix(panicked, "Bad field type"), strings.HasPrefix(panicked, "reflect: "):
		c.fault("", problem, c.placeOf(r, t))
	default:
		c.fault("", problem+": "+panicked, "Correct or remove the rule")
	}
}

// placeOf says where a rule belongs that does not fit t.
func (c *ruleCompiler) placeOf(r rule, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		elem := deref(t.Elem())
		if _, problem := tryRule(c.single(), r, sample(elem, 3)); problem == "" && elem.Kind() != reflect.Uint8 {
			return "Write dive before it to ask it of each element"
		}
	}
	return "Use it on another type, or remove it"
}

// foreignRules are names of rules in other libraries, in lower case.
var foreignRules = map[string]string{
	"enum": "Did you mean oneof?", "enums": "Did you mean oneof?", "in": "Did you mean oneof?",
	"pattern": patternFix, "regex": patternFix, "regexp": patternFix, "match": patternFix, "matches": patternFix,
	"minlength": "Did you mean min?", "minlen": "Did you mean min?", "minitems": "Did you mean min?", "minimum": "Did you mean min?",
	"maxlength": "Did you mean max?", "maxlen": "Did you mean max?", "maxitems": "Did you mean max?", "maximum": "Did you mean max?",
}

const patternFix = `Write jsonschema:"pattern=…", or add a rule with framework.Validation`

// meantRule suggests a rule for one that does not exist.
func (c *ruleCompiler) meantRule(r rule) string {
	if whole := r.String(); strings.TrimSpace(whole) != whole {
		return "Write it without spaces: " + strings.TrimSpace(whole)
	}
	if fix, ok := foreignRules[strings.ToLower(r.name)]; ok {
		return fix
	}
	if strings.ContainsAny(r.name, ";: ") {
		return "Write rules as name or name=parameter, with commas between them"
	}
	var known []string
	for _, k := range c.checks {
		known = append(known, k.Tag)
	}
	for name := range patterns {
		known = append(known, name)
	}
	for _, m := range []map[string]string{formats, sentences, boundSentences, fieldSentences, presenceSentences} {
		for name := range m {
			known = append(known, name)
		}
	}
	known = append(known, "oneof", "unique", "startswith", "endswith", "contains", "excludes", "datetime", "ip")
	best, distance := "", 3
	for _, name := range known {
		if d := editDistance(r.name, name); d > 0 && (d < distance || d == distance && best != "" && name < best) {
			best, distance = name, d
		}
	}
	if best != "" {
		return "Did you mean " + best + "?"
	}
	return "Correct it, or add it with framework.Validation"
}

// lintNames checks that named members exist: otherwise validator silently fails the rule
// always, or never.
func (c *ruleCompiler) lintNames(r rule, owner reflect.Type, names []string) bool {
	if strings.Contains(r.name, "cs") && strings.HasSuffix(r.name, "csfield") {
		return true // a path from the root, which is not known here
	}
	for _, name := range names {
		first, _, _ := strings.Cut(name, ".")
		if _, ok := owner.FieldByName(first); !ok {
			c.fault("", fmt.Sprintf("validate rule %q names %s, which is no field of %s", r, name, cmp.Or(plainName(owner), "the struct")),
				"Use the Go name of a field of the same struct")
			return false
		}
	}
	return true
}

func (c *ruleCompiler) lintPresence(r rule, owner reflect.Type) bool {
	words := r.words()
	if len(words) == 0 {
		c.fault("", fmt.Sprintf("validate rule %q names no field", r), "Add the Go name of a field")
		return false
	}
	if !strings.HasSuffix(r.name, "_if") && !strings.HasSuffix(r.name, "_unless") {
		return c.lintNames(r, owner, words)
	}
	if len(words)%2 != 0 {
		c.fault("", fmt.Sprintf("validate rule %q needs pairs of field and value", r), "Write Field value")
		return false
	}
	for i := 0; i < len(words); i += 2 {
		if !c.lintNames(r, owner, words[i:i+1]) || !c.lintValue(r, owner, words[i], words[i+1]) {
			return false
		}
	}
	return true
}

// tryRule runs one rule on a value and returns the verdict, or what validator panicked with.
func tryRule(v *validator.Validate, r rule, value reflect.Value) (holds bool, problem string) {
	defer func() {
		if p := recover(); p != nil {
			problem = clip(oneLine(fmt.Sprint(p)), 120)
		}
	}()
	if value.Kind() == reflect.Struct { // validator runs rules of structs only as members
		member := reflect.StructField{Name: "V", Type: value.Type(), Tag: reflect.StructTag("validate:" + strconv.Quote(r.encode()))}
		owner := reflect.New(reflect.StructOf([]reflect.StructField{member})).Elem()
		owner.Field(0).Set(value)
		return v.Struct(owner.Interface()) == nil, ""
	}
	return v.Var(value.Interface(), r.encode()) == nil, ""
}

// rehearse validates a filled value once, to find faults that show only in combination.
func (c *compiler) rehearse(p *core) {
	if c.failed() {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.fault(rootName(p.t, p.mode), "validator: "+clip(oneLine(fmt.Sprint(r)), 160), "Correct the validate tags")
		}
	}()
	v := reflect.Indirect(sample(p.root.goType(), 6))
	// Only whether it panics matters, not the verdict on the sample.
	if p.diveTag != "" {
		_ = p.rules().Var(v.Interface(), p.diveTag)
		return
	}
	_ = p.rules().Struct(v.Interface())
}

// sample is a value of t without nil and without empty containers, to depth
// levels.
func sample(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if depth == 0 {
		return v
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("1")
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem(), depth-1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(sample(t.Elem(), depth-1))
	case reflect.Array:
		for i := range min(t.Len(), 4) {
			v.Index(i).Set(sample(t.Elem(), depth-1))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		key := sample(t.Key(), depth-1)
		if key.Comparable() {
			v.SetMapIndex(key, sample(t.Elem(), depth-1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(sample(t.Field(i).Type, depth-1))
			}
		}
	case reflect.Interface:
	default:
		switch {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		}
	}
	return v
}
