package binding_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type blankIn struct {
	Int      int            `json:"int,omitempty" default:"7" validate:"min=1"`
	Uint     uint8          `json:"uint,omitempty"`
	Float    float64        `json:"float,omitempty"`
	Bool     bool           `json:"bool,omitempty" default:"true"`
	Time     time.Time      `json:"time,omitzero"`
	Wait     time.Duration  `json:"wait" default:"5s"`
	Color    tColor         `json:"color,omitempty"`
	Order    string         `json:"order" default:"asc" validate:"oneof=asc desc"`
	Mail     string         `json:"mail,omitempty" validate:"email"`
	Address  netip.Addr     `json:"address,omitzero"`
	List     []string       `json:"list,omitempty" validate:"min=1"`
	Map      map[string]int `json:"map,omitempty"`
	Struct   *tBase         `json:"struct"`
	Pointer  *int           `json:"pointer" default:"3"`
	Optional *int           `json:"optional" validate:"omitempty,min=1"`
	Text     string         `json:"text" default:"none"`
	Any      any            `json:"any,omitempty"`
	Date     string         `json:"date,omitempty" validate:"datetime=2006-01-02"`
	UUID     string         `json:"uuid,omitempty" validate:"uuid4"`
	IP       string         `json:"ip,omitempty" validate:"ip"`
	Phone    string         `json:"phone,omitempty" validate:"e164"`
	Clock    string         `json:"clock,omitempty" validate:"datetime=15:04"`
	Either   string         `json:"either,omitempty" validate:"ip|mac"`
	Beside   string         `json:"beside,omitempty" validate:"cidr,nefield=Phone"`
	Speed    string         `json:"speed" default:"normal" validate:"omitempty,oneof=slow normal"`
	Reply    string         `json:"reply" default:"a@example.com" validate:"omitempty,email"`
	Short    string         `json:"short" default:"ab" validate:"omitempty,min=2"`
}

