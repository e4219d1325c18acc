package binding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestGoalsOfTry corrects calls with one or two mistakes, of random types with names and rules as
// programs have them. Right values must stay. Values that were not in the call must be named as examples, or stand
// where the mistake was. Mistakes that can be undone must be undone.
func TestGoalsOfTry(t *testing.T) {
	t.Parallel()
	var c goalCount
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same calls in every run
	for range 400 {
		typ := drawArguments(r)
		p := mustCompile(t, typ, binding.Input, binding.Options{})
		for range 12 {
			good, ok := drawCall(t, r, p, typ)
			if !ok {
				continue
			}
			for _, m := range drawMistakes(r, good) {
				c.judge(t, p, typ, good, m)
			}
		}
	}
	c.check(t, 20000)
}

// TestGoalsOfTryForRandomTypes is like TestGoalsOfTry, for types that no program has.
func TestGoalsOfTryForRandomTypes(t *testing.T) {
	t.Parallel()
	var c goalCount
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same calls in every run
	types := rapid.Custom(func(t *rapid.T) reflect.Type { return drawer{t}.object(3) })
	for i := range 1500 {
		typ := types.Example(i)
		p, _ := binding.Compile(typ, binding.Input, binding.Options{})
		if p == nil {
			continue
		}
		schema := parsed(t, p.Schema())
		for j := range 8 {
			raw := rapid.Custom(func(t *rapid.T) string { return maker{t, nil, 1 << 30}.value(schema, 3) }).Example(i*100 + j)
			if report, err := p.Decode(t.Context(), []byte(raw), reflect.New(typ).Elem()); err != nil || len(report.Repaired) > 0 {
				continue
			}
			var good map[string]any
			decodeExactly(t, raw, &good)
			if len(good) == 0 {
				continue
			}
			for _, m := range drawMistakes(r, good) {
				if m.kind != "name" && m.kind != "two" { // of names of one letter
					c.judge(t, p, typ, good, m)
				}
			}
		}
	}
	c.check(t, 500)
}

// check compares the rates with the goals.
func (c *goalCount) check(t *testing.T, undoable int) {
	t.Helper()
	t.Logf("%d refused, %d suggestions; %.2f %% of right values kept, %.2f %% of the suggestions invent, %.1f %% of %d undone\n%s",
		c.refused, c.tried, c.keptRate(), c.inventedRate(), c.undoneRate(), c.undoable, c.worst())
	if c.undoable < undoable || c.keptRate() < 99.5 || c.inventedRate() > 0.5 || c.undoneRate() < 92 {
		t.Error("that is not good enough")
	}
}

// goalCount counts the results.
type goalCount struct {
	refused, tried, right, kept, invented, undoable, undone int
	missed                                                  map[string][]string // by kind of mistake
	made                                                    map[string]int
}

func (c *goalCount) keptRate() float64 { return 100 * float64(c.kept) / float64(max(c.right, 1)) }
func (c *goalCount) inventedRate() float64 {
	return 100 * float64(c.invented) / float64(max(c.tried, 1))
}

func (c *goalCount) undoneRate() float64 {
	return 100 * float64(c.undone) / float64(max(c.undoable, 1))
}

func (c *goalCount) worst() string {
	var out strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c.missed)) {
		fmt.Fprintf(&out, "%s: %d of %d missed, such as\n", kind, len(c.missed[kind]), c.made[kind])
		for _, text := range c.missed[kind][:min(3, len(c.missed[kind]))] {
			out.WriteString("   " + text + "\n")
		}
	}
	return out.String()
}

func (c *goalCount) miss(kind, format string, args ...any) {
	if c.missed == nil {
		c.missed = map[string][]string{}
	}
	c.missed[kind] = append(c.missed[kind], fmt.Sprintf(format, args...))
}

