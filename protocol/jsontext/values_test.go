package jsontext_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`: "null", ` true`: "boolean", `false`: "boolean", `-1`: "number", `0`: "number",
		"\n\"a\"": "string", ` [`: "array", `{}`: "object", ``: "invalid", ` `: "invalid", `x`: "invalid",
	} {
		if got := jsontext.KindOf([]byte(value)).String(); got != want {
			t.Errorf("KindOf(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestInt64(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value string
		want  int64
		ok    bool
	}{
		{"0", 0, true},
		{"-0", 0, true},
		{"7", 7, true},
		{" 7 ", 7, true},
		{"-12", -12, true},
		{"9007199254740993", 9007199254740993, true},
		{"9223372036854775807", 1<<63 - 1, true},
		{"-9223372036854775808", -1 << 63, true},
		{"9223372036854775808", 0, false},
		{"-9223372036854775809", 0, false},
		{"18446744073709551615", 0, false},
		{"18446744073709551616", 0, false},
		{"99999999999999999999999", 0, false},
		{"1.0", 1, true},
		{"1e2", 100, true},
		{"1E+2", 100, true},
		{"100e-2", 1, true},
		{"1.50e1", 15, true},
		{"0.001e3", 1, true},
		{"-2.5e1", -25, true},
		{"0e999999999999", 0, true},
		{"0.000e-5", 0, true},
		{"1.5", 0, false},
		{"1e-1", 0, false},
		{"15e-1", 0, false},
		{"1e19", 0, false},
		{"9e18", 9e18, true},
		{"1e999999999999999999999", 0, false},
		{"1e-999999999999999999999", 0, false},
		{"1" + strings.Repeat("0", 400) + "e-400", 1, true},
		{"9223372036854775807.000", 1<<63 - 1, true},
		{"9223372036854775.807e3", 1<<63 - 1, true},
		{"999999999999999999", 999999999999999999, true},
		{"-1000000000000000000", -1000000000000000000, true},
		{"", 0, false},
		{"-", 0, false},
		{"--1", 0, false},
		{"01", 0, false},
		{"-01", 0, false},
		{"1x", 0, false},
		{`"1"`, 0, false},
		{"null", 0, false},
		{"1 2", 0, false},
		{"1.", 0, false},
		{"{}", 0, false},
	}
	for _, tt := range tests {
		if got, ok := jsontext.Int64([]byte(tt.value)); got != tt.want || ok != tt.ok {
			t.Errorf("Int64(%.40q) = %d, %v, want %d, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func TestIsInteger(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"0": true, "-5": true, "123456789012345678901234567890": true, " 5 ": true,
		"1.0": false, "1e2": false, "1E2": false, `"1"`: false, "": false, "-": false, "01": false, "null": false,
	} {
		if got := jsontext.IsInteger([]byte(value)); got != want {
			t.Errorf("IsInteger(%q) = %v", value, got)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value, want string
		ok          bool
	}{
		{`""`, "", true},
		{`"a"`, "a", true},
		{` "a" `, "a", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0041\u00e9\u65e5\ud83d\ude00!"`, "Aé日😀!", true},
		{`"\\u0041"`, `\u0041`, true},
		{`"日本"`, "日本", true},
		{`"\ud800"`, "\ufffdud800", true}, // unchecked: ends, does not panic
		{`1`, "", false},
		{``, "", false},
		{`"`, "", false},
		{`null`, "", false},
		{`["a"]`, "", false},
	}
	for _, tt := range tests {
		if got, ok := jsontext.String([]byte(tt.value)); got != tt.want || ok != tt.ok {
			t.Errorf("String(%s) = %q, %v, want %q, %v", tt.value, got, ok, tt.want, tt.ok)
		}
		if got, ok := jsontext.AppendString([]byte("x"), []byte(tt.value)); string(got) != "x"+tt.want || ok != tt.ok {
			t.Errorf("AppendString(%s) = %q, %v", tt.value, got, ok)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": `""`, "plain text, longer than eight": `"plain text, longer than eight"`,
		"a\"b\\c/": `"a\"b\\c/"`, "\b\f\n\r\t\x00\x1f\x7f": `"\b\f\n\r\t\u0000\u001f` + "\x7f\"",
		"<a href='x'>&": `"<a href='x'>&"`, "日本語😀é": `"日本語😀é"`,
		"line\u2028para\u2029\u202a": `"line\u2028para\u2029` + "\u202a\"",
		"bad\xffutf\xe6\x97":         `"bad\ufffdutf\ufffd\ufffd"`, "\ufffd": "\"\ufffd\"",
		"\xed\xa0\x80": `"\ufffd\ufffd\ufffd"`,
	} {
		if got := jsontext.Quote([]byte("x"), s); string(got) != "x"+want {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
		if got := jsontext.QuoteBytes(nil, []byte(s)); string(got) != want {
			t.Errorf("QuoteBytes(%q) = %s, want %s", s, got, want)
		}
	}
}

// Long texts are quoted a stretch at a time: nothing depends on where one ends.
func TestQuoteLong(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "\"", "\n", "\x01", "é", "日", "😀", "\u2028", "\xff", "\xe6\x97", "12345678", "a long run of plain text "}
	for _, filler := range pieces {
		text := strings.Repeat(filler, 1020/len(filler))
		for len(text) < 1027 {
			for _, piece := range pieces {
				long := text + piece + text
				want := "\""
				for _, r := range strings.SplitAfter(long, "") {
					one := string(jsontext.Quote(nil, r))
					want += one[1 : len(one)-1]
				}
				if got := string(jsontext.Quote(nil, long)); got != want+"\"" {
					t.Fatalf("%q among %q at %d:\n%s\n%s", piece, filler, len(text), got, want)
				}
				if got := string(jsontext.QuoteBytes(nil, []byte(long))); got != want+"\"" {
					t.Fatalf("%q among %q at %d, as bytes", piece, filler, len(text))
				}
			}
			text += "x"
		}
	}
}

