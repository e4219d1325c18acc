package jsontext_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	texts := []string{
		`0`, `-0`, `10`, `1.5`, `1e9`, `-1.25E-10`, `1E+2`, `true`, `false`, `null`, `""`, `"a"`,
		" \t\r\n{} \n", `[]`, `[ ]`, `{ }`, `[1,2 , 3]`, `{"a":1}`, `{ "a" : [ { } , [ ] ] , "b":null }`,
		`"\"\\\/\b\f\n\r\t\u0041"`, `"\ud83d\ude00"`, `"\uD83D\uDE00 x"`, `"日本語 é 😀"`, `"\u0000"`,
		`{"a":1,"a":2}`, `"12345678\"12345678\\"`, "\"\x7f\"", `"\uFFFF"`, "\"\u2028\"",
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		strings.Repeat("1", 400),
	}
	for _, text := range texts {
		if err := jsontext.Check([]byte(text), jsontext.DefaultLimits()); err != nil {
			t.Errorf("Check(%.80q) = %v", text, err)
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("encoding/json refuses %.80q", text)
		}
	}
}

func TestCheckRefusesSyntax(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		offset int
		reason string // a part of it
	}{
		{"", 0, "end"},
		{"  \n", 3, "end"},
		{"\xef\xbb\xbf{}", 0, "byte order mark"},
		{"\xff\xfe{\x00}\x00", 0, "value"},
		{"\x00", 0, "value"},
		{"{}\x00", 2, "after the value"},
		{"{}{}", 2, "after the value"},
		{"1 2", 2, "after the value"},
		{"{}//", 2, "after the value"},
		{"\u00a01", 0, "value"},
		{"'a'", 0, "value"},
		{"NaN", 0, "value"},
		{"Infinity", 0, "value"},
		{"tru", 0, "literal"},
		{"nulL", 0, "literal"},
		{"falsey", 5, "after the value"},
		{"[1,]", 3, "value"},
		{"[,1]", 1, "value"},
		{"[1 2]", 3, "bracket"},
		{"[1}", 2, "bracket"},
		{"[", 1, "end"},
		{"[1", 2, "end"},
		{"[1,", 3, "end"},
		{"{", 1, "end"},
		{`{"a"`, 4, "end"},
		{`{"a":`, 5, "end"},
		{`{"a":1`, 6, "end"},
		{`{"a" 1}`, 5, "colon"},
		{`{a:1}`, 1, "name"},
		{`{1:1}`, 1, "name"},
		{`{"a":1,}`, 7, "name"},
		{`{"a":1]`, 6, "brace"},
		{`{"a":}`, 5, "value"},
		{"]", 0, "value"},
		{`"`, 1, "end"},
		{`"abc`, 4, "end"},
		{`"\`, 1, "end"},
		{`"\x41"`, 1, "escape"},
		{`"\u00g0"`, 1, "escape"},
		{`"\u12"`, 1, "escape"},
		{`"\U0041"`, 1, "escape"},
		{`"\ud800"`, 1, "surrogate"},
		{`"\udc00"`, 1, "surrogate"},
		{`"\ud800\u0041"`, 1, "surrogate"},
		{`"\ud800\ud800"`, 1, "surrogate"},
		{`"\udc00\ud800"`, 1, "surrogate"},
		{`"\ud800\n"`, 1, "surrogate"},
		{`"\ud800\udc0"`, 1, "surrogate"},
		{"\"a\nb\"", 2, "control"},
		{"\"12345678\x1f\"", 9, "control"},
		{"\"\x00\"", 1, "control"},
		{"\"\xc0\xaf\"", 1, "UTF-8"},     // overlong /
		{"\"\xe0\x80\xaf\"", 1, "UTF-8"}, // overlong /
		{"\"\xf0\x80\x80\xaf\"", 1, "UTF-8"},
		{"\"\xed\xa0\x80\"", 1, "UTF-8"},     // encoded surrogate
		{"\"\xf4\x90\x80\x80\"", 1, "UTF-8"}, // beyond U+10FFFF
		{"\"é\x80\"", 3, "UTF-8"},
		{"\"\xe6\x97\"", 1, "UTF-8"},
		{"\"\xe6", 1, "UTF-8"},
		{"{\"\xff\":1}", 2, "UTF-8"},
		{"01", 0, "number"},
		{"-01", 1, "number"},
		{"-", 1, "end"},
		{"-a", 1, "number"},
		{"1.", 2, "end"},
		{"1.a", 2, "number"},
		{".5", 0, "value"},
		{"+1", 0, "value"},
		{"1e", 2, "end"},
		{"1e+", 3, "end"},
		{"[1e]", 3, "number"},
		{"0x10", 1, "after the value"},
	}
	for _, tt := range tests {
		err := jsontext.Check([]byte(tt.text), jsontext.DefaultLimits())
		var fault *jsontext.SyntaxError
		if !errors.As(err, &fault) {
			t.Errorf("Check(%q) = %v, want a SyntaxError", tt.text, err)
			continue
		}
		if fault.Offset != tt.offset || !strings.Contains(fault.Reason, tt.reason) {
			t.Errorf("Check(%q) = %v, want %q at %d", tt.text, err, tt.reason, tt.offset)
		}
		if !strings.Contains(err.Error(), fault.Reason) {
			t.Errorf("the message %q lacks the reason", err)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	t.Parallel()
	std := jsontext.DefaultLimits()
	wide := "[" + strings.Repeat("0,", 99_999) + "0]"
	tests := []struct {
		name   string
		text   string
		lim    jsontext.Limits
		reason string // "" accepts
		offset int
	}{
		{"million brackets", strings.Repeat("[", 1_000_000), std, "deep", 64},
		{"million brackets without limits", strings.Repeat("[", 1_000_000), jsontext.Limits{}, "deep", 10_000},
		{"one too deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), std, "deep", 64},
		{"mixed, one too deep", strings.Repeat(`{"a":[`, 32) + "{" + "}" + strings.Repeat("]}", 32), std, "deep", 192},
		{"huge depth limit", strings.Repeat("[", 20_000), jsontext.Limits{Depth: 1 << 30}, "deep", 10_000},
		{"deep but allowed", strings.Repeat(`[{"a":`, 5_000) + "1" + strings.Repeat("}]", 5_000), jsontext.Limits{}, "", 0},
		{"depth 65 allowed", strings.Repeat(`{"a":`, 65) + "[]" + strings.Repeat("}", 65), jsontext.Limits{Depth: 66}, "", 0},
		{"200 KB of digits", strings.Repeat("7", 200_000), std, "number", 0},
		{"200 KB of digits without limits", strings.Repeat("7", 200_000), jsontext.Limits{}, "", 0},
		{"401 bytes", "[-" + strings.Repeat("7", 400) + "]", std, "number", 1},
		{"100,000 items", wide, std, "", 0},
		{"100,001 items", "[0," + wide[1:], std, "elements", len(wide)},
		{"members count", `{"a":1,"b":[2]}`, jsontext.Limits{Elements: 2}, "elements", 12},
		{"members fit", `{"a":1,"b":[2]}`, jsontext.Limits{Elements: 3}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := jsontext.Check([]byte(tt.text), tt.lim)
			if tt.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var fault *jsontext.LimitError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a LimitError", err)
			}
			if !strings.Contains(err.Error(), tt.reason) || fault.Offset != tt.offset {
				t.Errorf("got %v, want %q at %d", err, tt.reason, tt.offset)
			}
		})
	}
}

// TestCheckMatchesDeepClosers: a closing bracket must match its opening bracket, at every depth.
func TestCheckMatchesDeepClosers(t *testing.T) {
	t.Parallel()
	for depth := 1; depth <= 200; depth++ {
		for _, wrong := range []int{0, depth / 2, depth - 1} {
			text := make([]byte, 0, 8*depth)
			closers := make([]byte, depth)
			for i := range depth {
				if i%3 == 0 {
					text, closers[depth-1-i] = append(text, `{"k":`...), '}'
				} else {
					text, closers[depth-1-i] = append(text, '['), ']'
				}
			}
			text = append(text, '1')
			good := append(append([]byte(nil), text...), closers...)
			if err := jsontext.Check(good, jsontext.Limits{}); err != nil {
				t.Fatalf("depth %d: %v", depth, err)
			}
			closers[wrong] ^= ']' ^ '}'
			if err := jsontext.Check(append(text, closers...), jsontext.Limits{}); err == nil {
				t.Fatalf("depth %d: a wrong closer at %d was accepted", depth, wrong)
			}
		}
	}
}

// Every special byte is found at every offset of the eight-byte window.
func TestCheckFindsSpecialBytes(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for at := range 24 {
			inner := []byte(strings.Repeat("a", 24))
			inner[at] = byte(b)
			text := append(append([]byte{'"'}, inner...), '"')
			want := json.Valid(text) && utf8.Valid(text)
			if got := jsontext.Check(text, jsontext.Limits{}) == nil; got != want {
				t.Fatalf("byte %#x at %d: accepted is %v, want %v", b, at, got, want)
			}
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	lim := jsontext.DefaultLimits()
	for _, text := range [][]byte{frame, []byte(strings.Repeat("[", 64) + strings.Repeat("]", 64))} {
		if n := testing.AllocsPerRun(100, func() {
			if err := jsontext.Check(text, lim); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("Check allocates %v times", n)
		}
	}
}

// frame is a typical message: a call with text, escapes, numbers, nesting.
var frame = []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"_meta":{"progressToken":"p-1",` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},` +
	`"name":"search","arguments":{"query":"the quick \"brown\" fox – 日本語\n","limit":25,"ratio":0.75,` +
	`"tags":["a","b","c"],"deep":{"x":[1,2,{"y":null}],"z":true}}}}`)

func BenchmarkCheck(b *testing.B) {
	long := []byte(`{"text":"` + strings.Repeat("All work and no play makes Jack a dull boy. ", 1000) + `"}`)
	japanese := []byte(`{"text":"` + strings.Repeat("鏡よ鏡、世界で一番美しいのは誰", 1000) + `"}`)
	numbers := []byte("[" + strings.Repeat("3.14159,-17,", 2000) + "0]")
	lim := jsontext.DefaultLimits()
	for _, bb := range []struct {
		name string
		text []byte
	}{{"frame", frame}, {"text", long}, {"japanese", japanese}, {"numbers", numbers}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsontext.Check(bb.text, lim); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStdValid(b *testing.B) {
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		json.Valid(frame)
	}
}
