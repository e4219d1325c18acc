package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// decodeTo decodes into a T with the usual options.
func decodeTo[T any](t *testing.T, raw string) (T, binding.Report, error) {
	t.Helper()
	p := mustCompile(t, reflect.TypeFor[T](), binding.Input, binding.Options{})
	var v T
	report, err := p.Decode(t.Context(), []byte(raw), reflect.ValueOf(&v).Elem())
	return v, report, err
}

type box[T any] struct {
	V T `json:"v"`
}

// value checks one decoded value, or that the value is refused.
func value[T any](t *testing.T, raw string, want T, ok bool) {
	t.Helper()
	p := mustCompile(t, reflect.TypeFor[box[T]](), binding.Input, binding.Options{NoRepair: true})
	var got box[T]
	_, err := p.Decode(t.Context(), []byte(`{"v":`+raw+`}`), reflect.ValueOf(&got).Elem())
	if (err == nil) != ok {
		t.Errorf("%s as %T: %v", raw, want, err)
		return
	}
	if ok && !reflect.DeepEqual(got.V, want) {
		t.Errorf("%s as %T: got %#v, want %#v", raw, want, got.V, want)
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	value[int64](t, "9223372036854775807", math.MaxInt64, true)
	value[int64](t, "-9223372036854775808", math.MinInt64, true)
	value[int64](t, "9223372036854775808", 0, false)
	value[int64](t, "9007199254740993", 9007199254740993, true)
	value[uint64](t, "18446744073709551615", math.MaxUint64, true)
	value[uint64](t, "18446744073709551616", 0, false)
	value[uint64](t, "1844674407370955161.5e1", math.MaxUint64, true)
	value[uint64](t, "1e19", 10000000000000000000, true)
	value(t, "1.0", 1, true)
	value(t, "1e2", 100, true)
	value(t, "1200e-2", 12, true)
	value(t, "1.5", 0, false)
	value(t, "1e999999999", 0, false)
	value(t, "-0", 0, true)
	value[int8](t, "127", 127, true)
	value[int8](t, "128", 0, false)
	value[uint8](t, "-1", 0, false)
	value[uint8](t, "2.56e2", 0, false)
	value[float32](t, "1e39", 0, false)
	value[float64](t, "1e400", 0, false)
	value(t, "0.1", 0.1, true)
	value(t, "12345678901234567890123", json.Number("12345678901234567890123"), true)
	value(t, "-170141183460469231731687303715884105728", *new(big.Int).Lsh(big.NewInt(-1), 127), true)
	value(t, "1e3", *big.NewInt(1000), true)
	value(t, "1.5", big.Int{}, false)
	value(t, "1e99999", big.Int{}, false)
}

func TestAnyKeepsNumbers(t *testing.T) {
	t.Parallel()
	value[any](t, "1", float64(1), true)
	value[any](t, "0.1", 0.1, true)
	value[any](t, "9007199254740992", float64(1<<53), true)
	value[any](t, "9007199254740993", json.Number("9007199254740993"), true)
	value[any](t, "882020665374088320", json.Number("882020665374088320"), true) // a float64, but written as …300
	value[any](t, "882020665374088321", json.Number("882020665374088321"), true)
	value[any](t, "1e400", json.Number("1e400"), true)
	value[any](t, "1.2345e-322", json.Number("1.2345e-322"), true)
	value[any](t, "1e-400", json.Number("1e-400"), true)
	value[any](t, "1e21", 1e21, true)
	value[any](t, "0.1000000000000000055511151231257827", json.Number("0.1000000000000000055511151231257827"), true)
	value[any](t, "3.141592653589793", 3.141592653589793, true)
	value[any](t, `{"a":[1,null,"x",true]}`, map[string]any{"a": []any{float64(1), nil, "x", true}}, true)
	value[any](t, `{"a":{"b":1,"\u0062":2}}`, nil, false)
	value[any](t, "null", nil, true)
	value(t, `{"a":1,"a":1}`, json.RawMessage(nil), false)
	value(t, ` {"a": 1} `, json.RawMessage(`{"a": 1}`), true)
}

func TestLeaves(t *testing.T) {
	t.Parallel()
	three := 3
	value(t, `"aGk="`, []byte("hi"), true)
	value(t, `"aGk"`, []byte(nil), false)
	value(t, `""`, []byte{}, true)
	value(t, "null", []byte(nil), false)
	value(t, `"90s"`, 90*time.Second, true)
	value(t, `"1h0m"`, time.Hour, true)
	value(t, "90", time.Duration(0), false)
	value(t, `"2026-01-31T12:00:00Z"`, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), true)
	value(t, `"2026-01-31"`, time.Time{}, false)
	value(t, `"2001:db8::1"`, netip.MustParseAddr("2001:db8::1"), true)
	value(t, `"nope"`, netip.Addr{}, false)
	value(t, "5", netip.Addr{}, false)
	value(t, "null", (*int)(nil), true)
	value(t, "3", &three, true)
	value(t, "null", []int(nil), false)
	value(t, "null", map[string]int(nil), false)
	value(t, "null", "", false)
	value(t, `{"1":"a","-2":"b"}`, map[int]string{1: "a", -2: "b"}, true)
	value(t, `{"01":"a"}`, map[int]string(nil), false)
	value(t, `{"a":1,"\u0061":2}`, map[string]int(nil), false)
	value(t, `{"1.2.3.4":1}`, map[netip.Addr]int{netip.MustParseAddr("1.2.3.4"): 1}, true)
	value(t, `{"1.2.3":1}`, map[netip.Addr]int(nil), false)
	value(t, "[1,2]", [2]int{1, 2}, true)
	value(t, "[1]", [2]int{}, false)
	value(t, "[1,2,3,4]", [4]byte{1, 2, 3, 4}, true)
	value(t, `"red"`, tColor("red"), true)
	value(t, `"pink"`, tColor(""), false)
	value(t, "2", tLevel(2), true)
	value(t, "4", tLevel(0), false)
	value(t, `"large"`, tSize(2), true)
	value(t, "2", tSize(0), false)
	value(t, `"[1,2]"`, tPoint{1, 2}, true)
	value(t, "1.25", tMoney{125}, true)
	value(t, "[true]", tOpaque{"[true]"}, true)
	value(t, "[1,2]", []tDay{1, 2}, true)
	value(t, "[1,99]", []tDay{}, false)
	value(t, `"Yw=="`, []tDay{}, false)
	value(t, `"Yw=="`, []byte("c"), true)
	value(t, `"é\u0000\ud83d\ude00"`, "é\x00😀", true)
}

