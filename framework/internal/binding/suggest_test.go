package binding_test

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// refusal returns the error of a call that must be refused.
func refusal(t *testing.T, p *binding.Plan, call string) *binding.Invalid {
	t.Helper()
	_, err := p.Decode(t.Context(), []byte(call), reflect.New(p.Type()).Elem())
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok {
		t.Fatalf("%s: %v, want it refused", call, err)
	}
	return invalid
}

type eTimes struct {
	At  time.Time     `json:"at,omitzero"`
	Day string        `json:"day,omitempty" validate:"omitempty,datetime=2006-01-02"`
	For time.Duration `json:"for,omitempty"`
}

// TestEverydayTimes checks that a suggestion understands the forms of dates, times and durations that people
// use, and does not guess a date that has two readings.
func TestEverydayTimes(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[eTimes](), binding.Input, binding.Options{})
	for _, text := range []string{
		`"2027/05/16"`, `"16.5.2027"`, `"16.05.2027"`, `"May 16, 2027"`, `"16 May 2027"`, `"May 16th, 2027"`, `"16th of May 2027"`, `"Sunday, May 16 2027"`,
		`"20270516"`, `"5/16/2027"`, `"16/5/2027"`, `"16-May-2027"`, `"2027-05-16 00:00"`, `"2027-05-16T00:00:00"`, `"2027-05-16 00:00:00 UTC"`, `"2027-5-16"`, `"20270516T000000Z"`,
		`"Sun, 16 May 2027 00:00:00 GMT"`, `"Sun May 16 00:00:00 2027"`, `"Sunday, 16-May-27 00:00:00 UTC"`, `"16 May 2027 at 12:00 am"`, `"the 16th of May, 2027"`, `"2027 May 16"`, `"16-05-2027"`, `"05-16-2027"`, `1810425600`, `"1810425600000"`,
	} {
		if got := refusal(t, p, `{"at":`+text+`}`); got.Try != `{"at":"2027-05-16T00:00:00Z"}` || got.Examples != nil {
			t.Errorf("%s: %s, examples %q", text, got.Try, got.Examples)
		}
		if text[0] != '"' {
			continue
		}
		if got := refusal(t, p, `{"day":`+text+`}`); got.Try != `{"day":"2027-05-16"}` {
			t.Errorf("the day %s: %s", text, got.Try)
		}
	}
	for text, want := range map[string]string{
		`"2027-05-16 14:30"`: "2027-05-16T14:30:00Z", `"May 16, 2027 2:30 pm"`: "2027-05-16T14:30:00Z", `"2027-05-16 14:30:00 +02:00"`: "2027-05-16T14:30:00+02:00",
		`"Sept 16, 2027"`: "2027-09-16T00:00:00Z", `"16 sept. 2027 14:30"`: "2027-09-16T14:30:00Z", `"Jan. 5, 2027"`: "2027-01-05T00:00:00Z",
	} {
		if got := refusal(t, p, `{"at":`+text+`}`); got.Try != fmt.Sprintf(`{"at":%q}`, want) {
			t.Errorf("%s: %s", text, got.Try)
		}
	}
	for _, text := range []string{`"5/6/2027"`, `"05-06-2027"`, `"32.5.2027"`, `"tomorrow"`, `"2027-02-30"`, `12`, `"2027"`} {
		if got := refusal(t, p, `{"at":`+text+`}`); got.Try != `{}` {
			t.Errorf("%s: %s", text, got.Try)
		}
	}
	for text, want := range map[string]string{
		"1 hour": "1h", "5 minutes": "5m", "90 sec": "1m30s", "an hour": "1h", "half an hour": "30m", "1.5 hours": "1h30m", "2 days": "48h", "1 h 30 min": "1h30m",
		"1 hour and 15 minutes": "1h15m", "PT1H30M": "1h30m", "P2DT1H": "49h", "0:05:00": "5m", "one week": "168h", "250 ms": "250ms", "10 Mins": "10m",
		"an hour and a half": "1h30m", "2 days and a half": "60h", "30 min.": "30m", "1 hr. 5 min.": "1h5m", "90 seconds.": "1m30s", "one and a half hours": "1h30m", "2 and a half days": "60h", "10 microseconds": "10µs",
		"1h30": "1h30m", "2 h 05": "2h5m", "1,5 hours": "1h30m", "0,25h": "15m", "1h, 5m": "1h5m",
	} {
		if got := refusal(t, p, fmt.Sprintf(`{"for":%q}`, text)); got.Try != fmt.Sprintf(`{"for":%q}`, want) {
			t.Errorf("%s: %s, want %s", text, got.Try, want)
		}
	}
	for _, text := range []string{"a month", "P1Y", "soon", "5 parsecs", "1 hour ago", "99999999999 weeks", "and 1 hour", "a half", "an hour and a half past", "1 hour 1 hour", "5 min 5 minutes", "half a minute and a half", "1 hour and a half day", "1h90", "1,500 ms", "30", "1d30", strings.Repeat("1 hour ", 20)} {
		if got := refusal(t, p, fmt.Sprintf(`{"for":%q}`, text)); got.Try != `{}` {
			t.Errorf("%s: %s", text, got.Try)
		}
	}
}

