package binding_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// fHex reads its text with the standard library. Errors of the standard library name packages.
type fHex struct{ raw []byte }

func (h *fHex) UnmarshalText(text []byte) (err error) {
	h.raw, err = hex.DecodeString(string(text))
	if err != nil {
		return errors.Join(errors.New("encoding/hex: no hex"), err)
	}
	return nil
}

// fTold returns errors that say what is wrong.
type fTold struct{}

func (*fTold) UnmarshalText([]byte) error { return errors.New("no such room; rooms are A1 and B2") }

type fFixes struct {
	Hex    fHex              `json:"hex,omitzero"`
	Told   fTold             `json:"told,omitzero"`
	Port   netip.AddrPort    `json:"port,omitzero"`
	Low    int               `json:"low,omitempty" validate:"ltefield=High"`
	High   int               `json:"high,omitempty" validate:"max=100"`
	Least  time.Duration     `json:"least,omitempty"`
	Most   time.Duration     `json:"most,omitempty" validate:"gtfield=Least"`
	Again  string            `json:"again,omitempty" validate:"eqfield=First"`
	First  string            `json:"first,omitempty"`
	Ratio  float64           `json:"ratio,omitempty"`
	Above  float64           `json:"above,omitempty" validate:"gtfield=Ratio"`
	Big    int64             `json:"big,omitempty"`
	Text   string            `json:"text,omitempty" validate:"min=4"`
	At     string            `json:"at,omitempty" validate:"datetime=02 Jan 06 15:04"`
	Net    string            `json:"net,omitempty" validate:"cidr"`
	Colors map[tColor]int    `json:"colors,omitempty"`
	Rows   map[int8]string   `json:"rows,omitempty" validate:"min=1"`
	Days   map[time.Time]int `json:"days,omitempty"`
	Named  map[string]int    `json:"named,omitempty" validate:"min=2,dive,keys,alpha,endkeys,min=5"`
	Hosts  map[netip.Addr]int
}

