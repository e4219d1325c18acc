package repair

import (
	"encoding/base64"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// near returns the right value that a wrong value stands for, or nil. A container of the right kind may have
// faults inside, with findings of their own.
func (p guesser) near(n plan.Node, c *rules.Constraints, value []byte) []byte {
	k := p.Words(n, c)
	if near := p.itemsOf(n, c, value); near != nil {
		return near
	}
	if plan.KindOf(n) == rules.MapKind && jsontext.KindOf(value) == jsontext.KindArray {
		return pairs(value)
	}
	if only, ok := onlyPart(value); ok && !namesOpposite(value) && !schema.SameShape(k, value) {
		if p.Fits(n, c, only) || schema.SameShape(k, only) {
			return only
		}
		if near := p.nearer(n, c, only); near != nil {
			return near
		}
	}
	return p.nearer(n, c, value)
}

// itemsOf returns a list for n if the caller sent an object instead: the values of the object, if its keys are
// 0, 1 and so on, or the object itself, if it is an item. Faults inside have findings of their own. Otherwise
// itemsOf returns nil.
func (p guesser) itemsOf(n plan.Node, c *rules.Constraints, object []byte) []byte {
	if plan.KindOf(n) != rules.ListKind || jsontext.KindOf(object) != jsontext.KindObject {
		return nil
	}
	if items := indexed(object); items != nil {
		return jsonedit.List(items)
	}
	one := jsonedit.List([][]byte{object})
	switch elem := plan.Bare(plan.ElementOf(n)).(type) {
	case *plan.StructNode:
		for key := range jsontext.Members(object) {
			if _, known := elem.ByName[key.String()]; known {
				return one
			}
		}
		return nil
	case *plan.AnyNode, *plan.RawNode:
		if only, ok := onlyPart(object); ok && jsontext.KindOf(only) == jsontext.KindArray {
			return nil // {"items":[…]}
		}
		return one
	}
	if p.Fits(n, c, one) {
		return one
	}
	return nil
}

// pairs returns an object for a list of objects that have a key and a value each, or nil.
func pairs(list []byte) []byte {
	out := jsonedit.EmptyObject
	for item := range jsontext.Elements(list) {
		var name string
		var value []byte
		for key, member := range jsontext.Members(item) {
			switch {
			case key.Is("value"):
				value = member
			case key.Is("key"), key.Is("name"):
				name, _ = jsontext.String(member)
			}
		}
		if _, taken := jsontext.Member(out, name); name == "" || value == nil || taken || jsontext.Len(item) != 2 {
			return nil
		}
		out = jsonedit.WithMember(out, name, value)
	}
	return out
}

// onlyPart returns the only item of a list, or the only member of an object.
func onlyPart(value []byte) (part []byte, ok bool) {
	if jsontext.Len(value) != 1 {
		return nil, false
	}
	for item := range jsontext.Elements(value) {
		return item, true
	}
	for _, member := range jsontext.Members(value) {
		return member, true
	}
	return nil, false
}

// namesOpposite reports whether the first member of an object names what is not wanted, as in
// {"not":"active"}.
func namesOpposite(value []byte) bool {
	for key := range jsontext.Members(value) {
		return negated(key.String())
	}
	return false
}

// nearer is near for a value as a whole, without a look at its parts.
func (p guesser) nearer(n plan.Node, c *rules.Constraints, value []byte) []byte {
	if jsontext.KindOf(value) == jsontext.KindNull {
		return nil
	}
	k := p.Words(n, c)
	if plan.KindOf(n) != rules.TextKind {
		if inner, ok := jsonedit.Unquoted(value, jsontext.KindArray, jsontext.KindObject); ok && schema.SameShape(k, inner) {
			if one := jsonedit.List([][]byte{inner}); !p.Fits(n, c, inner) && p.Fits(n, c, one) {
				return one // "[1,2]" for a list of lists
			}
			return inner
		}
	}
	if plan.KindOf(n) == rules.ListKind {
		return p.nearList(n, c, k, value)
	}
	for _, candidate := range candidates(n, c, k, value) {
		if candidate != nil && p.Fits(n, c, candidate) {
			return candidate
		}
	}
	return nil
}

// candidates returns values that a wrong value may stand for, the most likely first. Some of them may be nil.
func candidates(n plan.Node, c *rules.Constraints, k schema.Keywords, value []byte) (out [][]byte) {
	text, isText := jsontext.String(value)
	if enum, ok := k.Get("enum"); ok {
		out = append(out, nearEnum(enum, value))
	}
	if inner, ok := jsonedit.Unquoted(value, jsontext.KindNumber, jsontext.KindBool); ok {
		out = append(out, inner)
	}
	what, numeric := plan.KindOf(n), k.Text("type") == "integer" || k.Text("type") == "number"
	switch {
	case what == rules.TimeKind || what == rules.TextKind && wantsTime(c, k):
		out = append(out, everydayTime(c, k, value))
	case what == rules.DurationKind:
		out = append(out, everydayDuration(text))
	case what == rules.BoolKind && isText:
		out = append(out, boolWords[strings.ToLower(strings.TrimSpace(text))])
	case numeric:
		out = append(out, numbersLike(k, text, value)...)
	}
	if isText {
		return append(out, nearTexts(k, text)...)
	}
	if !jsonedit.IsContainer(value) {
		out = append(out, jsontext.QuoteBytes(nil, value))
	}
	return out
}

// numbersLike returns the number in a value, and the numbers nearest to it. For a percentage it returns only
// the number itself.
func numbersLike(k schema.Keywords, text string, value []byte) [][]byte {
	number := numberIn(value)
	if strings.Contains(text, "%") {
		return [][]byte{number}
	}
	return [][]byte{number, rounded(number), schema.Clamp(k, number)}
}

var boolWords = map[string][]byte{
	"true": []byte("true"), "false": []byte("false"),
	"yes": []byte("true"), "y": []byte("true"), "on": []byte("true"), "1": []byte("true"), "enabled": []byte("true"), "t": []byte("true"),
	"no": []byte("false"), "n": []byte("false"), "off": []byte("false"), "0": []byte("false"), "disabled": []byte("false"), "f": []byte("false"),
}

// aNumber is a number as people write it, with commas between the thousands.
var aNumber = lazily(`[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?`)

// negative is a sign before a number that aNumber does not match. multiplied is a text after a
// number that makes it another number: a letter, a word such as a word for thousands, or
// hexadecimal digits.
var (
	negative   = lazily(`(?i)(?:\b(?:minus|negative)|[-\x{2212}\x{2013}])[^\p{L}\p{N}]*$`)
	multiplied = lazily(`(?i)^(?:[kmbgt]([^a-z]|$)|x[0-9a-f]| *(?:dozen|hundred|thousand|million|billion|trillion)s?\b)`)
)

// numberIn returns the only number in a text, or the value if it is a number.
func numberIn(value []byte) []byte {
	text, isText := jsontext.String(value)
	switch {
	case jsontext.KindOf(value) == jsontext.KindNumber:
		return value
	case !isText || len(text) > spelling.MaxGuess:
		return nil
	}
	found := aNumber().FindAllStringIndex(text, 2)
	if len(found) != 1 {
		return nil
	}
	from, to := found[0][0], found[0][1]
	if before := text[:from]; negative().MatchString(before) || strings.HasSuffix(before, ".") || multiplied().MatchString(text[to:]) {
		return nil // minus 5, .5, 10k: without what is around it, it is another number
	}
	if last, _ := utf8.DecodeLastRuneInString(text[:from]); unicode.IsLetter(last) && (text[from] == '-' || text[from] == '+') {
		from++ // the hyphen of room-5
	}
	number := []byte(strings.TrimPrefix(strings.ReplaceAll(text[from:to], ",", ""), "+"))
	if jsontext.Check(number, jsontext.DefaultLimits()) != nil { // 007
		return nil
	}
	return number
}

// rounded returns the nearest whole number, if the number has few digits.
func rounded(number []byte) []byte {
	if number == nil || len(number) > 32 || slices.ContainsFunc(number, func(b byte) bool { return b == 'e' || b == 'E' }) {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(number))
	if !ok {
		return nil
	}
	return []byte(r.FloatString(0))
}

// nearTexts returns other spellings of a text.
func nearTexts(k schema.Keywords, text string) [][]byte {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil
	}
	if bytes, err := plan.OtherBase64([]byte(trimmed)); err == nil && k.Text("contentEncoding") == "base64" {
		return jsonedit.QuoteAll([]string{base64.StdEncoding.EncodeToString(bytes)})
	}
	out := []string{trimmed, strings.ToLower(trimmed), strings.ToUpper(trimmed)}
	if !aFraction().MatchString(trimmed) {
		out = append(out, plainly.Replace(trimmed))
	}
	if _, inside, ok := strings.Cut(trimmed, "<"); ok { // a name with an address
		out = append(out, strings.TrimSuffix(inside, ">"))
	}
	if host, port, ok := strings.Cut(trimmed, ":"); ok && k.Text("format") == "hostname" && strings.Trim(port, "0123456789") == "" {
		out = append(out, host)
	}
	if scheme, rest, ok := strings.Cut(trimmed, ":"); ok && len(scheme) < 10 {
		out = append(out, strings.TrimLeft(rest, "/"))
	}
	if k.Text("format") == "uri" {
		_, rest, schemed := strings.Cut(trimmed, "://")
		if !schemed {
			rest = trimmed
		}
		out = append(out, "https://"+rest)
	}
	begin, _, end := parts(k)
	if begin+end != "" {
		out = append(out, begin+trimmed, trimmed+end, begin+trimmed+end)
	}
	if most, _ := k.Int("maxLength"); most > 0 && utf8.RuneCountInString(trimmed) > most {
		out = append(out, strings.TrimSpace(string([]rune(trimmed)[:most])))
	}
	return jsonedit.QuoteAll(slices.DeleteFunc(out, func(other string) bool { return other == text }))
}