type eOrder struct {
	Field string   `json:"field,omitempty" validate:"omitempty,oneof=price rating"`
	Query string   `json:"query" validate:"required_without=Words"`
	Words []string `json:"words,omitempty"`
	Small int8     `json:"small,omitempty"`
	From  int      `json:"from,omitempty"`
	To    int      `json:"to,omitempty" validate:"gtefield=From"`
	Email string   `json:"email,omitempty"`
	Phone string   `json:"phone,omitempty"`
	Force *bool    `json:"force,omitempty"`
	Pair  []string `json:"pair,omitempty" validate:"omitempty,min=2"`
	Lines []eLine  `json:"lines,omitempty" validate:"omitempty,dive"`
	Share *big.Rat `json:"share,omitempty"`
	Rate  float64  `json:"rate,omitempty"`
	Grid  [][]int  `json:"grid,omitempty"`
	Args  []any    `json:"args,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`
}

type eLine struct {
	Name  string `json:"name"`
	Count int    `json:"count" validate:"min=1"`
}

type eExclusive struct {
	ID    int    `json:"id,omitempty" validate:"excluded_with=Name Mail"`
	Name  string `json:"name,omitempty" validate:"excluded_with=ID Mail"`
	Mail  string `json:"mail,omitempty" validate:"excluded_with=ID Name"`
	Plain bool   `json:"plain,omitempty"`
	HTML  string `json:"html,omitempty" validate:"excluded_if=Plain true"`

	Codes []int `json:"codes,omitempty" validate:"omitempty,unique"`
}

// TestExclusiveIsTried checks that one of the members that exclude each other stays.
func TestExclusiveIsTried(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[eExclusive](), binding.Input, binding.Options{})
	for call, try := range map[string]string{
		`{"id":5,"name":"ada"}`:                           `{"id":5}`,
		`{"name":"ada","id":5}`:                           `{"name":"ada"}`,
		`{"mail":"a@b.org","name":"ada","id":5}`:          `{"mail":"a@b.org"}`,
		`{"mail":"a@b.org","plain":true,"html":"<p>"}`:    `{"mail":"a@b.org","plain":true}`,
		`{"id":5,"name":"ada","plain":true,"html":"<p>"}`: `{"id":5,"plain":true}`,
		`{"codes":["a","b"]}`:                             `{"codes":[1]}`,
		`{"codes":["4 kg","5 kg"]}`:                       `{"codes":[4,5]}`,
	} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
	if got := refusal(t, p, `{"codes":["a","b"]}`).Error(); strings.Contains(got, "/codes:") {
		t.Errorf("items that were not read are compared: %s", got)
	}
}

type ePrice struct {
	Min int `json:"price_min"`
	Max int `json:"price_max" validate:"gtefield=Min"`
}

type eArea struct {
	Min int `json:"area_min"`
	Max int `json:"area_max" validate:"gtefield=Min"`
}

