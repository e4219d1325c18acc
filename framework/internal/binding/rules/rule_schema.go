package rules

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// express writes the rule as keywords into k, and reports whether they express
// all that the rule demands. Tests compare the keywords with validator.
//
//	rule            text              number             list           map
//	min, gte        minLength         minimum            minItems       minProperties
//	max, lte        maxLength         maximum            maxItems       maxProperties
//	gt, lt          …Length ±1        exclusive…         …Items ±1      …Properties ±1
//	len             both …Length      const              both …Items    both …Properties
//	eq, ne          const, not        const, not         both …Items    both …Properties
//	oneof, noneof   enum, not enum    enum, not enum
//	unique                                               uniqueItems
//	startswith, endswith, contains, excludes… → pattern, not pattern
//	alpha, numeric, hexadecimal, uuid4, semver, … → pattern (see schema/patterns.go)
//	email, url, uri, uuid, ip, ipv4, ipv6, hostname…, datetime → format
//	a|b → anyOf, if each part has keywords; anything else → a sentence
func (r Rule) express(v Value, k *schema.Keywords) bool {
	what := v.Kind
	if len(r.alts) > 0 {
		return r.expressAny(v, k)
	}
	if r.check != nil {
		for _, w := range schema.Parse(r.check.Schema) {
			k.Demand(w.Name, w.Value)
		}
		return false // the keywords may not express all, so the schema also has the sentence
	}
	if r.isSize() {
		return r.expressSize(what, k)
	}
	switch r.Name {
	case "eq", "ne":
		return r.expressEqual(what, k)
	case "oneof", "noneof":
		return r.expressEnum(what, k)
	case "unique":
		if what != ListKind || r.Param != "" {
			return false
		}
		k.Set("uniqueItems", []byte("true"))
		return v.comparableOnWire()
	}
	if what != TextKind {
		// A number is numeric. Validator checks its text form.
		return what.IsNumber() && (r.Name == "number" || r.Name == "numeric")
	}
	return r.expressText(k)
}

// isSize reports whether the rule, or a part of it, measures a value.
func (r Rule) isSize() bool {
	return slices.Contains(sizeRules, r.Name) || slices.ContainsFunc(r.alts, Rule.isSize)
}

var sizeRules = []string{"min", "gte", "max", "lte", "gt", "lt", "len"}

// comparableOnWire reports whether the elements of v are equal in Go exactly if their JSON is equal. Validator
// compares the Go values, and uniqueItems compares the JSON.
func (v Value) comparableOnWire() bool {
	if v.Elem == nil {
		return false
	}
	kind := v.Elem().Kind
	return kind == TextKind || kind == BoolKind || kind.IsNumber()
}

func (r Rule) expressAny(v Value, k *schema.Keywords) bool {
	var options [][]byte
	for _, alt := range r.alts {
		var one schema.Keywords
		if alt.structural() || !alt.express(v, &one) {
			return false
		}
		options = append(options, one.Render())
	}
	if k.Has("anyOf") {
		return false
	}
	k.Set("anyOf", jsonedit.List(options))
	return true
}

// countKeywords are the keywords for the size of a value, by its kind.
var countKeywords = map[Kind][2]string{
	TextKind: {"minLength", "maxLength"}, ListKind: {"minItems", "maxItems"}, MapKind: {"minProperties", "maxProperties"},
}

// expressSize maps bounds. Parameters are read in any base, as validator does:
// min=010 is 8.
func (r Rule) expressSize(what Kind, k *schema.Keywords) bool {
	if names, counted := countKeywords[what]; counted {
		return r.countBounds(k, names[0], names[1])
	}
	return what.IsNumber() && r.numberBounds(what, k)
}

func (r Rule) countBounds(k *schema.Keywords, low, high string) bool {
	n, err := strconv.ParseInt(r.Param, 0, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return false
	}
	from, to := r.closed(n)
	if to < 0 { // lt=0
		return false
	}
	if from > math.MinInt64 {
		k.Raise(low, strconv.AppendInt(nil, from, 10))
	}
	if to < math.MaxInt64 {
		k.Lower(high, strconv.AppendInt(nil, to, 10))
	}
	return true
}