func (c *goalCount) judge(t *testing.T, p *binding.Plan, typ reflect.Type, good map[string]any, m drawnMistake) {
	t.Helper()
	raw := encoded(m.call)
	_, err := p.Decode(t.Context(), raw, reflect.New(typ).Elem())
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok {
		return // repaired, or no mistake for this type
	}
	if c.made == nil {
		c.made = map[string]int{}
	}
	c.made[m.kind]++
	c.refused++
	if m.undo {
		c.undoable++
	}
	if invalid.Try == "" {
		c.right += len(leaves("", good)) - len(m.paths)
		if m.undo {
			c.miss(m.kind, "%s: no suggestion\n%s", raw, invalid)
		}
		return
	}
	c.tried++
	if _, err := p.Decode(t.Context(), []byte(invalid.Try), reflect.New(typ).Elem()); err != nil {
		t.Errorf("%s\nTry %s: %v", raw, invalid.Try, err)
	}
	var try map[string]any
	decodeExactly(t, invalid.Try, &try)
	c.compare(good, try, raw, invalid, m)
}

func (c *goalCount) compare(good, try map[string]any, raw []byte, invalid *binding.Invalid, m drawnMistake) {
	want, got := leaves("", good), leaves("", try)
	below := func(path string, of []string) bool {
		return slices.ContainsFunc(of, func(above string) bool { return path == above || strings.HasPrefix(path, above+"/") })
	}
	for path, value := range want {
		if below(path, m.paths) {
			continue
		}
		c.right++
		if got[path] == value {
			c.kept++
		} else {
			c.miss("dropped "+m.kind, "%s: %s %s\n   Try %s", raw, path, value, invalid.Try)
		}
	}
	invents := false
	asked := m.kind == "missing" || m.kind == "null" || m.kind == "nonsense" // the call does not show the value
	for path, value := range got {
		if asked && !strings.Contains(value, "%%%") && below(path, m.paths) && !below(path, invalid.Examples) {
			invents = true
			c.miss("unmarked "+m.kind, "%s: %s %s\n   Try %s", raw, path, value, invalid.Try)
		}
		if want[path] != value && !below(path, m.paths) && !below(path, invalid.Examples) {
			invents = true
			c.miss("invented "+m.kind, "%s: %s %s\n   Try %s", raw, path, value, invalid.Try)
		}
	}
	if invents {
		c.invented++
	}
	if !m.undo {
		return
	}
	if maps.Equal(want, got) {
		c.undone++
		return
	}
	c.miss(m.kind, "%s\n   Try %s, want %s", raw, invalid.Try, encoded(good))
}

