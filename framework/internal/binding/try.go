package binding

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of the corrected call.
const (
	maxTryInput = 4 << 10
	maxTry      = 1 << 10
	maxRounds   = 3
)

// suggestion is correct for callers to whom a fault of ours must not cost the answer: a panic is
// written to the standard error stream, and there is no suggestion. In the binary of a test it
// goes on, so that the test fails.
func (p *Plan) suggestion(ctx context.Context, raw []byte, e *Invalid) (try string) {
	if flag.Lookup("test.v") != nil {
		return p.correct(ctx, raw, e)
	}
	defer func() {
		if value := recover(); value != nil {
			_, _ = fmt.Fprintf(os.Stderr, "kagami: correcting a call of %s: panic: %v\n%s", p.t, value, debug.Stack())
			try = ""
		}
	}()
	return p.correct(ctx, raw, e)
}

// correct builds a valid call from the caller's own: valid values stay, wrong ones are
// corrected, missing ones get an example. The result is decoded before it is shown; "" if none
// is found.
func (p *Plan) correct(ctx context.Context, raw []byte, e *Invalid) string {
	if len(raw) > maxTryInput || p.showsSecret(raw) || strangers(e.found) > maxGuesses {
		return ""
	}
	found := e.found
	for round := range maxRounds {
		if len(found) == 0 {
			return ""
		}
		next, changed := p.mendAll(raw, found, round)
		if !changed || jsontext.Check(next, jsontext.DefaultLimits()) != nil || len(next) > maxTry {
			return ""
		}
		raw = next
		d := &decoder{plan: p}
		if err := p.pass(ctx, d, raw, reflect.New(p.t).Elem()); err == nil {
			return string(jsontext.Compact(nil, raw))
		}
		found = d.found
	}
	return ""
}

// strangers counts the members that do not exist.
func strangers(found []finding) (n int) {
	for _, f := range found {
		if f.Rule == ruleUnknown {
			n++
		}
	}
	return n
}

// showsSecret reports whether the caller sent a secret: it must not be written
// back into texts that are logged.
func (p *Plan) showsSecret(raw []byte) bool {
	return holdsSecret(p.root, raw)
}

// mendAll corrects every finding in the text, the deepest last, so that paths stay valid. Only
// the last items are removed from a list. A map's key is renamed after its value was corrected,
// for the same reason.
func (p *Plan) mendAll(raw []byte, found []finding, round int) ([]byte, bool) {
	changed := false
	for _, keys := range []bool{false, true} {
		for _, f := range found {
			if (f.key != nil) != keys {
				continue
			}
			next, ok := p.mendOne(raw, f, round)
			if ok && !bytes.Equal(next, raw) {
				raw, changed = next, true
			}
		}
	}
	return raw, changed
}

func (p *Plan) mendOne(raw []byte, f finding, round int) ([]byte, bool) {
	parent, name := splitPointer(f.Path)
	switch {
	case f.Path == "":
		return p.example(p.root, nil, 0), true
	case f.Rule == ruleUnknown:
		return p.mendUnknown(raw, parent, name, f)
	case f.Rule == ruleDuplicate:
		return edit(raw, parent, func(object []byte) []byte { return dropRepeated(object, name) })
	}
	value, given := valueAt(raw, f.Path)
	if !given && !f.missing {
		return raw, false // the value was removed or renamed before
	}
	if f.key != nil {
		return p.mendKey(raw, parent, name, f)
	}
	if between, ok := p.mendBetween(raw, parent, name, f, round); ok {
		return between, true
	}
	if given && f.missing && jsontext.KindOf(value) != jsontext.KindNull {
		return raw, false // a misspelt member was renamed to it
	}
	better := p.better(f, value, given, round)
	if better == nil {
		if f.f == nil || f.f.required || round == 0 {
			return raw, false
		}
		return edit(raw, parent, func(object []byte) []byte { return withoutMember(object, name) })
	}
	if !given {
		return edit(raw, parent, func(object []byte) []byte { return withMember(object, name, better) })
	}
	return edit(raw, f.Path, func([]byte) []byte { return better })
}

// mendUnknown renames a misspelt member if its value fits there, else removes it.
func (p *Plan) mendUnknown(raw []byte, parent, name string, f finding) ([]byte, bool) {
	owner, ok := f.n.(*structNode)
	if !ok {
		return raw, false
	}
	return edit(raw, parent, func(object []byte) []byte {
		value, _ := jsontext.Member(object, name)
		rest := withoutMember(object, name)
		var free []string
		for _, member := range owner.fields {
			if _, given := jsontext.Member(object, member.name); !given {
				free = append(free, member.name)
			}
		}
		meant := nearestName(name, free)
		if meant == "" {
			return rest
		}
		target := owner.fields[owner.byName[meant]]
		if !p.fits(target.node, target.c, value) {
			value = p.near(finding{n: target.node, c: target.c}, p.printer.words(target.node, target.c), value)
		}
		if value == nil {
			return rest
		}
		return withMember(rest, meant, value)
	})
}