// TestBlank checks that an optional argument counts as not given if it is null, or if it is "" and not a free
// text.
func TestBlank(t *testing.T) {
	t.Parallel()
	none, _, err := decodeTo[blankIn](t, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	typ := reflect.TypeFor[blankIn]()
	for f := range typ.Fields() {
		name := f.Tag.Get("json")
		name, _, _ = strings.Cut(name, ",")
		for _, raw := range []string{`null`, `""`} {
			got, report, err := decodeTo[blankIn](t, `{"`+name+`":`+raw+`}`)
			recorded := slices.Equal(report.Repaired, []string{"/" + name})
			want := none
			switch {
			case raw == `""` && name == "text": // "" is a text
				want.Text, recorded = "", len(report.Repaired) == 0
			case raw == `""` && name == "short": // and any text may be empty by omitempty
				want.Short, recorded = "", len(report.Repaired) == 0
			case raw == `""` && name == "any":
				want.Any, recorded = "", len(report.Repaired) == 0
			case raw == "null" && (name == "any" || name == "optional" || name == "struct"): // the types have a null
				recorded = len(report.Repaired) == 0
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s: %v\n got %+v\nwant %+v", name, raw, err, got, want)
			}
			if !recorded {
				t.Errorf("%s %s: repaired %q", name, raw, report.Repaired)
			}
		}
	}
	p := mustCompile(t, typ, binding.Input, binding.Options{NoRepair: true})
	type free struct {
		Word string `json:"word,omitempty" validate:"alpha|mac"`
		Name string `json:"name,omitempty" validate:"min=2"`
	}
	for _, raw := range []string{`{"word":""}`, `{"name":""}`} {
		if _, _, err := decodeTo[free](t, raw); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
	for _, raw := range []string{`{"int":null}`, `{"bool":""}`, `{"order":""}`, `{"list":null}`} {
		if _, err := p.Decode(t.Context(), []byte(raw), reflect.New(typ).Elem()); err == nil {
			t.Errorf("without repair: %s was accepted", raw)
		}
	}
}

// TestBlankRequired checks that required values must be given, also in lists and structs.
func TestBlankRequired(t *testing.T) {
	t.Parallel()
	type item struct {
		N int  `json:"n"`
		M *int `json:"m" validate:"required_with=N"`
		O int  `json:"o,omitempty" default:"4"`
	}
	type in struct {
		A int            `json:"a"`
		B string         `json:"b" validate:"oneof=x y"`
		C *bool          `json:"c" validate:"required"`
		L []item         `json:"l"`
		N []int          `json:"n,omitempty"`
		M map[string]int `json:"m,omitempty"`
	}
	for raw, want := range map[string]string{
		`{"a":null,"b":"x","c":true,"l":[]}`:                      "/a",
		`{"a":"","b":"x","c":true,"l":[]}`:                        "/a",
		`{"a":1,"b":"","c":true,"l":[]}`:                          "/b",
		`{"a":1,"b":null,"c":true,"l":[]}`:                        "/b",
		`{"a":1,"b":"x","c":null,"l":[]}`:                         "/c",
		`{"a":1,"b":"x","c":"","l":[]}`:                           "/c",
		`{"a":1,"b":"x","c":true,"l":null}`:                       "/l",
		`{"a":1,"b":"x","c":true,"l":[],"n":[null]}`:              "/n/0",
		`{"a":1,"b":"x","c":true,"l":[],"m":{"k":""}}`:            "/m/k",
		`{"a":1,"b":"x","c":true,"l":[{"n":1,"m":null}]}`:         "/l/0/m",
		`{"a":1,"b":"x","c":true,"l":[{"n":1,"m":""}]}`:           "/l/0/m",
		`{"a":1,"b":"x","c":true,"l":[{"n":1,"m":2,"o":null}]}`:   "",
		`{"a":1,"b":"x","c":true,"l":[{"n":"1","m":"2","o":""}]}`: "",
	} {
		got, _, err := decodeTo[in](t, raw)
		if paths(err) != want {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if want == "" && err == nil && got.L[0].O != 4 {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

// bOwn reads its own JSON. For null it leaves the value unchanged, as package json asks.
type bOwn struct{ N int }

func (b *bOwn) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, &b.N)
}

// TestBlankBesideKeywords checks that the tag with the allowed values does not change what counts as not
// given.
func TestBlankBesideKeywords(t *testing.T) {
	t.Parallel()
	type in struct {
		Order string `json:"order,omitempty" jsonschema:"enum=asc,enum=desc"`
		Mail  string `json:"mail,omitempty" jsonschema:"format=email"`
		Any   any    `json:"any,omitempty" jsonschema:"type=string"`
		Own   bOwn   `json:"own" default:"7"`
		Name  string `json:"name,omitempty" jsonschema:"minLength=2"`
	}
	for raw, want := range map[string]string{
		`{"order":""}`: "/order", `{"order":null}`: "/order", `{"mail":""}`: "/mail", `{"mail":null}`: "/mail", `{"any":null}`: "/any", `{"own":null}`: "/own",
		`{"name":null}`: "/name", `{"name":""}`: "refused", `{"order":"x"}`: "refused", `{"any":5}`: "refused", `{"own":5}`: "", `{"any":""}`: "",
	} {
		got, report, err := decodeTo[in](t, raw)
		switch repaired := strings.Join(report.Repaired, " "); {
		case (err != nil) != (want == "refused"):
			t.Errorf("%s: %v", raw, err)
		case err == nil && repaired != want:
			t.Errorf("%s: repaired %q, want %q", raw, repaired, want)
		case want == "/own" && got.Own.N != 7:
			t.Errorf("%s: %+v", raw, got)
		}
	}
	type required struct {
		Order string `json:"order" jsonschema:"enum=asc,enum=desc"`
	}
	for _, raw := range []string{`{"order":""}`, `{"order":null}`} {
		if _, _, err := decodeTo[required](t, raw); paths(err) != "/order" {
			t.Errorf("required %s: %v", raw, err)
		}
	}
}

// TestNothingIsMissingInWhatIsLeftOut checks that an optional object may be left out, whatever members it
// needs if it is given.
func TestNothingIsMissingInWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	type inner struct {
		A string `json:"a,omitempty"`
		B string `json:"b,omitempty" validate:"required_without=A"`
	}
	type outer struct {
		Filter inner `json:"filter,omitzero"`
	}
	type in struct {
		Filter inner   `json:"filter,omitzero"`
		Outer  outer   `json:"outer,omitzero"`
		List   []outer `json:"list,omitempty"`
	}
	for raw, want := range map[string]string{
		`{}`: "", `{"filter":null}`: "", `{"filter":""}`: "", `{"outer":{}}`: "", `{"list":[{},{"filter":null}]}`: "", `{"filter":{"a":"x"}}`: "",
		`{"filter":{}}`: "/filter/b", `{"outer":{"filter":{"b":null}}}`: "/outer/filter/b", `{"list":[{},{"filter":{}}]}`: "/list/1/filter/b",
	} {
		if _, _, err := decodeTo[in](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestRepairedSpellings checks values that differ from the right ones only in their spelling.
func TestRepairedSpellings(t *testing.T) {
	t.Parallel()
	type in struct {
		B bool     `json:"b,omitempty"`
		D []byte   `json:"d,omitempty"`
		L [][]byte `json:"l,omitempty"`
	}
	for _, c := range []struct{ raw, want, repaired string }{
		{`{"b":"True"}`, `{"b":true}`, "/b"},
		{`{"b":"TRUE"}`, `{"b":true}`, "/b"},
		{`{"b":"False"}`, `{}`, "/b"},
		{`{"b":" true"}`, `{"b":true}`, "/b"},
		{`{"b":"\nTrue "}`, `{"b":true}`, "/b"},
		{`{"b":" x"}`, "refused", ""},
		{`{"d":"YQ"}`, `{"d":"YQ=="}`, "/d"},
		{`{"d":"YQ="}`, `{"d":"YQ=="}`, "/d"},
		{`{"d":"_-8="}`, `{"d":"/+8="}`, "/d"},
		{`{"d":"_-8"}`, `{"d":"/+8="}`, "/d"},
		{`{"l":["YQ==","YWI"]}`, `{"l":["YQ==","YWI="]}`, "/l/1"},
		{`"{\"b\":true}"`, `{"b":true}`, ""},
		{`{"d":"_+8"}`, "refused", ""},
		{`{"d":"Y"}`, "refused", ""},
		{`{"d":"Y Q"}`, "refused", ""},
	} {
		got, report, err := decodeTo[in](t, c.raw)
		if c.want == "refused" {
			if err == nil {
				t.Errorf("%s was accepted: %+v", c.raw, got)
			}
			continue
		}
		text, failed := encode(t, got)
		if err != nil || failed != nil || text != c.want || len(report.Repaired) != 1 || report.Repaired[0] != c.repaired {
			t.Errorf("%s: %s, repaired %q, %v", c.raw, text, report.Repaired, err)
		}
	}
}

// TestRepairedBytesKeepTheirSchema checks that leaving out the padding does not evade a keyword about the text
// of bytes.
func TestRepairedBytesKeepTheirSchema(t *testing.T) {
	t.Parallel()
	type in struct {
		D []byte `json:"d" jsonschema:"maxLength=4"`
	}
	for raw, want := range map[string]bool{
		`{"d":"YWJj"}`: true, `{"d":"YWI"}`: true, `{"d":"YWJjZA=="}`: false, `{"d":"YWJjZA"}`: false, `{"d":"123456"}`: false,
	} {
		if got, _, err := decodeTo[in](t, raw); (err == nil) != want {
			t.Errorf("%s: %q, %v", raw, got.D, err)
		}
	}
}