// aFraction is a number, a fraction or a range. Without its signs, it would be another number.
var aFraction = lazily(`^-|^[-+0-9 ./]{1,8}$|^\+?[0-9]+[./][0-9]+$`)

// plainly leaves out what people put between the parts of a number or a code.
var plainly = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", ".", "", "/", "")

// nearList corrects a list: another value becomes an item, and a text with commas becomes several. It removes
// repeated items if they must differ, and items beyond the limit.
func (p guesser) nearList(n plan.Node, c *rules.Constraints, k schema.Keywords, value []byte) []byte {
	elem := plan.ElementOf(n)
	if elem == nil { // the value may be one of several lists
		return nil
	}
	if jsontext.KindOf(value) != jsontext.KindArray {
		return p.listed(n, elem, c, value)
	}
	if one := jsonedit.List([][]byte{value}); p.Fits(n, c, one) {
		return one
	}
	items := slices.Collect(jsontext.Elements(value))
	if k.Has("uniqueItems") {
		seen := map[string]bool{}
		items = slices.DeleteFunc(items, func(item []byte) bool {
			text := string(jsontext.Compact(nil, item))
			known := seen[text]
			seen[text] = true
			return known
		})
	}
	if most, ok := k.Int("maxItems"); ok && len(items) > most {
		items = items[:most]
	}
	if len(items) == jsontext.Len(value) {
		return nil
	}
	return jsonedit.List(items)
}