// better is a value for a member that is wrong or missing: the nearest one
// first, an example in later rounds, nil if nothing is known.
func (p *Plan) better(f finding, value []byte, given bool, round int) []byte {
	k := p.printer.words(f.n, f.c)
	if given && round == 0 {
		if near := p.near(f, k, value); near != nil {
			return near
		}
	}
	if round < 2 && f.f != nil && f.f.def != nil && bare(f.f.node) == bare(f.n) {
		return f.f.def
	}
	if given && f.f != nil && !f.f.required && round > 0 {
		return nil
	}
	return p.example(f.n, f.c, 0)
}

// near corrects a value in place: what a string contains, a list of the one
// item that was sent, the text of a number, the nearest bound, the nearest name.
func (p *Plan) near(f finding, k keywords, value []byte) []byte {
	if kindOf(f.n) != textKind {
		if inner, ok := unquoted(value, jsontext.KindArray, jsontext.KindObject); ok && sameShape(k, inner) {
			return inner // faults inside are corrected in the next round
		}
		if inner, ok := unquoted(value, jsontext.KindNumber, jsontext.KindBool); ok && p.fits(f.n, f.c, inner) {
			return inner
		}
	}
	if raw, ok := k.get("enum"); ok {
		if named := nearEnum(raw, value); named != nil && p.fits(f.n, f.c, named) {
			return named
		}
		return nil
	}
	switch jsontext.KindOf(value) {
	case jsontext.KindNull:
		return nil
	case jsontext.KindNumber:
		if kindOf(f.n).isNumber() {
			return clamp(k, value)
		}
	case jsontext.KindArray:
		if shorter := cut(k, value); shorter != nil {
			return shorter
		}
	}
	for _, candidate := range rewrapped(value) {
		if p.fits(f.n, f.c, candidate) {
			return candidate
		}
	}
	return nil
}

// cut removes the last items of a list that has too many. Faults of the others are corrected
// separately.
func cut(k keywords, value []byte) []byte {
	most, _ := jsontext.Int64(mustGet(k, "maxItems"))
	if !k.has("maxItems") || most < 1 || jsontext.Len(value) <= int(most) {
		return nil
	}
	return list(slices.Collect(jsontext.Elements(value))[:most])
}

// rewrapped are variants of a value: the only item of a list, a list with the value, and a text
// of what is not a text.
func rewrapped(value []byte) [][]byte {
	switch jsontext.KindOf(value) {
	case jsontext.KindArray:
		if jsontext.Len(value) != 1 {
			return nil
		}
		return slices.Collect(jsontext.Elements(value))
	case jsontext.KindString:
		return [][]byte{list([][]byte{value})}
	}
	return [][]byte{list([][]byte{value}), jsontext.QuoteBytes(nil, value)}
}

// sameShape reports whether a container is the kind of container wanted.
func sameShape(k keywords, value []byte) bool {
	wanted := k.text("type")
	return wanted == "array" && jsontext.KindOf(value) == jsontext.KindArray ||
		wanted == "object" && jsontext.KindOf(value) == jsontext.KindObject
}

// fits reports whether raw is readable as n and passes the rules that look at
// it alone.
func (p *Plan) fits(n node, c *constraints, raw []byte) bool {
	d := &decoder{plan: p}
	d.enter("value")
	v := reflect.New(n.goType()).Elem()
	d.read(n, raw, v, c)
	if d.total > 0 {
		return false
	}
	if p.rules == nil || c == nil || c.relates() {
		return true
	}
	return p.holds(v, c.tag(n.goType(), false))
}

func nearEnum(enum, value []byte) []byte {
	sent := textOf(value)
	var names []string
	byName := map[string][]byte{}
	for item := range jsontext.Elements(enum) {
		name := textOf(item)
		names = append(names, name)
		byName[name] = item
	}
	return byName[closeName(sent, names)]
}

// clamp moves a number to the nearest bound, unless that is only the limit of int64 and the
// like, which nobody means.
func clamp(k keywords, value []byte) []byte {
	if low, ok := bound(k, "minimum"); ok && compareNumbers(value, []byte(low)) < 0 {
		return []byte(low)
	}
	if high, ok := bound(k, "maximum"); ok && compareNumbers(value, []byte(high)) > 0 {
		return []byte(high)
	}
	whole := k.text("type") == "integer"
	if low, ok := k.get("exclusiveMinimum"); ok && whole && compareNumbers(value, low) <= 0 {
		return addOne(low, 1)
	}
	if high, ok := k.get("exclusiveMaximum"); ok && whole && compareNumbers(value, high) >= 0 {
		return addOne(high, -1)
	}
	return nil
}