func TestNamesFollowEncodingJSON(t *testing.T) {
	t.Parallel()
	v, _, err := decodeTo[tNames](t, `{"Plain":1,"-":2,"quoted":"3","qb":"true","qf":"1.5","qu":"7","qs":"\"x\"","qp":"9"}`)
	if err != nil {
		t.Fatal(err)
	}
	var std tNames
	if err := json.Unmarshal([]byte(`{"Plain":1,"-":2,"quoted":"3","qb":"true","qf":"1.5","qu":"7","qs":"\"x\"","qp":"9"}`), &std); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v, std) {
		t.Errorf("got %+v, encoding/json %+v", v, std)
	}
	embedded, _, err := decodeTo[tViaPtr](t, `{"q":"q"}`)
	if err != nil || embedded.TEmbedPtr != nil {
		t.Errorf("%+v %v: an absent embedded pointer stays nil", embedded, err)
	}
	embedded, _, err = decodeTo[tViaPtr](t, `{"p":"p","q":"q"}`)
	if err != nil || embedded.TEmbedPtr == nil || embedded.P != "p" {
		t.Errorf("%+v %v", embedded, err)
	}
	type demanded struct {
		*TDemanded
		Q string `json:"q"`
	}
	for raw, want := range map[string]string{`{"q":"q"}`: "/p", `{"p":"","q":"q"}`: ""} {
		if _, _, err := decodeTo[demanded](t, raw); paths(err) != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	shadow, _, err := decodeTo[tShadow](t, `{"id":"x","note":"n"}`)
	if err != nil || shadow.ID != "x" || shadow.tBase.ID != 0 || shadow.Note != "n" {
		t.Errorf("%+v %v", shadow, err)
	}
}

