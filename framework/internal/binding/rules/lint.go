package rules

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// lint runs every rule once on a sample. Otherwise validator would panic in production, at the first use of a
// tag that it cannot read. owner is the struct with the members that a rule may name.
func (c *Compiler) lint(k *Constraints, t, owner reflect.Type) bool {
	t = gotype.Deref(t)
	ok := true
	for i, r := range k.Rules {
		if i > 0 && c.strayWord(k.Rules[i-1], r, t) {
			return false
		}
		ok = c.lintRule(r, t, owner) && c.lintVerdict(r, t) && ok
	}
	if k.Elem == nil {
		return ok
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
	case reflect.Map:
		if k.Keys != nil {
			ok = c.lint(k.Keys, t.Key(), owner) && ok
		}
	default:
		c.Fault("", fmt.Sprintf("validate dive on type %s, which has no elements", t), "Remove dive")
		return false
	}
	if k.Keys != nil && t.Kind() != reflect.Map {
		c.Fault("", fmt.Sprintf("validate keys on type %s, which is not a map", t), "Remove keys…endkeys")
		return false
	}
	return c.lint(k.Elem, t.Elem(), owner) && ok
}

// strayWord reports whether a rule looks like a word of the list of choices before it, and files a fault.
func (c *Compiler) strayWord(before, r Rule, t reflect.Type) bool {
	if !before.lists() || r.structural() || r.Param != "" || len(r.alts) > 0 || r.check != nil {
		return false
	}
	if _, problem := tryRule(c.Validator(), r, Sample(t, 3)); !strings.HasPrefix(problem, undefined) {
		return false
	}
	fix := "If it is a word of " + before.Name + ": they are separated by spaces"
	if strings.Count(before.Param, "'")%2 != 0 {
		fix = "Write 0x2C for a comma between quotes"
	}
	c.Fault("", fmt.Sprintf("validate rule %q does not exist", r), fix)
	return true
}

// lists reports whether the parameter is a list of values.
func (r Rule) lists() bool {
	_, lists := listSentences[r.Name]
	return lists
}

func (c *Compiler) lintRule(r Rule, t, owner reflect.Type) bool {
	if len(r.alts) > 0 {
		return c.lintAlternatives(r, t, owner)
	}
	if forbidden[r.Name] {
		c.Fault("", fmt.Sprintf("validate rule %q touches files or the network with what a caller sent", r.Name),
			"Check it in the handler, where access is controlled")
		return false
	}
	if r.Param != "" && r.check == nil && r.takesNone() {
		c.Fault("", fmt.Sprintf("validate rule %q has a parameter", r), "Write "+r.Name)
		return false
	}
	if r.structural() {
		return true
	}
	if r.lists() && len(r.words()) == 0 {
		c.Fault("", fmt.Sprintf("validate rule %q names no value", r), "Write the values behind it, with spaces between them: "+r.Name+"=a b")
		return false
	}
	if r.check != nil {
		return c.lintCheck(r, t)
	}
	if _, ok := fieldSentences[r.Name]; ok {
		crosses := strings.HasSuffix(r.Name, "csfield") // names a path from the root type, which a rule cannot see
		return crosses || c.lintNames(r, owner, []string{r.Param}) && c.lintRelation(r, t, owner)
	}
	if _, ok := PresenceSentences[r.Name]; ok {
		return c.lintPresence(r, owner)
	}
	if !c.lintUnique(r, t) {
		return false
	}
	if r.lacksText() || r.fitsNothing() {
		c.wrongParam(r, t)
		return false
	}
	if nativeTest(r, t) != nil {
		return true // its parameter could be read
	}
	if _, problem := tryRule(c.Validator(), r, Sample(t, 3)); problem != "" {
		c.unworkable(r, t, problem)
		return false
	}
	return true
}

// lacksText reports whether the rule needs a text, or a character, as its parameter and has another one. With an
// empty text, validator refuses or accepts every value, and the schema may have the pattern []. Of several
// characters, validator takes the first one.
func (r Rule) lacksText() bool {
	if r.Name == "containsrune" || r.Name == "excludesrune" {
		return utf8.RuneCountInString(r.Param) != 1
	}
	needs := r.Name == "datetime" || r.Name == "postcode_iso3166_alpha2" || partPatterns[r.Name]+excludedPatterns[r.Name] != ""
	return needs && r.Param == ""
}

// fitsNothing reports whether no value of any use fits the parameter. Only its own text fits a layout without a part
// of a time, such as YYYY-MM-DD, or the name of a layout, such as RFC3339. Validator has no postal codes for UK or de.
func (r Rule) fitsNothing() bool {
	switch r.Name {
	case "datetime":
		other := time.Date(1987, time.November, 9, 2, 38, 57, 123456789, time.FixedZone("X", 3600))
		named := strings.HasPrefix(r.Param, "RFC") || strings.HasPrefix(r.Param, "time.") // the digits of a name are parts of a time
		return named || LayoutExample(r.Param) == other.Format(r.Param)
	case "postcode_iso3166_alpha2":
		return !isCountry(r.Param)
	}
	return false
}