func TestQuoteBase64(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "a", "ab", "abc", "\xff\xfe\xfd\xfc"} {
		want := `x"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"`
		if got := jsontext.QuoteBase64([]byte("x"), []byte(data)); string(got) != want {
			t.Errorf("QuoteBase64(%q) = %s, want %s", data, got, want)
		}
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{}`: `{}`, " 1 ": `1`, `{"a":"b c"}`: `{"a":"b c"}`,
		"{ \"a \\\" b\" :\r\n\t[ 1 , 2 ] ,\n\"c\": \" \\\\\" } ": `{"a \" b":[1,2],"c":" \\"}`,
	} {
		if got := jsontext.Compact([]byte("x"), []byte(value)); string(got) != "x"+want {
			t.Errorf("Compact(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a": "/p/a", "": "/p/", "a/b~c": "/p/a~1b~0c", "~1": "/p/~01"} {
		if got := jsontext.Pointer("/p", name); got != want {
			t.Errorf("Pointer(%q) = %q, want %q", name, got, want)
		}
	}
	if got := jsontext.PointerIndex("/p", 10); got != "/p/10" {
		t.Errorf("PointerIndex = %q", got)
	}
}

// TestThreeBytes checks that characters of three bytes are distinguished from bytes that only look
// like them, wherever a text ends.
func TestThreeBytes(t *testing.T) {
	t.Parallel()
	for s := range threeBytes {
		if got, want := jsontext.QuoteBytes(nil, s), quotedByRunes(s); !bytes.Equal(got, want) {
			t.Fatalf("QuoteBytes(%x) = %s, want %s", s, got, want)
		}
		text := slices.Concat([]byte{'"'}, s, []byte{'"'})
		if err, want := jsontext.Check(text, jsontext.Limits{}), json.Valid(text) && utf8.Valid(s); (err == nil) != want {
			t.Fatalf("Check of the string %x: %v, want it to pass: %v", s, err, want)
		}
	}
}

// threeBytes yields texts that begin as a character of three bytes does.
func threeBytes(yield func([]byte) bool) {
	for lead := 0xE0; lead <= 0xEF; lead++ {
		for second := range 256 {
			for _, third := range []byte{0, '"', 0x7F, 0x80, 0x93, 0xA7, 0xA8, 0xA9, 0xAA, 0xBF, 0xC0, 0xFF} {
				text := []byte{byte(lead), byte(second), third}
				for _, s := range [][]byte{text, text[:2], slices.Concat(text, text[:1])} {
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// quotedByRunes is Quote, one character after another.
func quotedByRunes(s []byte) []byte {
	quoted := []byte{'"'}
	for _, r := range string(s) {
		switch one := jsontext.Quote(nil, "x"+string(r)); {
		case r == utf8.RuneError: // no text here has a valid one
			quoted = append(quoted, `\ufffd`...)
		case r == '\u2028', r == '\u2029':
			quoted = fmt.Appendf(quoted, `\u%x`, r)
		case r < utf8.RuneSelf:
			quoted = append(quoted, one[2:len(one)-1]...)
		default:
			quoted = utf8.AppendRune(quoted, r)
		}
	}
	return append(quoted, '"')
}

func TestAppendingAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 4096)
	text := "the quick \"brown\" fox – 日本語\n\xff\u2028"
	value := []byte(`"the quick \"brown\" \u65e5"`)
	if n := testing.AllocsPerRun(100, func() {
		dst = jsontext.Quote(dst[:0], text)
		dst = jsontext.QuoteBytes(dst, value)
		dst = jsontext.QuoteBase64(dst, value)
		dst = jsontext.Compact(dst, frame)
		dst, _ = jsontext.AppendString(dst, value)
	}); n != 0 {
		t.Errorf("appending allocates %v times", n)
	}
}

func BenchmarkQuote(b *testing.B) {
	plain := strings.Repeat("All work and no play makes Jack a dull boy. ", 100)
	for name, s := range map[string]string{
		"plain": plain, "json": string(bytes.Repeat(frame, 8)), "lines": strings.Repeat("word\"line\n", 1000), "japanese": strings.Repeat("鏡よ鏡、世界で一番", 100),
	} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				dst = jsontext.Quote(dst[:0], s)
			}
		})
	}
}

func BenchmarkCompact(b *testing.B) {
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, frame, "", "  "); err != nil {
		b.Fatal(err)
	}
	for name, value := range map[string][]byte{"already": frame, "indented": spaced.Bytes()} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				dst = jsontext.Compact(dst[:0], value)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`"a"`, `""`, `"\u0061\n"`, ` "x" `, `"x" `, ` "x"`, `1`, `null`, ``, `{"a":"b"}`, `"`} {
		want, isString := jsontext.String([]byte(value))
		got, ok := jsontext.Text([]byte(value))
		if string(got) != want || ok != isString {
			t.Errorf("Text(%s) is %q, %v", value, got, ok)
		}
		for _, room := range [][]byte{nil, make([]byte, 3), make([]byte, 0, 64)} {
			if got, ok := jsontext.TextIn(room, []byte(value)); string(got) != want || ok != isString {
				t.Errorf("TextIn of %d bytes is of %s %q, %v", cap(room), value, got, ok)
			}
		}
	}
}

func TestAppendTexts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a\n"`: "a\n", `-1.0e2`: "-1.0e2", `null`: "", `true`: "", `{}`: "", ``: "",
		`{"k":["a",{"l":"b","m":[2]}],"n":[[]]}`: "a|b|2",
		`"{\"k\":[\"a\"]}"`:                      `{"k":["a"]}|a`, `" [4711] "`: " [4711] |4711", `" 4711 "`: " 4711 |4711", `"[a"`: "[a",
	} {
		if got := strings.Join(jsontext.AppendTexts(nil, []byte(value)), "|"); got != want {
			t.Errorf("AppendTexts(%s) = %q, want %q", value, got, want)
		}
	}
}