func TestCorrectedCalls(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[fFixes](), binding.Input, binding.Options{})
	const (
		rest = `,"Hosts":{}}`
		left = `{"Hosts":{}}` // without a near value, an optional member is left out
	)
	for _, c := range []struct {
		args string // without the end
		text string // must stand in the text
		not  string // must not
		try  string // without the end; "" if there is no suggestion
	}{
		{`{"hex":"zz"`, `/hex: got "zz"`, "encoding", ""},
		{`{"told":"C3"`, "No such room; rooms are A1 and B2.", "fTold:", ""},
		{`{"port":"x"`, "an IP address and port such as 192.0.2.1:443", "netip", left},
		{`{"low":9,"high":3`, "Must not be greater than high", "", `{"low":3,"high":9`},
		{`{"low":900,"high":3`, "/low", "", `{"low":2,"high":3`},
		{`{"low":9,"high":"x"`, "/high", "/low:", ``},
		{`{"least":"5s","most":"5s"`, "/most", "", `{"least":"5s","most":"6s"`},
		{`{"least":"5s","most":"1s"`, "/most", "", `{"least":"1s","most":"5s"`},
		{`{"first":"a","again":"b"`, "/again", "", `{"first":"a","again":"a"`},
		{`{"ratio":0.5,"above":0.25`, "/above", "", `{"ratio":0.25,"above":0.5`},
		{`{"ratio":0.5,"above":0.5`, "/above", "", `{"ratio":0.5,"above":1.5`},
		{`{"big":9223372036854775808`, "/big", "Try: {\"big\":9223372036854775807", left},
		{`{"big":-1e30`, "/big: got -1e30 (number). Want a whole number. It is beyond the range of numbers of 64 bits.", "", left},
		{`{"big":1.5`, "/big: got 1.5 (number). Want a whole number.", "beyond", `{"big":2`},
		{`{"ratio":1e400`, "/ratio: got 1e400 (number). Want a number. It is beyond the range of numbers of 64 bits.", "", left},
		{`{"text":"hi"`, "at least 4 characters", `\"`, left},
		{`{"text":["four"]`, "/text", "", `{"text":"four"`},
		{`{"at":"now"`, "/at", "", left},
		{`{"net":"home"`, "/net", "", left},
		{`{"colors":{"Red":1}`, `/colors/Red: got the key "Red". Want a key that is one of "red", "green", "blue".`, "", `{"colors":{"red":1}`},
		{`{"colors":{"red":1,"pink":2}`, `/colors/pink`, "", `{"colors":{"red":1,"green":2}`},
		{`{"rows":{"128":"x"}`, "/rows/128: got the key \"128\". Want a key that is a whole number from -128 to 127.", "/rows:", `{"rows":{"1":"x"}`},
		{`{"rows":{"row 7":"x"}`, "/rows/row 7", "/rows:", `{"rows":{"7":"x"}`},
		{`{"rows":["x"]`, "an object with at least 1 member", "", left},
		{`{"named":{"a":5}`, "an object with at least 2 members", "", ""},
		{`{"named":{"a1":7,"b":5}`, "/named/a1", "/named:", `{"named":{"b":5,"key":7}`},
		{`{"days":{"today":1}`, `/days/today: got the key "today". Want a key that is a time such as 2026-01-31T15:04:05Z.`, "", `{"days":{"2026-01-31T15:04:05Z":1}`},
		{`{"days":{"2026-01-31T15:04:05,5Z":1}`, "a key that is a time", "", `{"days":{"2026-01-31T15:04:05Z":1}`},
		{`{"Hosts":{"":1}`, "a key that is an IP address", "netip", `{"Hosts":{"192.0.2.1":1}`},
	} {
		args, try := c.args+rest, c.try
		if strings.Contains(c.args, "Hosts") {
			args = c.args + "}"
			try += "}"
		} else if try != "" && try != left {
			try += rest
		}
		_, err := p.Decode(t.Context(), []byte(args), reflect.New(p.Type()).Elem())
		var invalid *binding.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want it refused", args, err)
			continue
		}
		text := invalid.Error()
		if !strings.Contains(text, c.text) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: want %q and not %q in\n%s", args, c.text, c.not, text)
		}
		if try != "" && invalid.Try != try {
			t.Errorf("%s: Try is %s, want %s", args, invalid.Try, try)
		}
	}
}

type fPair struct {
	Low  int    `json:"low"`
	High int    `json:"high" validate:"gtefield=Low"`
	Name string `json:"name" validate:"min=2"`
}

type fMany struct {
	Pairs []fPair           `json:"pairs,omitempty" validate:"omitempty,max=2"`
	Tags  []string          `json:"tags,omitempty" validate:"omitempty,max=1,dive,min=3"`
	Grid  [][]string        `json:"grid,omitempty" validate:"omitempty,max=1,dive,max=1,dive,min=3"`
	Words map[string]string `json:"words,omitempty" validate:"omitempty,max=1,dive,keys,min=3,endkeys,min=3"`
	Sizes map[string]*fPair `json:"sizes,omitempty" validate:"omitempty,min=2"`
	Ports map[int]int       `json:"ports,omitempty" validate:"omitempty,dive,keys,min=5,endkeys,min=5"`
}

