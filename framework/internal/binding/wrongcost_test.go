package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// costly is a wrong call of many items, and a right call of the same shape and size.
type costly struct {
	name         string
	t            reflect.Type
	right, wrong string
}

type (
	wcRuled struct {
		ID   int    `json:"id" validate:"min=1"`
		Name string `json:"name" validate:"min=1,max=20"`
	}
	wcPlain struct {
		A int `json:"a"`
		B int `json:"b,omitempty"`
	}
	wcBlank struct {
		A int    `json:"a"`
		C tColor `json:"c,omitempty"`
	}
	wcSpan struct {
		From int `json:"from"`
		To   int `json:"to" validate:"gtefield=From"`
	}
	wcSealed struct {
		A int    `json:"a"`
		P string `json:"p,omitempty" secret:"true"`
	}
	wcText struct{ s string }
)

func (x *wcText) UnmarshalText(text []byte) error {
	if string(text) == "aaaaa" {
		return errors.New("this text is not wanted")
	}
	x.s = string(text)
	return nil
}

// wcList returns {"v":[…]} with n items. The items at the places that at accepts are wrong.
func wcList(n int, right, wrong string, at func(int) bool) string {
	items := make([]string, n)
	for i := range items {
		items[i] = right
		if at(i) {
			items[i] = wrong
		}
	}
	return `{"v":[` + strings.Join(items, ",") + `]}`
}

// wcMap is wcList with an object. Its keys have a %d for the number of the item.
func wcMap(n int, right, wrong string, at func(int) bool) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(right, i)
		if at(i) {
			items[i] = fmt.Sprintf(wrong, i)
		}
	}
	return `{"v":{` + strings.Join(items, ",") + `}}`
}

func wcField(t reflect.Type, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "V", Type: t, Tag: reflect.StructTag(`json:"v" ` + tag)}})
}