// TestPairsOfEmbeddedStructs checks that a rule names a field of the struct that declares the rule.
func TestPairsOfEmbeddedStructs(t *testing.T) {
	t.Parallel()
	type in struct {
		ePrice
		eArea
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for call, try := range map[string]string{
		`{"price_min":60,"price_max":70,"area_min":50,"area_max":40}`: `{"price_min":60,"price_max":70,"area_min":40,"area_max":50}`,
		`{"price_min":80,"price_max":70,"area_min":40,"area_max":50}`: `{"price_min":70,"price_max":80,"area_min":40,"area_max":50}`,
	} {
		if got := refusal(t, p, call); got.Try != try || got.Examples != nil {
			t.Errorf("%s: %s, examples %q", call, got.Try, got.Examples)
		}
	}
	if got := paths(refusal(t, p, `{"price_min":"x","price_max":70,"area_min":50,"area_max":40}`)); got != "/price_min /area_max" {
		t.Errorf("faults at %s", got)
	}
}

// TestWhatIsTried checks that values of the call are kept, and that other values are named as examples.
func TestWhatIsTried(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[eOrder](), binding.Input, binding.Options{})
	for _, c := range []struct {
		call, try string
		examples  []string
	}{
		{`{"query":"a","field":["rating"]}`, `{"query":"a","field":"rating"}`, nil},
		{`{"query":"a","field":"not rating"}`, `{"query":"a"}`, nil},
		{`{"query":"a","field":"rating,price"}`, `{"query":"a"}`, nil},
		{`{"query":"a","field":"rating (descending)"}`, `{"query":"a","field":"rating"}`, nil},
		{`{"Query":"tea"}`, `{"query":"tea"}`, nil},
		{`{"search_query":"tea"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","mail":"a@b.org"}`, `{"query":"tea","email":"a@b.org"}`, nil},
		{`{"query":"tea","small":"300"}`, `{"query":"tea","small":127}`, nil},
		{`{"query":"tea","from":5,"to":3}`, `{"query":"tea","from":3,"to":5}`, nil},
		{`{"query":"tea","force":null,"x":1}`, `{"query":"tea","force":null}`, nil},
		{`{"query":"tea","pair":["a"]}`, `{"query":"tea","pair":["a","text"]}`, []string{"/pair/1"}},
		{`{"query":"tea","lines":[{"name":"cup","count":0}]}`, `{"query":"tea","lines":[{"name":"cup","count":1}]}`, nil},
		{`{"query":"tea","lines":[{"title":"cup","count":2}]}`, `{"query":"tea","lines":[{"count":2,"name":"cup"}]}`, nil},
		{`{"query":"tea","lines":[{"count":2}]}`, `{"query":"tea","lines":[{"count":2,"name":"text"}]}`, []string{"/lines/0/name"}},
		{`{"query":"tea","lines":{"name":"cup","count":2}}`, `{"query":"tea","lines":[{"name":"cup","count":2}]}`, nil},
		{`{"arguments":{"query":"tea","small":5}}`, `{"query":"tea","small":5}`, nil},
		{`{"Params":{"search_query":"tea","small":"300"}}`, `{"small":127,"query":"tea"}`, nil},
		{`{"input":"{\"query\":\"tea\"}"}`, `{"query":"tea"}`, nil},
		{`{"arguments":{"small":5}}`, `{"small":5,"query":"text"}`, []string{"/query"}},
		{`{}`, `{"query":"text"}`, []string{"/query"}},
		{`{"query":"tea","pair":"a"}`, `{"query":"tea","pair":["a","text"]}`, []string{"/pair/1"}},
		{`{"query":"tea","pair":{"0":"a","1":"b"}}`, `{"query":"tea","pair":["a","b"]}`, nil},
		{`{"query":"tea","lines":{"0":{"name":"cup","count":2},"1":{"name":"pot","count":1}}}`, `{"query":"tea","lines":[{"name":"cup","count":2},{"name":"pot","count":1}]}`, nil},
		{`{"order":{"query":"tea","small":5}}`, `{"query":"tea","small":5}`, nil},
		{`{"order":"{\"query\":\"tea\"}"}`, `{"query":"tea"}`, nil},
		{`{"order":{"query":"tea","small":"x"}}`, `{"query":"tea"}`, nil},
		{`{"order":{"q":"tea","words":5}}`, `{"words":["5"],"query":"tea"}`, nil},
		{`{"search":{"query":"tea","small":5}}`, `{"query":"tea","small":5}`, nil},
		{`{"kwargs":{"query":"tea","smal":5}}`, `{"query":"tea","small":5}`, nil},
		{`{"buyer":{"query":"Bob","small":5},"small":1}`, `{"small":1,"query":"text"}`, []string{"/query"}},
		{`{"verbose":true,"session":"abc"}`, `{"query":"text"}`, []string{"/query"}},
		{`{"query":"tea","lines":{"ada":{"name":"cup","count":1},"bob":{"count":2}}}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","lines":{"0":{"name":"cup","count":0},"1":{"name":"pot","count":1}}}`, `{"query":"tea","lines":[{"name":"cup","count":1},{"name":"pot","count":1}]}`, nil},
		{`{"query":"tea","grid":{"0":[1,2]}}`, `{"query":"tea","grid":[[1,2]]}`, nil},
		{`{"query":"tea","grid":"[1,2]"}`, `{"query":"tea","grid":[[1,2]]}`, nil},
		{`{"query":"tea","args":{"args":{"a":1}}}`, `{"query":"tea","args":[{"args":{"a":1}}]}`, nil},
		{`{"query":"tea","args":{"items":[1]}}`, `{"query":"tea","args":[1]}`, nil},
		{`{"query":"tea","words":{"0":"a","1":5}}`, `{"query":"tea","words":["a","5"]}`, nil},
		{`{"query":"tea","words":{"ada":true}}`, `{"query":"tea","words":["true"]}`, nil},
		{`{"query":"tea","labels":[{"key":"a","value":"b"}]}`, `{"query":"tea","labels":{"a":"b"}}`, nil},
		{`{"query":"tea","labels":[{"name":"a","value":"b"},{"name":"c","value":"d"}]}`, `{"query":"tea","labels":{"a":"b","c":"d"}}`, nil},
		{`{"query":"tea","labels":[{"a":"b","c":"d"}]}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":".5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"minus 5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"−5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"-$5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"negative 5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"5 million"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"0xFF"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"(-5)"}`, `{"query":"tea","rate":-5}`, nil},
		{`{"query":"tea","rate":"$-5"}`, `{"query":"tea","rate":-5}`, nil},
		{`{"query":"tea","rate":"- 5"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"10k"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","rate":"no. 5"}`, `{"query":"tea","rate":5}`, nil},
		{`{"query":"tea","rate":"10 kg"}`, `{"query":"tea","rate":10}`, nil},
		{`{"query":"tea","share":"1 1/2"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","force":"fAlse"}`, `{"query":"tea","force":false}`, nil},
		{`{"querry":{"small":5}}`, `{"small":5,"query":"text"}`, []string{"/query"}},
		{`{"query":"tea","share":"1/0"}`, `{"query":"tea"}`, nil},
		{`{"query":"tea","from":"room-5"}`, `{"query":"tea","from":5}`, nil},
		{`{"from":"4 days","query":{"text":"tea"}}`, `{"from":4,"query":"tea"}`, nil},
	} {
		got := refusal(t, p, c.call)
		if got.Try != c.try || !slices.Equal(got.Examples, c.examples) {
			t.Errorf("%s: Try %s, examples %q; want %s and %q", c.call, got.Try, got.Examples, c.try, c.examples)
		}
		if told := "\nExamples, to be replaced: " + strings.Join(c.examples, ", ") + "\nTry: "; strings.Contains(got.Error(), told) != (c.examples != nil) {
			t.Errorf("%s: %s", c.call, got)
		}
	}
}

