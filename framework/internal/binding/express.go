package binding

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// express writes the rule as keywords into k and reports whether they say all
// that the rule demands. Agreement with validator is measured by the tests.
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
//	alpha, numeric, hexadecimal, uuid4, semver, … → pattern (see patterns.go)
//	email, url, uri, uuid, ip, ipv4, ipv6, hostname…, datetime → format
//	a|b → anyOf, if each part has keywords; anything else → a sentence
func (c *constraints) express(r rule, v ruleValue, k *keywords) bool {
	what := v.kind
	if len(r.alts) > 0 {
		return c.expressAny(r, v, k)
	}
	if r.check != nil {
		return r.check.express(k)
	}
	if r.isSize() {
		return r.expressSize(what, k)
	}
	switch r.name {
	case "eq", "ne":
		return r.expressEqual(what, k)
	case "oneof", "noneof":
		return r.expressEnum(what, k)
	case "unique":
		if what == listKind && r.param == "" {
			k.set("uniqueItems", []byte("true"))
			return v.comparableOnWire()
		}
		return false
	}
	if what != textKind {
		// Numbers are numeric; validator says so of their text form.
		return what.isNumber() && (r.name == "number" || r.name == "numeric")
	}
	return r.expressText(k)
}

// isSize reports whether the rule, or a part of it, measures a value.
func (r rule) isSize() bool {
	return slices.Contains(sizeRules, r.name) || slices.ContainsFunc(r.alts, rule.isSize)
}

var sizeRules = []string{"min", "gte", "max", "lte", "gt", "lt", "len"}

// comparableOnWire reports whether the elements of v are equal in Go, as validator compares them, exactly if
// their JSON is equal, as uniqueItems compares it.
func (v ruleValue) comparableOnWire() bool {
	if v.kind != listKind || v.elem == nil {
		return false
	}
	switch v.elem().kind {
	case textKind, intKind, uintKind, floatKind, boolKind:
		return true
	default:
		return false
	}
}

func (c *constraints) expressAny(r rule, v ruleValue, k *keywords) bool {
	var options [][]byte
	for _, alt := range r.alts {
		var one keywords
		if alt.structural() || !c.express(alt, v, &one) {
			return false
		}
		options = append(options, one.render())
	}
	if k.has("anyOf") {
		return false
	}
	k.set("anyOf", list(options))
	return true
}

// expressSize maps bounds. Parameters are read in any base, as validator does:
// min=010 is 8.
func (r rule) expressSize(what kind, k *keywords) bool {
	switch what {
	case textKind:
		return r.countBounds(k, "minLength", "maxLength")
	case listKind:
		return r.countBounds(k, "minItems", "maxItems")
	case mapKind:
		return r.countBounds(k, "minProperties", "maxProperties")
	case intKind, uintKind, floatKind:
		return r.numberBounds(what, k)
	default:
		return false
	}
}

func (r rule) countBounds(k *keywords, low, high string) bool {
	n64, err := strconv.ParseInt(r.param, 0, 64)
	n := int(n64)
	if err != nil || n64 < 0 || n64 > math.MaxInt32 {
		return false
	}
	switch r.name {
	case "min", "gte":
		k.atLeast(low, n)
	case "gt":
		k.atLeast(low, n+1)
	case "max", "lte":
		k.atMost(high, n)
	case "lt":
		if n == 0 {
			return false
		}
		k.atMost(high, n-1)
	case "len", "eq":
		k.atLeast(low, n)
		k.atMost(high, n)
	}
	return true
}

// atLeast and atMost keep the stricter of two bounds.
func (k *keywords) atLeast(name string, n int) {
	if raw, ok := k.get(name); ok {
		if old, _ := jsontext.Int64(raw); int64(n) < old {
			return
		}
	}
	k.setInt(name, n)
}

func (k *keywords) atMost(name string, n int) {
	if raw, ok := k.get(name); ok {
		if old, _ := jsontext.Int64(raw); int64(n) > old {
			return
		}
	}
	k.setInt(name, n)
}