// number reads the parameter of a rule as validator does for the kind.
func (r Rule) number(what Kind) ([]byte, bool) {
	switch what {
	case IntKind:
		i, err := strconv.ParseInt(r.Param, 0, 64)
		return strconv.AppendInt(nil, i, 10), err == nil
	case UintKind:
		u, err := strconv.ParseUint(r.Param, 0, 64)
		return strconv.AppendUint(nil, u, 10), err == nil
	default:
		f, err := strconv.ParseFloat(r.Param, 64)
		return jsontext.AppendFloat(nil, f), err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
}

func (r Rule) numberBounds(what Kind, k *schema.Keywords) bool {
	bound, ok := r.number(what)
	if !ok {
		return false
	}
	switch r.Name {
	case "min", "gte":
		k.Raise("minimum", bound)
	case "max", "lte":
		k.Lower("maximum", bound)
	case "gt":
		k.DropBound("minimum", bound, -1)
		k.Raise("exclusiveMinimum", bound)
	case "lt":
		k.DropBound("maximum", bound, 1)
		k.Lower("exclusiveMaximum", bound)
	case "len":
		k.Narrow("const", bound, bound)
	}
	return true
}

func (r Rule) expressEqual(what Kind, k *schema.Keywords) bool {
	var value []byte
	switch what {
	case TextKind:
		value = jsontext.Quote(nil, r.Param)
	case IntKind, UintKind, FloatKind:
		number, ok := r.number(what)
		if !ok {
			return false
		}
		value = number
	case BoolKind:
		b, err := strconv.ParseBool(r.Param)
		if err != nil {
			return false
		}
		value = strconv.AppendBool(nil, b)
	case ListKind, MapKind:
		if r.Name == "ne" {
			return false
		}
		r.Name = "len"
		return r.expressSize(what, k)
	default:
		return false
	}
	if r.Name == "eq" {
		k.Narrow("const", value, value)
	} else {
		k.Exclude("const", value)
	}
	return true
}

// params matches one word of a parameter list. A word in single quotes may contain spaces.
var params = regexp.MustCompile(`'[^']*'|\S+`)

func (r Rule) words() []string {
	words := params.FindAllString(r.Param, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "'", "")
	}
	return words
}

func (r Rule) expressEnum(what Kind, k *schema.Keywords) bool {
	words := report.UniqueTexts(r.words())
	if len(words) == 0 {
		return false
	}
	var values [][]byte
	for _, w := range words {
		if what == TextKind {
			values = append(values, jsontext.Quote(nil, w))
			continue
		}
		number := []byte(w)
		if what != IntKind && what != UintKind || jsontext.Check(number, jsontext.Limits{}) != nil || !jsontext.IsInteger(number) {
			return false
		}
		values = append(values, number)
	}
	if list := jsonedit.List(values); r.Name == "noneof" {
		k.Exclude("enum", list)
	} else {
		k.Narrow("enum", list, values...)
	}
	return true
}

// partPatterns are patterns for rules that demand a part of a text. %s is the part.
var partPatterns = map[string]string{
	"startswith": "^%s", "endswith": "%s$", "contains": "%s", "containsrune": "%s", "containsany": "[%s]",
}

// excludedPatterns are patterns for rules that exclude a part of a text.
var excludedPatterns = map[string]string{
	"startsnotwith": "^%s", "endsnotwith": "%s$", "excludes": "%s", "excludesrune": "%s", "excludesall": "[%s]",
}

// expressText maps the rules of texts.
func (r Rule) expressText(k *schema.Keywords) bool {
	part := ecmaQuote(r.Param)
	if form, ok := partPatterns[r.Name]; ok {
		k.Match(fmt.Sprintf(form, part))
		return true
	}
	if form, ok := excludedPatterns[r.Name]; ok {
		k.Exclude("pattern", jsontext.Quote(nil, fmt.Sprintf(form, part)))
		return true
	}
	switch r.Name {
	case "datetime":
		format, ok := layoutFormats[r.Param]
		if ok {
			k.SetText("format", format)
		}
		return ok
	case "ip":
		k.Set("anyOf", []byte(schema.IPFormats))
		return true
	case "boolean":
		k.Set("enum", jsonedit.List(jsonedit.QuoteAll([]string{"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"})))
		return true
	}
	if pattern, ok := schema.Patterns[r.Name]; ok {
		k.Match(pattern)
		return true
	}
	if format, ok := formats[r.Name]; ok {
		k.SetText("format", format)
		if note, ok := formatNotes[r.Name]; ok {
			k.Note(note)
		}
		return true
	}
	return false
}

// layoutFormats are the formats of layouts of package time.
var layoutFormats = map[string]string{time.DateOnly: "date", time.RFC3339: "date-time", time.RFC3339Nano: "date-time"}

// ecmaQuote escapes for an ECMAScript regular expression with the u flag,
// which refuses escapes of anything but syntax characters.
func ecmaQuote(s string) string {
	return strings.ReplaceAll(ecmaSyntax.ReplaceAllString(s, `\$0`), "-", `\x2d`)
}

var ecmaSyntax = regexp.MustCompile(`[\^$\\.*+?()\[\]{}|/]`)