// wcCalls are calls of n items. The first item is wrong, or the last, or some, or all of them.
func wcCalls(n int) (out []costly) {
	never := func(int) bool { return false }
	places := []struct {
		name string
		at   func(int) bool
	}{
		{"first", func(i int) bool { return i == 0 }},
		{"last", func(i int) bool { return i == n-1 }},
		{"some", func(i int) bool { return i%(n/20) == 0 }},
		{"all", func(int) bool { return true }},
	}
	add := func(name string, t reflect.Type, list func(n int, right, wrong string, at func(int) bool) string, right, wrong string) {
		for _, place := range places {
			out = append(out, costly{name + "/" + place.name, t, list(n, right, right, never), list(n, right, wrong, place.at)})
		}
	}
	ints := reflect.TypeFor[[]int]()
	add("bool for number", wcField(ints, ""), wcList, "1234", "true")
	add("text for number", wcField(ints, ""), wcList, "1234", `"xx"`)
	add("number in quotes", wcField(ints, ""), wcList, "123", `"1"`)
	add("object for number", wcField(ints, ""), wcList, "1234567", `{"a":1}`)
	add("null", wcField(ints, ""), wcList, "1234", "null")
	add("fraction", wcField(ints, ""), wcList, "1234", "12.5")
	add("range", wcField(reflect.TypeFor[[]int8](), ""), wcList, "100", "300")
	add("number for text", wcField(reflect.TypeFor[[]string](), ""), wcList, `"ab"`, "1234")
	add("time", wcField(reflect.TypeFor[[]string](), `validate:"dive,datetime=2006-01-02"`), wcList, `"2027-05-06"`, `"2027.05.06"`)
	add("enum", wcField(reflect.TypeFor[[]tColor](), ""), wcList, `"red"`, `"rod"`)
	add("own method", wcField(reflect.TypeFor[[]wcText](), ""), wcList, `"bbbbb"`, `"aaaaa"`)
	add("word", wcField(reflect.TypeFor[[]string](), `validate:"dive,oneof=red blue"`), wcList, `"red"`, `"rod"`)
	add("rule of items", wcField(ints, `validate:"dive,min=5"`), wcList, "7", "1")
	add("email", wcField(reflect.TypeFor[[]string](), `validate:"dive,email"`), wcList, `"a@bbb.org"`, `"a#bbb.org"`)
	add("nested lists", wcField(reflect.TypeFor[[][]int](), `validate:"dive,dive,min=5"`), wcList, "[7,8]", "[1,2]")
	add("nested types", wcField(reflect.TypeFor[[][]int](), ""), wcList, "[777]", "[[1]]")
	plain := wcField(reflect.TypeFor[[]wcPlain](), "")
	add("unknown", plain, wcList, `{"a":1,"b":2}`, `{"a":1,"c":2}`)
	add("unknown beside", plain, wcList, `{"a":1,"b":2}`, `{"a":1,"bbbbbb":2}`)
	add("missing", plain, wcList, `{"a":1,"b":2}`, `{"b":11111112}`)
	add("twice", plain, wcList, `{"a":1,"b":2}`, `{"a":1,"a":2}`)
	add("text in object", plain, wcList, `{"a":100,"b":2}`, `{"a":"x","b":2}`)
	add("text in sealed object", wcField(reflect.TypeFor[[]wcSealed](), ""), wcList, `{"a":100,"p":"x"}`, `{"a":"x","p":"x"}`)
	add("null for optional", plain, wcList, `{"a":1,"b":2777}`, `{"a":1,"b":null}`)
	add("empty for optional", wcField(reflect.TypeFor[[]wcBlank](), ""), wcList, `{"a":1,"c":"red"}`, `{"a":1,"c":""}`)
	add("object in quotes", plain, wcList, `{"a":100}`, `"{\"a\":1}"`)
	add("rules of members", wcField(reflect.TypeFor[[]wcRuled](), ""), wcList, `{"id":1,"name":"x"}`, `{"id":0,"name":""}`)
	add("between members", wcField(reflect.TypeFor[[]wcSpan](), ""), wcList, `{"from":1,"to":2}`, `{"from":3,"to":2}`)
	counts := reflect.TypeFor[map[string]int]()
	add("value of map", wcField(counts, ""), wcMap, `"k%d":1234`, `"k%d":true`)
	add("rule of map", wcField(counts, `validate:"dive,min=5"`), wcMap, `"k%d":7`, `"k%d":1`)
	add("rule of keys", wcField(counts, `validate:"dive,keys,alphanum,endkeys,min=5"`), wcMap, `"k%d":7`, `"-%d":7`)
	add("keys", wcField(reflect.TypeFor[map[int]int](), ""), wcMap, `"%d":1`, `"x%d":1`)
	add("raw", wcField(reflect.TypeFor[[]json.RawMessage](), ""), wcList, `{"a":1,"b":2}`, `{"a":1,"a":2}`)
	add("in union", reflect.TypeFor[struct {
		V []uShape `json:"v"`
	}](), wcList, `{"kind":"circle","r":1}`, `{"kind":"circle","r":0}`)
	add("union", reflect.TypeFor[struct {
		V []uShape `json:"v"`
	}](), wcList, `{"kind":"circle","r":1}`, `{"kind":"circus","r":1}`)
	return append(out, wcOthers(n, wcList(n, "7", "7", never))...)
}

// wcOthers are calls that are wrong as a whole. sevens has n right items.
func wcOthers(n int, sevens string) []costly {
	ints, counts := reflect.TypeFor[[]int](), reflect.TypeFor[map[string]int]()
	lists := reflect.TypeFor[map[string][]int]()
	inQuotes := strings.NewReplacer("[", `"[`, "]", `]"`).Replace(sevens)
	entries := wcMap(n, `"k%d":1`, "", func(int) bool { return false })
	members := strings.TrimSuffix(strings.TrimPrefix(entries, `{"v":`), `}`)
	key, hundred := strings.Repeat("k", 2*n), `":[`+strings.Repeat("1,", 99)+`1]}`
	text := strings.Repeat("k", 4*n)
	return []costly{
		{"too many", wcField(ints, fmt.Sprintf(`validate:"max=%d"`, n)), sevens, strings.Replace(sevens, "7,", "7,7,", 1)},
		{"too few", wcField(ints, fmt.Sprintf(`validate:"min=%d"`, n)), sevens, strings.Replace(sevens, "7,", "", 1)},
		{"unique", wcField(ints, `validate:"unique"`), wcNumbers(n, 0), wcNumbers(n, 1)},
		{"text for list", wcField(ints, ""), sevens, `{"v":"` + strings.Repeat("7,", n) + `"}`},
		{"list in quotes", wcField(ints, ""), sevens, inQuotes},
		{"list in quotes, wrong", wcField(ints, ""), sevens, strings.Replace(inQuotes, "]", ",true]", 1)},
		{"twice at the top", counts, members, strings.Replace(members, `"k1"`, `"k0"`, 1)},
		{"unknown at the top", wcField(counts, ""), entries, members},
		{"long key", lists, `{"` + key + hundred, `{"` + key + strings.ReplaceAll(hundred, "1", "true")},
		{"long key, rule", wcField(lists, `validate:"dive,dive,min=1"`), `{"v":{"` + key + hundred + `}`, `{"v":{"` + key + strings.ReplaceAll(hundred, "1", "0") + `}`},
		{"long name", wcField(reflect.TypeFor[string](), ""), `{"v":"` + text + `"}`, `{"` + text + `":"v"}`},
		{"long text", wcField(reflect.TypeFor[string](), fmt.Sprintf(`validate:"max=%d"`, len(text))), `{"v":"` + text + `"}`, `{"v":"` + text + `k"}`},
		{"list for text", wcField(reflect.TypeFor[string](), ""), `{"v":"` + text + `"}`, `{"v":["` + text + `"]}`},
	}
}