// listed returns value as a list.
func (p guesser) listed(n, elem plan.Node, c *rules.Constraints, value []byte) []byte {
	if one := jsonedit.List([][]byte{value}); p.Fits(n, c, one) {
		return one
	}
	text, isText := jsontext.String(value)
	parts := []string{text}
	if isText && len(text) <= spelling.MaxGuess {
		parts = strings.Split(text, ",")
	}
	var items [][]byte
	for _, part := range parts {
		item := value
		if isText {
			item = jsontext.Quote(nil, strings.TrimSpace(part))
		}
		if !p.Fits(elem, c.Element(), item) && plan.KindOf(elem) != rules.ListKind { // lists in lists would not end
			item = p.nearer(elem, c.Element(), item)
		}
		if item == nil {
			return nil
		}
		items = append(items, item)
	}
	several := jsonedit.List(items)
	if p.Fits(n, c, several) || len(items) < least(p.Words(n, c), "minItems") { // filled adds what is missing
		return several
	}
	return nil
}

// indexed returns the values of an object with the keys 0, 1 and so on, as PHP writes a list, or nil.
func indexed(object []byte) (items [][]byte) {
	for key, item := range jsontext.Members(object) {
		if !key.Is(strconv.Itoa(len(items))) {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// filled adds examples to a list or a map that is too short, and returns the pointers of the examples. If the
// list or map is long enough, it returns nil.
func (a *attempt) filled(f plan.Finding, value []byte) (more []byte, added []string) {
	k := a.plan.Words(f.Node, f.Rules)
	switch n := plan.Bare(f.Node).(type) {
	case *plan.ListNode:
		least := min(least(k, "minItems"), 64)
		items := slices.Collect(jsontext.Elements(value))
		if jsontext.KindOf(value) != jsontext.KindArray || len(items) >= least {
			return nil, nil
		}
		for len(items) < least {
			added = append(added, jsontext.PointerIndex(f.Path, len(items)))
			items = append(items, a.plan.example(n.Elem, f.Rules.Element(), 1))
		}
		return jsonedit.List(items), added
	case *plan.MapNode:
		least := least(k, "minProperties")
		if jsontext.KindOf(value) != jsontext.KindObject || jsontext.Len(value) >= least {
			return nil, nil
		}
		more = value
		for key, example := range jsontext.Members(a.plan.exampleMembers(n, f.Rules, least, 0)) {
			if _, taken := jsontext.Member(more, key.String()); !taken && jsontext.Len(more) < least {
				more = jsonedit.WithMember(more, key.String(), example)
				added = append(added, jsontext.Pointer(f.Path, key.String()))
			}
		}
		return more, added
	}
	return nil, nil
}

// nearEnum returns the value of an enum that is spelled like value, or that is the only one with a name among
// the words of value.
func nearEnum(enum, value []byte) []byte {
	sent := jsonedit.TextOf(value)
	var names []string
	byName := map[string][]byte{}
	for item := range jsontext.Elements(enum) {
		name := jsonedit.TextOf(item)
		names = append(names, name)
		byName[name] = item
	}
	said := saidNames(sent, names)
	best := spelling.Close(sent, names)
	switch {
	case len(said) > 1 && (best == "" || slices.Contains(said, best)): // value names several
		return nil
	case best == "" && len(said) == 1:
		best = said[0]
	}
	if best == "" || negated(sent) && !negated(best) {
		return nil
	}
	return byName[best]
}

// saidNames returns the names that are words of a text.
func saidNames(text string, names []string) (said []string) {
	for _, word := range spelling.WordsOf(jsontext.Clip(text, spelling.MaxGuess)) {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, word) })
		if i >= 0 && !slices.Contains(said, names[i]) {
			said = append(said, names[i])
		}
	}
	return said
}

// negated reports whether a text names what is not wanted.
func negated(text string) bool {
	return strings.HasPrefix(text, "!") || strings.Contains(text, "!=") || slices.ContainsFunc(spelling.WordsOf(jsontext.Clip(text, spelling.MaxGuess)), func(word string) bool {
		return slices.Contains([]string{"not", "no", "non", "never", "except", "without", "exclude", "excludes", "excluding", "excluded", "ne", "neq", "nin"}, word)
	})
}

// lazily compiles a regular expression when it is first used. Only wrong calls need most of them, so programs
// start without them.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