// TestFaultsInsideOfFaults checks that all faults are reported at once, also faults inside a list or map that
// itself has a fault, and faults of the key and the value of a map entry.
func TestFaultsInsideOfFaults(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[fMany](), binding.Input, binding.Options{})
	for _, c := range []struct {
		args  string
		paths []string
		try   string
	}{
		{
			`{"pairs":[{"low":3,"high":1,"name":"a"},{"low":1,"high":3,"name":"ab"},{"low":1,"high":3,"name":"b"}]}`,
			[]string{"/pairs max", "/pairs/0/high gtefield", "/pairs/0/name min", "/pairs/2/name min"},
			`{"pairs":[{"low":1,"high":3,"name":"text"},{"low":1,"high":3,"name":"ab"}]}`,
		},
		{`{"tags":["a","abc"]}`, []string{"/tags max", "/tags/0 min"}, `{"tags":["text"]}`},
		{`{"tags":["abc","a"]}`, []string{"/tags max", "/tags/1 min"}, `{"tags":["abc"]}`},
		{`{"tags":["abc",5]}`, []string{"/tags max", "/tags/1 type"}, `{"tags":["abc"]}`},
		{`{"grid":[["a","abc"],["b"]]}`, []string{"/grid max", "/grid/0 max", "/grid/0/0 min", "/grid/1/0 min"}, `{"grid":[["text"]]}`},
		{`{"words":{"a":"b","abc":"abc"}}`, []string{"/words max", "/words/a min key", "/words/a min"}, ""},
		{`{"words":{"a":"a"}}`, []string{"/words/a min key", "/words/a min"}, `{"words":{"key":"text"}}`},
		{`{"words":{"a":"abc"}}`, []string{"/words/a min key"}, `{"words":{"key":"abc"}}`},
		{`{"words":{"abc":"a"}}`, []string{"/words/abc min"}, `{"words":{"abc":"text"}}`},
		{`{"sizes":{"a":{"low":3,"high":1,"name":"ab"}}}`, []string{"/sizes min", "/sizes/a/high gtefield"}, ""},
		{`{"ports":{"4":4}}`, []string{"/ports/4 min key", "/ports/4 min"}, `{"ports":{"5":5}}`},
		{`{"ports":{"4":7}}`, []string{"/ports/4 min key"}, ""},
		{`{"ports":{"7":4}}`, []string{"/ports/7 min"}, `{"ports":{"7":5}}`},
	} {
		_, err := p.Decode(t.Context(), []byte(c.args), reflect.New(p.Type()).Elem())
		var invalid *binding.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want it refused", c.args, err)
			continue
		}
		var got []string
		for _, issue := range invalid.Issues {
			line := issue.Path + " " + issue.Rule
			if strings.HasPrefix(issue.Got, "the key") {
				line += " key"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.paths) {
			t.Errorf("%s: got %q, want %q", c.args, got, c.paths)
		}
		if c.try != "" && invalid.Try != c.try {
			t.Errorf("%s: Try is %s, want %s", c.args, invalid.Try, c.try)
		}
	}
}

// TestKeysOutsideOfTheirValues checks that a key that is not one of the values in the schema is not written.
func TestKeysOutsideOfTheirValues(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[map[tColor]int](), binding.Output, binding.Options{})
	if raw, err := p.Append(nil, reflect.ValueOf(map[tColor]int{"red": 1})); err != nil || string(raw) != `{"red":1}` {
		t.Errorf("got %s, %v", raw, err)
	}
	if raw, err := p.Append(nil, reflect.ValueOf(map[tColor]int{"pink": 1})); err == nil || !strings.Contains(err.Error(), `"pink"`) {
		t.Errorf("got %s, %v, want an error that names the key", raw, err)
	}
}

// TestZeroAddressesAreValid checks that a struct with an address that was never set is not an error of the
// handler, and that readers that assert formats accept it.
func TestZeroAddressesAreValid(t *testing.T) {
	t.Parallel()
	type out struct {
		Addr   netip.Addr   `json:"addr"`
		Prefix netip.Prefix `json:"prefix"`
	}
	p := mustCompile(t, reflect.TypeFor[out](), binding.Output, binding.Options{})
	raw, err := p.Append(nil, reflect.ValueOf(out{}))
	if err != nil || !json.Valid(raw) || !accepts(t, judgeOf(t, p.Schema()), raw) {
		t.Errorf("%s (%v) is not valid by %s", raw, err, p.Schema())
	}
}