// TestLegalNames checks that a name in a tag is legal if encoding/json takes it. For other names encoding/json
// uses the name of the field.
func TestLegalNames(t *testing.T) {
	t.Parallel()
	runes := []rune("°€कीम日١²ªǅ\u0301\u200d\ufeff\U0001f600'`\"\\\x00\x7f")
	for r := ' '; r <= 0xff; r++ {
		runes = append(runes, r)
	}
	for _, r := range runes {
		if r == ',' {
			continue
		}
		name := "a" + string(r)
		typ := reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeFor[int](), Tag: reflect.StructTag("json:" + strconv.Quote(name))}})
		p, faults := binding.Compile(typ, binding.Input, binding.Options{})
		written, err := json.Marshal(reflect.Zero(typ).Interface())
		if taken := string(written) != `{"V":0}`; err != nil || taken != (p != nil) {
			t.Errorf("%q: encoding/json writes %s, %v; faults %v", name, written, err, faults)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, _, err := decodeTo[tDefaults](t, "")
	three := 3
	want := tDefaults{
		S: "x", I: 5, B: true, F: 1.5, D: 90 * time.Second, C: "red", L: []string{"a", "b"}, J: []int{1, 2}, P: &three, M: map[string]int{"a": 1},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %v", got, err)
	}
	got.L[0], got.M["a"], *got.P = "changed", 9, 9
	again, _, _ := decodeTo[tDefaults](t, "{}")
	if !reflect.DeepEqual(again, want) {
		t.Errorf("a default is shared between calls: %+v", again)
	}
	zero, _, err := decodeTo[tDefaults](t, `{"s":"","i":0,"b":false,"f":0,"d":"0s","l":[],"j":[],"p":0,"m":{}}`)
	if err != nil || zero.S != "" || zero.I != 0 || zero.B || *zero.P != 0 || len(zero.L) != 0 {
		t.Errorf("a default replaced what was sent: %+v %v", zero, err)
	}
	type nested struct {
		N struct {
			X int `json:"x" default:"7"`
		} `json:"n,omitzero"`
	}
	n, _, err := decodeTo[nested](t, "{}")
	if err != nil || n.N.X != 7 {
		t.Errorf("%+v %v", n, err)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	type in struct {
		I int            `json:"i,omitempty"`
		F float64        `json:"f,omitempty"`
		B bool           `json:"b,omitempty"`
		L []string       `json:"l,omitempty" validate:"dive,min=2"`
		M map[string]int `json:"m,omitempty"`
		O *tBase         `json:"o"`
		S string         `json:"s,omitempty"`
		D time.Duration  `json:"d,omitempty"`
	}
	raw := `{"i":"5","f":"1.5","b":"true","l":"[\"ab\"]","m":"{\"a\":\"1\"}","o":"{\"id\":1}","s":"[1]"}`
	got, report, err := decodeTo[in](t, raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.I != 5 || got.F != 1.5 || !got.B || got.L[0] != "ab" || got.M["a"] != 1 || got.O.ID != 1 || got.S != "[1]" {
		t.Errorf("%+v", got)
	}
	if s := strings.Join(report.Repaired, " "); s != "/i /f /b /l /m /m/a /o" {
		t.Errorf("repaired %s", s)
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{NoRepair: true})
	var v in
	if _, err := p.Decode(t.Context(), []byte(raw), reflect.ValueOf(&v).Elem()); paths(err) != "/i /f /b /l /m /o" {
		t.Errorf("without repair: %v", err)
	}
	if !reflect.DeepEqual(v, in{}) {
		t.Errorf("a refused call left %+v behind", v)
	}
	for _, bad := range []string{`{"i":"5x"}`, `{"i":"1.5"}`, `{"b":"yes"}`, `{"l":"[1"}`, `{"l":"[\"a\"]"}`, `{"s":5}`, `{"i":"null"}`, `{"i":" "}`, `{"b":"tRUE"}`} {
		if _, _, err := decodeTo[in](t, bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// tFewLabels has a schema of its own, which judges what was meant.
type tFewLabels map[string]string

func (tFewLabels) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", MaxProperties: new(uint64(2))}
}

// TestRepairEmptyObjects: an empty list where an object is wanted is one, because PHP has one empty array for both.
func TestRepairEmptyObjects(t *testing.T) {
	t.Parallel()
	type in struct {
		M map[string]int   `json:"m,omitempty"`
		L []map[string]int `json:"l,omitempty"`
		O *struct {
			A int `json:"a,omitempty"`
		} `json:"o"`
		X tFewLabels `json:"x,omitempty"`
	}
	raw := `{"m":[],"l":[[],{"a":1}],"o":[],"x":[]}`
	got, report, err := decodeTo[in](t, raw)
	if err != nil || got.M == nil || len(got.L) != 2 || got.L[1]["a"] != 1 || got.O == nil {
		t.Errorf("%+v %v", got, err)
	}
	if s := strings.Join(report.Repaired, " "); s != "/m /l/0 /o /x" {
		t.Errorf("repaired %s", s)
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{NoRepair: true})
	if _, err := p.Decode(t.Context(), []byte(raw), reflect.ValueOf(new(in)).Elem()); paths(err) != "/m /l/0 /o /x" {
		t.Errorf("without repair: %v", err)
	}
	for _, bad := range []string{`{"m":[1]}`, `{"m":[[]]}`, `{"l":{}}`} {
		if _, _, err := decodeTo[in](t, bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestUserValidate(t *testing.T) {
	t.Parallel()
	if _, _, err := decodeTo[vCtx](t, `{"a":13}`); err == nil || err.Error() != "1 problem.\n1. a is unlucky." {
		t.Errorf("got %v", err)
	}
	p := mustCompile(t, reflect.TypeFor[*vCtx](), binding.Input, binding.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var v *vCtx
	if _, err := p.Decode(ctx, []byte(`{"a":1}`), reflect.ValueOf(&v).Elem()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Decode(t.Context(), []byte(`{"a":1}`), reflect.ValueOf(&v).Elem()); err != nil || v == nil || v.A != 1 {
		t.Errorf("got %+v %v", v, err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var items []string
	for range 50_000 {
		items = append(items, `{"x":1}`)
	}
	raw := `{"query":"a","tags":[` + strings.Join(items, ",") + `]}`
	_, _, err := decodeTo[cSearch](t, raw)
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok || len(invalid.Issues) != 20 || invalid.Total != 64 || !invalid.Stopped {
		t.Fatalf("got %d of %d issues", len(invalid.Issues), invalid.Total)
	}
	if n := len(invalid.Text("search")); n > 4<<10 {
		t.Errorf("text of %d bytes", n)
	}
	long := `{"query":"a","` + strings.Repeat("x", 100_000) + `":1,"limit":"` + strings.Repeat("y", 100_000) + `"}`
	_, _, err = decodeTo[cSearch](t, long)
	if n := len(err.Error()); n > 4<<10 {
		t.Errorf("text of %d bytes", n)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	type in struct {
		Key struct {
			Value int `json:"value" validate:"min=5"`
		} `json:"key" secret:"true"`
		N int `json:"n"`
	}
	for _, raw := range []string{`{"key":{"value":"hunter2"},"n":"x"}`, `{"key":{"value":3},"n":1}`, `{"key":"hunter2","n":1}`} {
		_, _, err := decodeTo[in](t, raw)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "3 (number)") || strings.Contains(err.Error(), "Try:") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestAllowUnknown(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[tBase](), binding.Input, binding.Options{AllowUnknown: true})
	var v tBase
	if _, err := p.Decode(t.Context(), []byte(`{"id":1,"x":{"y":[]}}`), reflect.ValueOf(&v).Elem()); err != nil || v.ID != 1 {
		t.Errorf("%+v %v", v, err)
	}
	if strings.Contains(string(p.Schema()), "additionalProperties") {
		t.Errorf("schema %s", p.Schema())
	}
}

func TestHooksAreCopied(t *testing.T) {
	t.Parallel()
	type in struct {
		A tMoney `json:"a" title:"first" doc:"one"`
		B tMoney `json:"b"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	want := `{"type":"object","properties":{"a":{"type":"number","title":"first","description":"one. an amount, in euros"},"b":{"type":"number","description":"an amount, in euros"}},"required":["a","b"],"additionalProperties":false}`
	if got := string(p.Schema()); got != want {
		t.Errorf("got %s", got)
	}
	if moneySchema.Title != "" {
		t.Error("the hook's schema was changed")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[cOrder](), binding.Input, binding.Options{})
	raws := []string{
		`{"id":"A1","items":[{"sku":"x","qty":1}],"status":"open"}`,
		`{"id":"A1","items":[{"sku":"","qty":0}],"status":"opne","from":5,"to":1}`,
		`{"id":"A1","items":"[]","x":1}`,
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 60 {
				var v cOrder
				_, err := p.Decode(context.Background(), []byte(raws[i%3]), reflect.ValueOf(&v).Elem())
				if (err == nil) != (i%3 == 0) {
					t.Errorf("%s: %v", raws[i%3], err)
				}
				if err == nil {
					if _, err := p.Append(nil, reflect.ValueOf(v)); err != nil {
						t.Error(err)
					}
				} else {
					_ = err.Error()
				}
			}
		})
	}
	wg.Wait()
}

type abroad string

func (*abroad) UnmarshalText([]byte) error { return errors.New("öffnet nicht") }

// TestHintsOfOtherAlphabets checks hints with a first letter of several bytes.
func TestHintsOfOtherAlphabets(t *testing.T) {
	t.Parallel()
	if _, _, err := decodeTo[box[abroad]](t, `{"v":"x"}`); err == nil || !strings.Contains(err.Error(), "Öffnet nicht.") {
		t.Errorf("got %v", err)
	}
}

type writesItself struct {
	Limit int `json:"limit" default:"10"`
}

func (writesItself) MarshalJSON() ([]byte, error) { return []byte(`"hidden"`), nil }

// TestDefaultsOfWriters checks that a type that only writes its own JSON gets its defaults, also if it is
// absent.
func TestDefaultsOfWriters(t *testing.T) {
	t.Parallel()
	type in struct {
		O writesItself `json:"o,omitzero"`
	}
	for _, raw := range []string{`{}`, `{"o":{}}`} {
		if got, _, err := decodeTo[in](t, raw); err != nil || got.O.Limit != 10 {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

// TestDefaultsDeepInAbsentObjects checks that a required member of an absent object also gets its defaults.
func TestDefaultsDeepInAbsentObjects(t *testing.T) {
	t.Parallel()
	type sort struct {
		Dir string `json:"dir" default:"asc"`
	}
	type page struct {
		Size int  `json:"size" default:"10"`
		Sort sort `json:"sort"`
	}
	type in struct {
		Page page `json:"page,omitzero"`
	}
	if got, _, err := decodeTo[in](t, `{}`); err != nil || got.Page.Size != 10 || got.Page.Sort.Dir != "asc" {
		t.Errorf("%+v, %v", got, err)
	}
}