// isCountry reports whether a text has the form of a country code of ISO 3166. UK is a frequent mistake for GB.
func isCountry(code string) bool {
	lacksCapitals := strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' })
	return len(code) == 2 && !lacksCapitals && code != "UK"
}

func (c *Compiler) lintAlternatives(r Rule, t, owner reflect.Type) bool {
	ok := true
	for i, alt := range r.alts {
		if i > 0 && c.strayWord(r.alts[i-1], alt, t) {
			return false
		}
		ok = c.lintRule(alt, t, owner) && ok
	}
	return ok
}

// undefined is the beginning of validator's panic for an unknown rule.
const undefined = "Undefined validation function"

// unworkable files a fault for a rule that made validator panic.
func (c *Compiler) unworkable(r Rule, t reflect.Type, panicked string) {
	problem := fmt.Sprintf("validate rule %q does not work on type %s", r, t)
	switch {
	case strings.HasPrefix(panicked, undefined):
		c.Fault("", fmt.Sprintf("validate rule %q does not exist", r), c.meantRule(r))
	case strings.HasPrefix(panicked, "strconv."):
		c.wrongParam(r, t)
	case strings.HasPrefix(panicked, "Bad field type"), strings.HasPrefix(panicked, "reflect: "):
		c.Fault("", problem, c.placeOf(r, t))
	default:
		c.Fault("", problem+": "+panicked, "Correct or remove the rule")
	}
}

// wrongParam files a fault for a rule with a parameter that it cannot use.
func (c *Compiler) wrongParam(r Rule, t reflect.Type) {
	problem := fmt.Sprintf("validate rule %q does not work on type %s", r, t)
	if r.Param == "" {
		c.Fault("", problem+": its parameter is missing", "Write "+r.Name+"=…")
		return
	}
	fix := fmt.Sprintf("Correct %q", r.Param)
	if r.Name == "datetime" {
		fix = "Write a layout of Go's package time, such as datetime=2006-01-02"
	}
	c.Fault("", problem+": its parameter is wrong", fix)
}