// TestLongExamples checks that pointers that are too long are not listed, however long the names in the call
// are.
func TestLongExamples(t *testing.T) {
	t.Parallel()
	type pair struct {
		A string `json:"a"`
		B string `json:"b"`
	}
	p := mustCompile(t, reflect.TypeFor[struct {
		M map[string]pair `json:"m"`
	}](), binding.Input, binding.Options{})
	got := refusal(t, p, `{"m":{"`+strings.Repeat("k", 400)+`":{}}}`)
	if text := got.Error(); len(got.Examples) != 1 || got.Try == "" || len(text) > 2<<10 || !strings.Contains(text, "is an example, to be replaced.\nTry: ") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

type eLogin struct {
	User     string `json:"user"`
	Password string `json:"password,omitempty" secret:"true"`
	Limit    int    `json:"limit,omitempty"`
	Note     string `json:"note,omitempty"`
	More     any    `json:"more,omitempty"`

	Words  []string          `json:"words,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Counts map[string]int    `json:"counts,omitempty"`
	Proof  eProof            `json:"proof,omitempty"`

	Old []eOldLogin `json:"old,omitempty" validate:"max=1"`
}

type eProof interface{ isProof() }

type eKeyProof struct {
	Key string `json:"key" secret:"true"`
}

func (eKeyProof) isProof() {}

type eOldLogin struct {
	User     string `json:"user"`
	Password string `json:"password" secret:"true"`
}

// TestSecretsUnderOtherNames checks a type with a secret. The value of an unknown name, and a value inside
// another one, may be the secret, and must not be repeated.
func TestSecretsUnderOtherNames(t *testing.T) {
	t.Parallel()
	proofs := binding.Union{
		Interface: reflect.TypeFor[eProof](), Discriminator: "kind", Variants: map[string]reflect.Type{"key": reflect.TypeFor[eKeyProof]()},
	}
	for _, loose := range []bool{false, true} {
		p := mustCompile(t, reflect.TypeFor[eLogin](), binding.Input, binding.Options{AllowUnknown: loose, Unions: []binding.Union{proofs}})
		for _, call := range []string{
			`{"user":"ada","limit":"x","pasword":"hunter2"}`,
			`{"limit":"x","passwd":"hunter2"}`,
			`{"arguments":{"user":"ada","limit":"x","password":"hunter2"}}`, `{"params":"{\"user\":\"ada\",\"pasword\":\"hunter2\"}"}`,
			`{"limit":"x","usr":"hunter2"}`,
			`{"user":"ada","limit":"x","more":{"password":"hunter2"}}`,
			`{"user":"ada","limit":"x","more":"hunter2"}`,
			`{"user":"ada","limit":{"password":"hunter2"}}`,
			`{"user":"ada","words":"{\"password\":\"hunter2\"}"}`,
			`{"user":"ada","limit":"{\"password\":\"hunter2\"}"}`,
			`{"user":"{\"password\":\"hunter2\"}","limit":"x"}`,
			`{"user":"{\"a\":[{\"Pass_Word\":\"hunter2\"}]}","limit":"x"}`,
			`{"user":"ada","header":{"password":"hunter2"},"limit":"x"}`,
			`{"data":{"user":"ada","header":{"password":"hunter2"},"limit":"x"}}`,
			`{"user":"ada","counts":{"password":"hunter2"}}`,
			`{"user":"ada","proof":{"kind":{"key":"hunter2"}}}`,
			`{"user":"ada","proof":{"kind":["hunter2"]}}`,
			`{"user":"ada","note":{"password":"hunter2"}}`,
			`{"user":"ada","note":{"password":"hunter2","user":"ada"}}`,
			`{"user":"ada","note":["hunter2"]}`,
			`{"user":"ada","note":"hunter","password":["hunter2"]}`,
			`{"user":"ada","more":null,"old":[{"user":"ada","password":"hunter2"},{"user":"ada","password":"x"}]}`,
			`["hunter2"]`,
			`"hunter2"`,
			`"{\"password\":\"hunter2\",\"limit\":\"x\"}"`,
		} {
			if got := refusal(t, p, call); strings.Contains(got.Error(), "hunter2") || strings.Contains(got.Try, "hunter2") {
				t.Errorf("%s (loose: %v): %s", call, loose, got)
			}
		}
		if loose {
			continue
		}
		if got := refusal(t, p, `{"User":"ada","limit":"5 items"}`); got.Try != `{"limit":5,"user":"ada"}` {
			t.Errorf("what is no secret: %s", got.Try)
		}
	}
}

// fPanicJSON has a method that panics without an error text.
type fPanicJSON struct{ A int }

func (*fPanicJSON) UnmarshalJSON([]byte) error { panic("no") }

// TestWordsOfOwnJSON checks that an error does not ask for "any value" if the method of a type refuses the
// value.
func TestWordsOfOwnJSON(t *testing.T) {
	t.Parallel()
	type in struct {
		X fPanicJSON `json:"x"`
	}
	got := refusal(t, mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{}), `{"x":{}}`)
	if text := got.Error(); !strings.Contains(text, "Want the JSON form of fPanicJSON.") {
		t.Error(text)
	}
}

// TestHugeExamples checks that no example is built that is too long to be tried.
func TestHugeExamples(t *testing.T) {
	type in struct {
		Grid  [64][64][64]uint8 `json:"grid"`
		Lists [][][]string      `json:"lists" validate:"len=50,dive,len=50,dive,len=50"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	if got := refusal(t, p, `{}`); got.Try != "" {
		t.Errorf("tried %d bytes", len(got.Try))
	}
	if n := testing.AllocsPerRun(1, func() { _ = refusal(t, p, `{}`) }); n > 50000 {
		t.Errorf("%.0f allocations", n)
	}
}

// TestOppositesAreNotTried checks that a suggestion does not reverse the meaning of a call.
func TestOppositesAreNotTried(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[struct {
		MinPrice int      `json:"min_price,omitempty"`
		Status   string   `json:"status,omitempty" validate:"omitempty,oneof=active archived"`
		Tags     []string `json:"tags,omitempty"`
		Ratio    float64  `json:"ratio,omitempty" validate:"omitempty,max=1"`
		Share    int      `json:"share,omitempty" validate:"max=100"`
	}](), binding.Input, binding.Options{})
	for call, try := range map[string]string{
		`{"status":{"not":"active"}}`: `{}`, `{"status":{"$ne":"active"}}`: `{}`, `{"status":{"exclude":"active"}}`: `{}`, `{"status":[{"not":"active"}]}`: `{}`,
		`{"status":{"op":"ne","value":"active"}}`: `{}`, `{"status":{"!=":"active"}}`: `{}`, `{"status":"!active"}`: `{}`, `{"status":{"is":"active"}}`: `{"status":"active"}`,
		`{"tags":{"nin":["a"]}}`: `{}`, `{"tags":{"in":["a"]}}`: `{"tags":["a"]}`, `{"not":{"status":"active"}}`: `{}`, `{"filter":{"status":"active"}}`: `{"status":"active"}`,
		`{"ratio":"50%"}`: `{}`, `{"ratio":"50"}`: `{"ratio":1}`, `{"share":"50%"}`: `{"share":50}`,
		`{"max_price":5}`: `{}`, `{"status":"inactive"}`: `{}`, `{"exclude_tags":["a"]}`: `{}`, `{"MinPrice":5}`: `{"min_price":5}`,
	} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
}