// wcNumbers is a list of n numbers. The last numbers are the same.
func wcNumbers(n, twice int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(10_000 + i)
		if i >= n-twice {
			items[i] = "10000"
		}
	}
	return `{"v":[` + strings.Join(items, ",") + `]}`
}

func wcRun(tb testing.TB, p *binding.Plan, text string) (run func() error) {
	tb.Helper()
	into, raw := reflect.New(p.Type()).Elem(), []byte(text)
	return func() error {
		_, err := p.Decode(context.Background(), raw, into)
		return err
	}
}

// allocated returns how many bytes one call of run allocates.
func allocated(run func() error) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestWrongCallsCostTwice checks that a large refused call allocates at most twice as much as a right call of
// its size, plus the memory for an error with 64 faults. It is not parallel, because other tests also allocate
// memory.
func TestWrongCallsCostTwice(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	const items, answer = 20_000, 256 << 10
	for _, c := range wcCalls(items) {
		p := mustCompile(t, c.t, binding.Input, binding.Options{Unions: unions()})
		right, wrong := wcRun(t, p, c.right), wcRun(t, p, c.wrong)
		if err := right(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		most := uint64(2)
		switch err := wrong(); {
		case err == nil:
			most = 4 // the call is corrected: it is read once more, and out of the quotes
		case strings.HasPrefix(c.name, "between"):
			most = 5 // validator names all faults before it returns
		}
		if r, w := allocated(right), allocated(wrong); w > most*r+answer {
			t.Errorf("%s: the right call allocates %d bytes, the wrong one %d", c.name, r, w)
		}
	}
}

// BenchmarkWrongCalls measures the time of both calls.
func BenchmarkWrongCalls(b *testing.B) {
	for _, items := range []int{100, 3_000, 20_000} {
		for _, c := range wcCalls(items) {
			p := mustCompile(b, c.t, binding.Input, binding.Options{Unions: unions()})
			for kind, text := range map[string]string{"right": c.right, "wrong": c.wrong} {
				b.Run(fmt.Sprintf("%d/%s/%s", items, strings.ReplaceAll(c.name, "/", ","), kind), func(b *testing.B) {
					run := wcRun(b, p, text)
					b.ReportAllocs()
					for b.Loop() {
						_ = run()
					}
				})
			}
		}
	}
}

// TestWrongItemsReserveNothing checks that wrong items of a list or map do not reserve memory for all of them.
func TestWrongItemsReserveNothing(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	type wide struct{ A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P string }
	for name, c := range map[string]costly{
		"list": {t: wcField(reflect.TypeFor[[]wide](), ""), wrong: `{"v":[` + strings.Repeat("0,", 90_000) + `0]}`},
		"map":  {t: wcField(reflect.TypeFor[map[string][8]int](), ""), wrong: wcMap(90_000, `"k%d":0`, `"k%d":0`, func(int) bool { return true })},
	} {
		run := wcRun(t, mustCompile(t, c.t, binding.Input, binding.Options{}), c.wrong)
		if run() == nil {
			t.Fatal(name)
		}
		if n := allocated(run); n > 1<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