// placeOf returns advice on where to use a rule that does not fit t.
func (c *Compiler) placeOf(r Rule, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		elem := gotype.Deref(t.Elem())
		if _, problem := tryRule(c.Validator(), r, Sample(elem, 3)); problem == "" && elem.Kind() != reflect.Uint8 {
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
func (c *Compiler) meantRule(r Rule) string {
	if whole := r.String(); strings.TrimSpace(whole) != whole {
		return "Write it without spaces: " + strings.TrimSpace(whole)
	}
	if fix, ok := foreignRules[strings.ToLower(r.Name)]; ok {
		return fix
	}
	if strings.ContainsAny(r.Name, ";: ") {
		return "Write rules as name or name=parameter, with commas between them"
	}
	var known []string
	for _, k := range c.Checks {
		known = append(known, k.Tag)
	}
	for _, m := range []map[string]string{schema.Patterns, formats, sentences, boundSentences, fieldSentences, PresenceSentences} {
		known = slices.AppendSeq(known, maps.Keys(m))
	}
	known = append(known, "oneof", "unique", "startswith", "endswith", "contains", "excludes", "datetime", "ip")
	best, distance := "", 3
	for _, name := range known {
		if d := spelling.Distance(r.Name, name); d > 0 && (d < distance || d == distance && best != "" && name < best) {
			best, distance = name, d
		}
	}
	if best != "" {
		return "Did you mean " + best + "?"
	}
	return "Correct it, or add it with framework.Validation"
}

// lintNames reports whether the named members exist. If not, it files a fault, because validator would
// silently fail the rule always, or never.
func (c *Compiler) lintNames(r Rule, owner reflect.Type, names []string) bool {
	for _, name := range names {
		switch found, nilable := followPath(owner, name); {
		case !found:
			c.Fault("", fmt.Sprintf("validate rule %q: %s has no field %s", r, cmp.Or(gotype.PlainName(owner), "the struct"), name),
				"Use the Go name of a field of the same struct")
			return false
		case nilable:
			c.Fault("", fmt.Sprintf("validate rule %q: %s is a field of an embedded pointer, and validator panics where that is nil", r, name),
				"Embed the struct itself, or compare them in a method Validate() error of the struct")
			return false
		}
	}
	return true
}

// followPath follows a path of field names from a struct. found is false if there is no such field. nilable is set
// if a field on the way belongs to an embedded pointer. What is behind an interface, an index or a value that
// validator replaces is unknown, and counts as found.
func followPath(t reflect.Type, path string) (found, nilable bool) {
	for name := range strings.SplitSeq(path, ".") {
		t = gotype.Deref(t)
		switch {
		case t.Kind() == reflect.Interface || has(t, ValuerType):
			return true, nilable
		case t.Kind() != reflect.Struct || t.ConvertibleTo(gotype.TimeType):
			return false, false
		}
		name, _, indexed := strings.Cut(name, "[")
		f, ok := t.FieldByName(name)
		if !ok {
			return false, false
		}
		for _, i := range f.Index[:len(f.Index)-1] {
			t = gotype.Deref(t).Field(i).Type
			nilable = nilable || t.Kind() == reflect.Pointer && !hasDefaults(t.Elem())
		}
		if indexed {
			return true, nilable
		}
		t = f.Type
	}
	return true, nilable
}

// hasDefaults reports whether a member of an embedded struct has a default. In each call, the default allocates the
// struct.
func hasDefaults(t reflect.Type) bool {
	for f := range t.Fields() {
		if _, has := f.Tag.Lookup("default"); has && f.IsExported() {
			return true
		}
	}
	return false
}

func (c *Compiler) lintPresence(r Rule, owner reflect.Type) bool {
	words := r.words()
	if len(words) == 0 {
		c.Fault("", fmt.Sprintf("validate rule %q names no field", r), "Add the Go name of a field")
		return false
	}
	if !strings.HasSuffix(r.Name, "_if") && !strings.HasSuffix(r.Name, "_unless") {
		return c.lintNames(r, owner, words) && c.lintGiven(r, owner, words)
	}
	if len(words)%2 != 0 {
		c.Fault("", fmt.Sprintf("validate rule %q needs pairs of field and value", r), "Write Field value")
		return false
	}
	seen := map[string]bool{}
	for i := 0; i < len(words); i += 2 {
		if strings.HasSuffix(r.Name, "_if") && seen[words[i]] {
			c.Fault("", fmt.Sprintf("validate rule %q names %s twice, and it cannot have both values", r, words[i]), "Name each field once")
			return false
		}
		seen[words[i]] = true
		if !c.lintNames(r, owner, words[i:i+1]) || !c.lintValue(r, owner, words[i], words[i+1]) {
			return false
		}
	}
	return true
}

// lintGiven files a fault for a rule that asks whether a member with a default was sent. A default that is
// zero counts as not given.
func (c *Compiler) lintGiven(r Rule, owner reflect.Type, names []string) bool {
	for _, name := range names {
		f, _ := gotype.Deref(owner).FieldByName(name)
		if text, has := f.Tag.Lookup("default"); has && !zeroDefault(f.Type, text) {
			c.Fault("", fmt.Sprintf("validate rule %q: %s has a default, so that it is always given", r, name),
				"Remove the default, and set it in the handler")
			return false
		}
	}
	return true
}

// zeroDefault reports whether text is the zero value of t. It does not read the text forms of types with
// methods of their own.
func zeroDefault(t reflect.Type, text string) bool {
	kind := t.Kind()
	p := reflect.PointerTo(t)
	if kind >= reflect.Int && kind <= reflect.Float64 && !p.Implements(gotype.TextReader) && !p.Implements(gotype.JSONReader) { // also a duration
		return strings.Trim(text, "+-0.hmsnuµ") == ""
	}
	return kind != reflect.Pointer && slices.Contains([]string{"", "0", "0s", "false"}, text)
}

// tryRule runs one rule on a value. It returns the verdict, or the text of validator's panic.
func tryRule(v *validator.Validate, r Rule, value reflect.Value) (holds bool, problem string) {
	defer func() {
		if p := recover(); p != nil {
			problem = jsontext.Clip(report.OneLine(fmt.Sprint(p)), 120)
		}
	}()
	if value.Kind() == reflect.Struct { // validator runs rules on a struct only if the struct is a member
		member := reflect.StructField{Name: "V", Type: value.Type(), Tag: reflect.StructTag("validate:" + strconv.Quote(r.encode()))}
		owner := reflect.New(reflect.StructOf([]reflect.StructField{member})).Elem()
		owner.Field(0).Set(value)
		return v.Struct(owner.Interface()) == nil, ""
	}
	return v.Var(value.Interface(), r.encode()) == nil, ""
}

// Sample returns a value of t without nil and without empty containers, to the given depth.
func Sample(t reflect.Type, depth int) reflect.Value {
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
		v.Elem().Set(Sample(t.Elem(), depth-1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(Sample(t.Elem(), depth-1))
	case reflect.Array:
		for i := range min(t.Len(), 4) {
			v.Index(i).Set(Sample(t.Elem(), depth-1))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		key := Sample(t.Key(), depth-1)
		if key.Comparable() {
			v.SetMapIndex(key, Sample(t.Elem(), depth-1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(Sample(t.Field(i).Type, depth-1))
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