// number reads a rule's parameter as validator does for the kind.
func (r rule) number(what kind) ([]byte, bool) {
	switch what {
	case intKind:
		i, err := strconv.ParseInt(r.param, 0, 64)
		return strconv.AppendInt(nil, i, 10), err == nil
	case uintKind:
		u, err := strconv.ParseUint(r.param, 0, 64)
		return strconv.AppendUint(nil, u, 10), err == nil
	default:
		f, err := strconv.ParseFloat(r.param, 64)
		return appendFloat(nil, f, 64), err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
}

func (r rule) numberBounds(what kind, k *keywords) bool {
	bound, ok := r.number(what)
	if !ok {
		return false
	}
	switch r.name {
	case "min", "gte":
		k.raise("minimum", bound)
	case "max", "lte":
		k.lower("maximum", bound)
	case "gt":
		k.dropBound("minimum", bound, -1)
		k.raise("exclusiveMinimum", bound)
	case "lt":
		k.dropBound("maximum", bound, 1)
		k.lower("exclusiveMaximum", bound)
	case "len":
		return r.pin(k, bound)
	}
	return true
}

// raise and lower keep the stricter of two bounds; the type's own is there first.
func (k *keywords) raise(name string, bound []byte) {
	if old, ok := k.get(name); !ok || compareNumbers(bound, old) > 0 {
		k.set(name, bound)
	}
}

func (k *keywords) lower(name string, bound []byte) {
	if old, ok := k.get(name); !ok || compareNumbers(bound, old) < 0 {
		k.set(name, bound)
	}
}

// dropBound removes an inclusive bound that an exclusive one makes idle.
func (k *keywords) dropBound(name string, exclusive []byte, sign int) {
	if old, ok := k.get(name); ok && compareNumbers(old, exclusive)*sign >= 0 {
		k.drop(name)
	}
}

// compareNumbers compares JSON numbers of sane size exactly.
func compareNumbers(a, b []byte) int {
	x, okx := decimal.Of(a)
	y, oky := decimal.Of(b)
	if !okx || !oky {
		return 0
	}
	return x.Compare(y)
}

// pin demands one value.
func (r rule) pin(k *keywords, value []byte) bool {
	k.narrow("const", value, value)
	return true
}

// narrow demands one of some values by the keyword name. Bounds that all of them keep,
// as those of the type, are idle then.
func (k *keywords) narrow(name string, keyword []byte, values ...[]byte) {
	low, hasLow := k.get("minimum")
	if hasLow && !slices.ContainsFunc(values, func(v []byte) bool { return compareNumbers(v, low) < 0 }) {
		k.drop("minimum")
	}
	high, hasHigh := k.get("maximum")
	if hasHigh && !slices.ContainsFunc(values, func(v []byte) bool { return compareNumbers(v, high) > 0 }) {
		k.drop("maximum")
	}
	switch old, ok := k.get(name); {
	case !ok:
		k.set(name, keyword)
	case string(old) != string(keyword):
		k.also(keywords{{name, keyword}})
	}
}

func (r rule) expressEqual(what kind, k *keywords) bool {
	var value []byte
	switch what {
	case textKind:
		value = jsontext.Quote(nil, r.param)
	case intKind, uintKind, floatKind:
		number, ok := r.number(what)
		if !ok {
			return false
		}
		value = number
	case boolKind:
		b, err := strconv.ParseBool(r.param)
		if err != nil {
			return false
		}
		value = strconv.AppendBool(nil, b)
	case listKind, mapKind:
		if r.name == "ne" {
			return false
		}
		r.name = "len"
		return r.expressSize(what, k)
	default:
		return false
	}
	if r.name == "eq" {
		return r.pin(k, value)
	}
	return k.exclude(keywords{{"const", value}})
}

// exclude adds a not. A second one goes into allOf.
func (k *keywords) exclude(what keywords) bool {
	raw := what.render()
	if !k.has("not") {
		k.set("not", raw)
		return true
	}
	k.also(keywords{{"not", raw}})
	return true
}

// also demands one more schema.
func (k *keywords) also(what keywords) {
	raw := what.render()
	if old, ok := k.get("allOf"); ok {
		k.set("allOf", append(append(append([]byte(nil), old[:len(old)-1]...), ','), append(raw, ']')...))
		return
	}
	k.set("allOf", list([][]byte{raw}))
}

// params splits a list of words, of which 'in quotes' may have spaces.
var params = regexp.MustCompile(`'[^']*'|\S+`)

func (r rule) words() []string {
	words := params.FindAllString(r.param, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "'", "")
	}
	return words
}

func (r rule) expressEnum(what kind, k *keywords) bool {
	words := uniqueTexts(r.words())
	if len(words) == 0 {
		return false
	}
	var values [][]byte
	for _, w := range words {
		if what == textKind {
			values = append(values, jsontext.Quote(nil, w))
			continue
		}
		number := []byte(w)
		if what != intKind && what != uintKind || jsontext.Check(number, jsontext.Limits{}) != nil || !jsontext.IsInteger(number) {
			return false
		}
		values = append(values, number)
	}
	if r.name == "noneof" {
		return k.exclude(keywords{{"enum", list(values)}})
	}
	k.narrow("enum", list(values), values...)
	return true
}

// expressText maps the rules of texts.
func (r rule) expressText(k *keywords) bool {
	quote := ecmaQuote(r.param)
	switch r.name {
	case "startswith":
		return k.match("^" + quote)
	case "endswith":
		return k.match(quote + "$")
	case "contains":
		return k.match(quote)
	case "containsrune":
		return k.match(ecmaQuote(r.firstRune()))
	case "containsany":
		return k.match("[" + quote + "]")
	case "startsnotwith":
		return k.exclude(keywords{{"pattern", jsontext.Quote(nil, "^"+quote)}})
	case "endsnotwith":
		return k.exclude(keywords{{"pattern", jsontext.Quote(nil, quote+"$")}})
	case "excludes":
		return k.exclude(keywords{{"pattern", jsontext.Quote(nil, quote)}})
	case "excludesrune":
		return k.exclude(keywords{{"pattern", jsontext.Quote(nil, ecmaQuote(r.firstRune()))}})
	case "excludesall":
		return k.exclude(keywords{{"pattern", jsontext.Quote(nil, "["+quote+"]")}})
	case "datetime":
		return r.expressLayout(k)
	case "ip":
		k.set("anyOf", []byte(ipFormats))
		return true
	case "boolean":
		k.set("enum", list(quoteAll([]string{"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"})))
		return true
	}
	if pattern, ok := patterns[r.name]; ok {
		return k.match(pattern)
	}
	if format, ok := formats[r.name]; ok {
		k.setText("format", format)
		if note, ok := formatNotes[r.name]; ok {
			k.note(note)
		}
		return true
	}
	return false
}