// sentence returns the rule in words.
func (r Rule) sentence(v Value, owner reflect.Type) string {
	if r.check != nil {
		return r.check.sentence()
	}
	if text, ok := relation(r, owner); ok {
		return text
	}
	if text, ok := sentences[r.commonName()]; ok {
		return text
	}
	what := v.Kind
	if v.Quoted != Opaque {
		what = v.Quoted
	}
	bound, words := strings.TrimSpace(r.Param), r.words()
	if what == DurationKind {
		bound = durationText(bound)
		for i, w := range words {
			words[i] = durationText(w)
		}
	}
	switch {
	case what == TimeKind && bound == "":
		if text, ok := timeSentences[r.Name]; ok {
			return text
		}
	case isEmptyWord(r, v):
		return "Not empty."
	case r.Name == "datetime":
		return "Written like " + LayoutExample(r.Param) + "."
	}
	if v.Bytes && r.isSize() {
		return boundSentences[r.Name] + " " + bound + " bytes."
	}
	if text, ok := boundSentences[r.Name]; ok && what != Opaque && what != TimeKind {
		return text + " " + bound + "."
	}
	if text, ok := listSentences[r.Name]; ok {
		return text + " " + strings.Join(words, ", ") + "."
	}
	switch {
	case r.Name == "unique" && r.Param != "":
		return "No two items have the same " + wireName(v.elemType(), r.Param) + "."
	case r.Name == "unique":
		return "All items differ."
	}
	return "Must satisfy " + r.String() + "."
}

// isEmptyWord reports whether the rule is min=1 on a string that a method of its type reads.
func isEmptyWord(r Rule, v Value) bool {
	return v.Kind == Opaque && r.Name == "min" && r.Param == "1" && v.T.Kind() == reflect.String
}

// durationText returns a number of nanoseconds as a duration, and any other text as it is.
func durationText(text string) string {
	if nanoseconds, err := strconv.ParseInt(text, 0, 64); err == nil {
		return gotype.DurationText(time.Duration(nanoseconds))
	}
	return text
}

// elemType returns the struct type of the elements behind pointers. It returns nil if v has no elements.
func (v Value) elemType() reflect.Type {
	if v.Elem == nil {
		return nil
	}
	return v.Elem().T
}

// LayoutExample returns a time in a layout of package time.
func LayoutExample(layout string) string {
	return time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC).Format(layout)
}

// relation describes a rule between members, with the names of the members on the wire. It returns false for
// other rules.
func relation(r Rule, owner reflect.Type) (string, bool) {
	other := wireName(owner, r.Param)
	if text, ok := fieldSentences[r.Name]; ok {
		return text + " " + other + ".", true
	}
	text, ok := PresenceSentences[r.Name]
	if !ok {
		return "", false
	}
	words := r.words()
	if strings.HasSuffix(r.Name, "_if") || strings.HasSuffix(r.Name, "_unless") {
		var pairs []string
		for i := 0; i+1 < len(words); i += 2 {
			pairs = append(pairs, wireName(owner, words[i])+" is "+words[i+1])
		}
		joint := " and "
		if r.Name == "required_unless" || r.Name == "excluded_unless" { // one pair is enough
			joint = " or "
		}
		return text + " " + strings.Join(pairs, joint) + ".", true
	}
	for i, w := range words {
		words[i] = wireName(owner, w)
	}
	joint, verb := " or ", " is "
	if strings.HasSuffix(r.Name, "_all") && len(words) > 1 {
		joint, verb = " and ", " are "
	}
	state := "given."
	if strings.Contains(r.Name, "without") {
		state = "missing."
	}
	return text + " " + strings.Join(words, joint) + verb + state, true
}

// wireName returns a path of Go fields as the caller writes it: with the names of the members, and without
// embedded structs.
func wireName(t reflect.Type, path string) string {
	var names []string
	for step := range strings.SplitSeq(path, ".") {
		name, index, indexed := strings.Cut(step, "[")
		var sf reflect.StructField
		if t = gotype.Deref(t); t != nil && t.Kind() == reflect.Struct {
			sf, _ = t.FieldByName(name)
		}
		t = sf.Type
		if wire := taggedName(sf); wire != "" {
			name = wire
		} else if sf.Anonymous && gotype.Deref(t).Kind() == reflect.Struct {
			continue
		}
		if indexed {
			name += "[" + index
			t = elementType(t)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return path
	}
	return strings.Join(names, ".")
}

// taggedName returns the name that the tags of a field give it, or "".
func taggedName(sf reflect.StructField) string {
	for _, key := range []string{"json", "uri"} {
		if name, _, _ := strings.Cut(sf.Tag.Get(key), ","); name != "" && name != "-" {
			return name
		}
	}
	return ""
}

// elementType returns the type of the elements of a list or map, and nil for other types.
func elementType(t reflect.Type) reflect.Type {
	switch t = gotype.Deref(t); {
	case t == nil:
		return nil
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		return t.Elem()
	}
	return nil
}