// leaves returns the values that contain no other values, by their JSON pointers.
func leaves(at string, value any) map[string]string {
	out := map[string]string{}
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			maps.Copy(out, leaves(at+"/"+name, inner))
		}
	case []any:
		for i, inner := range value {
			maps.Copy(out, leaves(fmt.Sprintf("%s/%d", at, i), inner))
		}
	case nil: // as if it were not there
	default:
		text := string(encoded(value))
		var s string
		if json.Unmarshal([]byte(text), &s) == nil { // the same moment, the same duration
			if when, err := time.Parse(time.RFC3339, s); err == nil {
				text = when.UTC().String()
			} else if d, err := time.ParseDuration(s); err == nil {
				text = d.String()
			}
		}
		out[at] = text
	}
	return out
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func decodeExactly(t *testing.T, raw string, into any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// argument is a member as programs have them.
type argument struct {
	name  string
	typ   reflect.Type
	rules string
	draw  []string // right values
}

type gAddress struct {
	Street string `json:"street"`
	City   string `json:"city" validate:"required,min=2"`
	Zip    string `json:"zip,omitempty" validate:"omitempty,len=5,number"`
}

type gItem struct {
	Article string   `json:"article" validate:"required"`
	Count   int      `json:"count" validate:"min=1,max=50"`
	Notes   []string `json:"notes,omitempty"`
}

var argumentPool = []argument{
	{"query", reflect.TypeFor[string](), "min=2,max=40", []string{`"green tea"`, `"rust"`, `"weather in Oslo"`}},
	{"limit", reflect.TypeFor[int](), "min=1,max=100", []string{`5`, `20`, `100`}},
	{"user_id", reflect.TypeFor[string](), "", []string{`"u-17"`, `"alice"`}},
	{"full_name", reflect.TypeFor[string](), "", []string{`"Ada Lovelace"`, `"Grace"`}},
	{"start_time", reflect.TypeFor[time.Time](), "", []string{`"2027-05-06T00:00:00Z"`, `"2027-05-16T14:30:00Z"`}},
	{"timeout", reflect.TypeFor[time.Duration](), "", []string{`"1h0m0s"`, `"5m0s"`, `"1h30m0s"`, `"45s"`}},
	{"tags", reflect.TypeFor[[]string](), "max=5", []string{`["red","blue"]`, `["x"]`, `["a","b","c"]`}},
	{"amount", reflect.TypeFor[float64](), "gt=0,lt=10000", []string{`12.5`, `300`, `0.75`}},
	{"color", reflect.TypeFor[tColor](), "", []string{`"red"`, `"green"`}},
	{"email", reflect.TypeFor[string](), "email", []string{`"ada@example.com"`, `"bob@example.org"`}},
	{"enabled", reflect.TypeFor[bool](), "", []string{`true`, `false`}},
	{"ratio", reflect.TypeFor[*float64](), "", []string{`0.25`, `3`}},
	{"labels", reflect.TypeFor[map[string]string](), "", []string{`{"env":"prod"}`, `{"team":"a","tier":"b"}`}},
	{"address", reflect.TypeFor[gAddress](), "", []string{`{"street":"Elm 3","city":"Oslo"}`, `{"street":"Main","city":"Rome","zip":"00184"}`}},
	{"items", reflect.TypeFor[[]gItem](), "min=1,dive", []string{`[{"article":"cup","count":2}]`, `[{"article":"pot","count":1,"notes":["big"]},{"article":"pan","count":3}]`}},
	{"ids", reflect.TypeFor[[]int](), "", []string{`[1,2,3]`, `[42]`}},
	{"day", reflect.TypeFor[string](), "datetime=2006-01-02", []string{`"2027-05-06"`, `"2026-12-24"`}},
	{"website", reflect.TypeFor[string](), "url", []string{`"https://example.com/a"`}},
	{"level", reflect.TypeFor[tLevel](), "", []string{`1`, `3`}},
	{"sort", reflect.TypeFor[string](), "oneof=rating price newest", []string{`"rating"`, `"newest"`}},
	{"size", reflect.TypeFor[int8](), "", []string{`7`, `100`}},
	{"path", reflect.TypeFor[string](), "startswith=/", []string{`"/etc/hosts"`, `"/tmp"`}},
	{"message", reflect.TypeFor[string](), "", []string{`"hello there"`, `"2027"`}},
}

func drawArguments(r *rand.Rand) reflect.Type {
	var fields []reflect.StructField
	for _, i := range r.Perm(len(argumentPool))[:2+r.IntN(5)] {
		a := argumentPool[i]
		tag, rules := fmt.Sprintf(`json:"%s,omitempty"`, a.name), a.rules
		if r.IntN(2) == 0 {
			tag, rules = fmt.Sprintf(`json:"%s"`, a.name), strings.Trim("required,"+a.rules, ",")
		} else if rules != "" {
			rules = "omitempty," + rules
		}
		if rules != "" {
			tag += fmt.Sprintf(` validate:"%s"`, rules)
		}
		goName := strings.ReplaceAll(strings.ToUpper(a.name[:1])+a.name[1:], "_", "")
		fields = append(fields, reflect.StructField{Name: goName, Type: a.typ, Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(fields)
}

// drawCall draws a right call.
func drawCall(t *testing.T, r *rand.Rand, p *binding.Plan, typ reflect.Type) (call map[string]any, ok bool) {
	t.Helper()
	call = map[string]any{}
	for f := range typ.Fields() {
		name, _, optional := strings.Cut(f.Tag.Get("json"), ",")
		if optional && r.IntN(3) == 0 {
			continue
		}
		a := argumentPool[slices.IndexFunc(argumentPool, func(a argument) bool { return a.name == name })]
		var value any
		decodeExactly(t, a.draw[r.IntN(len(a.draw))], &value)
		call[name] = value
	}
	_, err := p.Decode(t.Context(), encoded(call), reflect.New(typ).Elem())
	if err != nil {
		t.Errorf("%s is not right: %v", encoded(call), err)
	}
	return call, err == nil && len(call) > 0
}