// TestOppositesOfRequired checks that a value that is not wanted does not become the value of a missing
// member.
func TestOppositesOfRequired(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[struct {
		Tags []string `json:"tags" validate:"min=1"`
	}](), binding.Input, binding.Options{})
	for call, try := range map[string]string{
		`{"tags":{"exclude":["a"]}}`: `{"tags":["text"]}`, `{"exclude":["a"]}`: `{"tags":["text"]}`, `{"words":["a"]}`: `{"tags":["a"]}`,
	} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
}

// TestSignsOfKeys checks that a corrected key keeps its sign.
func TestSignsOfKeys(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[map[int]string](), binding.Input, binding.Options{})
	for call, try := range map[string]string{`{"-5 ":"x"}`: `{"-5":"x"}`, `{"row -5":"x"}`: `{"-5":"x"}`, `{"row-5":"x"}`: `{"5":"x"}`, `{"12A":"x"}`: `{"12":"x"}`} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
}

// TestPartsOfTexts checks that the host of a host with a port is tried, and that a decimal point is not left
// out.
func TestPartsOfTexts(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[struct {
		Host  string `json:"host,omitempty" validate:"omitempty,hostname_rfc1123"`
		Cents string `json:"cents,omitempty" validate:"omitempty,number"`
	}](), binding.Input, binding.Options{})
	for call, try := range map[string]string{
		`{"host":"localhost:8080"}`: `{"host":"localhost"}`, `{"host":"http://localhost"}`: `{"host":"localhost"}`,
		`{"cents":"123456.78"}`: `{}`, `{"cents":"1234-5678-9012"}`: `{"cents":"123456789012"}`,
	} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
}