func addOne(number []byte, by int64) []byte {
	i, ok := bigOf(number)
	if !ok {
		return nil
	}
	return i.Add(i, big.NewInt(by)).Append(nil, 10)
}

// example is a value that n accepts, as small as can be.
func (p *Plan) example(n node, c *constraints, depth int) []byte {
	if depth > 8 {
		return []byte("null")
	}
	n = bare(n)
	switch inner := n.(type) {
	case *structNode:
		return p.exampleObject(inner, depth)
	case *sliceNode:
		return p.exampleList(inner.elem, c, p.printer.words(n, c), depth)
	case *arrayNode:
		return p.exampleList(inner.elem, c, p.printer.words(n, c), depth)
	case *mapNode:
		return p.exampleMap(inner, c, depth)
	case *unionNode:
		first := inner.variants[0]
		return first.tagged(p.exampleObject(first.elem, depth))
	case *methodNode:
		if inner.shown() == byShape {
			return p.example(inner.base, c, depth)
		}
	case *anyNode, *rawNode:
		return emptyObject
	}
	for _, candidate := range slices.Concat(typeExamples(n), ruleExamples(c), scalarExamples(p.printer.words(n, c))) {
		if p.fits(n, c, candidate) {
			return candidate
		}
	}
	return []byte("null")
}

func (p *Plan) exampleObject(n *structNode, depth int) []byte {
	out := []byte("{}")
	for _, f := range n.fields {
		if f.required {
			out = withMember(out, f.name, p.example(f.node, f.c, depth+1))
		}
	}
	return out
}

func (p *Plan) exampleList(elem node, c *constraints, k keywords, depth int) []byte {
	least := int64(0)
	if raw, ok := k.get("minItems"); ok {
		least, _ = jsontext.Int64(raw)
	}
	var items [][]byte
	for range min(least, 64) {
		items = append(items, p.example(elem, c.element(), depth+1))
	}
	return list(items)
}

var formatExamples = map[string]string{
	"email": "name@example.com", "uri": "https://example.com/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "example.com", "date": "2026-01-31", "date-time": "2026-01-31T15:04:05Z",
}

// textExamples are tried against a pattern in turn.
var textExamples = []string{
	"text", "10", "1.2.3", "#ff8800", "+4930123456", "192.0.2.1", "ABC", "5m", "true", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	"123e4567-e89b-42d3-a456-426614174000", "DE", "2026-01-31", "d41d8cd98f00b204e9800998ecf8427e",
}

// scalarExamples are guesses from a schema, the best first.
func scalarExamples(k keywords) [][]byte {
	if raw, ok := k.get("enum"); ok {
		return slices.Collect(jsontext.Elements(raw))
	}
	if raw, ok := k.get("const"); ok {
		return [][]byte{raw}
	}
	if options := mustGet(k, "anyOf"); options != nil && string(options) != ipFormats {
		return optionExamples(k, options)
	}
	switch k.text("type") {
	case "boolean":
		return [][]byte{[]byte("true"), []byte("false")}
	case "integer", "number":
		one := []byte("1")
		if moved := clamp(k, one); moved != nil {
			one = moved
		}
		return [][]byte{one, []byte("1")}
	case "string":
		return quoteAll(stringExamples(k))
	}
	return [][]byte{[]byte("1"), []byte(`"text"`), []byte("true"), emptyObject, []byte("[]")}
}

// optionExamples are guesses from the alternatives of a value.
func optionExamples(k keywords, options []byte) [][]byte {
	var out [][]byte
	for option := range jsontext.Elements(options) {
		inner := parseKeywords(option)
		inner.set("type", mustGet(k, "type"))
		out = append(out, scalarExamples(inner)...)
	}
	return out
}

func stringExamples(k keywords) []string {
	if text, ok := formatExamples[k.text("format")]; ok {
		return append([]string{text}, composed(k)...)
	}
	if k.text("contentEncoding") == "base64" {
		return []string{"dGV4dA=="}
	}
	out := slices.Clone(textExamples)
	for i, text := range out {
		out[i] = fitLength(text, k)
	}
	if pattern := k.text("pattern"); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil {
			out = slices.DeleteFunc(out, func(text string) bool { return !re.MatchString(text) })
		}
	}
	return append(out, composed(k)...)
}

func fitLength(text string, k keywords) string {
	if raw, ok := k.get("minLength"); ok {
		if n, _ := jsontext.Int64(raw); int(n) > len(text) && n <= 256 {
			text += strings.Repeat(text[len(text)-1:], int(n)-len(text))
		}
	}
	if raw, ok := k.get("maxLength"); ok {
		if n, _ := jsontext.Int64(raw); int(n) < len(text) {
			text = text[:n]
		}
	}
	return text
}