// firstRune is all of the parameter that containsrune and excludesrune look at.
func (r rule) firstRune() string {
	_, size := utf8.DecodeRuneInString(r.param)
	return r.param[:size]
}

func (k *keywords) match(pattern string) bool {
	value := jsontext.Quote(nil, pattern)
	if k.has("pattern") {
		k.also(keywords{{"pattern", value}})
		return true
	}
	k.set("pattern", value)
	return true
}

// expressLayout maps the layouts that have a format.
func (r rule) expressLayout(k *keywords) bool {
	switch r.param {
	case time.DateOnly:
		k.setText("format", "date")
	case time.RFC3339, time.RFC3339Nano:
		k.setText("format", "date-time")
	default:
		return false
	}
	return true
}

// ecmaQuote escapes for an ECMAScript regular expression with the u flag,
// which refuses escapes of anything but syntax characters.
func ecmaQuote(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune(`^$\.*+?()[]{}|/`, r):
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '-':
			out.WriteString(`\x2d`)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// sentence says in words what no keyword says.
func (c *constraints) sentence(r rule, v ruleValue, owner reflect.Type) string {
	if r.check != nil {
		return r.check.sentence()
	}
	if text, ok := relation(r, owner); ok {
		return text
	}
	if text, ok := sentences[r.commonName()]; ok {
		return text
	}
	what := v.kind
	if v.quoted != opaque {
		what = v.quoted
	}
	bound := strings.TrimSpace(r.param)
	if nanoseconds, err := strconv.ParseInt(bound, 0, 64); err == nil && what == durationKind {
		bound = durationText(time.Duration(nanoseconds))
	}
	switch {
	case what == timeKind && bound == "":
		if text, ok := timeSentences[r.name]; ok {
			return text
		}
	case r.name == "datetime":
		return "Written like " + layoutExample(r.param) + "."
	}
	if v.bytes && r.isSize() {
		return boundSentences[r.name] + " " + bound + " bytes."
	}
	if text, ok := boundSentences[r.name]; ok && what != opaque && what != timeKind {
		return text + " " + bound + "."
	}
	switch r.name {
	case "unique":
		if r.param != "" {
			return "No two items have the same " + wireName(v.elemType(), r.param) + "."
		}
		return "All items differ."
	case "oneof":
		return "One of: " + strings.Join(r.words(), ", ") + "."
	case "oneofci":
		return "One of, in upper or lower case: " + strings.Join(r.words(), ", ") + "."
	case "noneofci":
		return "None of, in upper or lower case: " + strings.Join(r.words(), ", ") + "."
	}
	return "Must satisfy " + r.String() + "."
}

// elemType returns the struct type of the elements behind pointers. It returns nil if v has no elements.
func (v ruleValue) elemType() reflect.Type {
	if v.elem == nil {
		return nil
	}
	return v.elem().t
}

// layoutExample is a time in a layout of package time.
func layoutExample(layout string) string {
	return time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC).Format(layout)
}

// relation describes rules between members, by the members' names on the wire.
func relation(r rule, owner reflect.Type) (string, bool) {
	other := wireName(owner, r.param)
	if text, ok := fieldSentences[r.name]; ok {
		return text + " " + other + ".", true
	}
	text, ok := presenceSentences[r.name]
	if !ok {
		return "", false
	}
	words := r.words()
	if strings.HasSuffix(r.name, "_if") || strings.HasSuffix(r.name, "_unless") {
		var pairs []string
		for i := 0; i+1 < len(words); i += 2 {
			pairs = append(pairs, wireName(owner, words[i])+" is "+words[i+1])
		}
		return text + " " + strings.Join(pairs, " and ") + ".", true
	}
	for i, w := range words {
		words[i] = wireName(owner, w)
	}
	joint := " or "
	if strings.HasSuffix(r.name, "_all") {
		joint = " and "
	}
	plural := " is given."
	if strings.Contains(r.name, "without") {
		plural = " is missing."
	}
	return text + " " + strings.Join(words, joint) + plural, true
}

// wireName is the member name of a Go field.
func wireName(t reflect.Type, goName string) string {
	t = deref(t)
	if t == nil || t.Kind() != reflect.Struct {
		return goName
	}
	sf, ok := t.FieldByName(goName)
	if !ok {
		return goName
	}
	for _, key := range []string{"json", "uri"} {
		if name, _, _ := strings.Cut(sf.Tag.Get(key), ","); name != "" && name != "-" {
			return name
		}
	}
	return goName
}
