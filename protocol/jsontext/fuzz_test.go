package jsontext_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// FuzzCheck compares Check and everything that reads checked text with
// encoding/json, which accepts more: bad UTF-8 and lone surrogates.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		string(frame), `[1,2.5e-3,"\ud83d\ude00",null,true]`, `{"a":{"\u0061":[{}]},"a":1}`, `"\ud800"`, " [ ] ",
		`{"a":1,}`, `[[[[]]]]`, "\"\xff\"", `-0.0E+00`, `"\\\""`, `"\ud800\udbff\udfff"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		readAnything(text)
		err := jsontext.Check(text, jsontext.Limits{})
		if want := json.Valid(text) && utf8.Valid(text) && !loneSurrogate(text); (err == nil) != want {
			t.Fatalf("Check(%q) = %v, encoding/json and UTF-8 say %v", text, err, want)
		}
		if err != nil {
			return
		}
		compact := jsontext.Compact(nil, text)
		var std bytes.Buffer
		if err := json.Compact(&std, text); err != nil || !bytes.Equal(std.Bytes(), compact) {
			t.Fatalf("Compact(%q) = %q, encoding/json says %q, %v", text, compact, std.Bytes(), err)
		}
		if unique := naiveUnique(text); (jsontext.Unique(text) == nil) != unique {
			t.Fatalf("Unique(%q) = %v, want unique = %v", text, jsontext.Unique(text), unique)
		}
		compareValue(t, text)
	})
}

// readAnything runs every reader on text that may be anything: they must end
// and must not panic.
func readAnything(text []byte) {
	for k, v := range jsontext.Members(text) {
		_, _, _ = k.Is("name"), k.String(), len(v)
	}
	for range jsontext.Elements(text) {
	}
	_ = jsontext.Unique(text)
	_ = jsontext.Compact(nil, text)
	_ = jsontext.Len(text)
	_, _ = jsontext.Any(text), jsontext.Canonical(nil, text)
	_, _ = jsontext.String(text)
	_, _ = jsontext.Int64(text)
}

// escapes matches one escape of a string, so that \\ud800 is not mistaken.
var escapes = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|.)`)

// loneSurrogate is written unlike Check: pairs are cut out, then any surrogate
// escape that is left is lone.
func loneSurrogate(text []byte) bool {
	pair := regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	for i := 0; i < len(text); {
		switch {
		case pair.Match(text[i:]):
			i += 12
		case text[i] == '\\':
			e := escapes.Find(text[i:])
			if len(e) == 6 && e[2]|0x20 == 'd' && strings.IndexByte("89abcdefABCDEF", e[3]) >= 0 {
				return true
			}
			i += max(len(e), 1)
		default:
			i++
		}
	}
	return false
}

// naiveUnique walks with the iterators and a map for each object.
func naiveUnique(value []byte) bool {
	seen := map[string]bool{}
	for k, v := range jsontext.Members(value) {
		if seen[k.String()] || !naiveUnique(v) {
			return false
		}
		seen[k.String()] = true
	}
	for v := range jsontext.Elements(value) {
		if !naiveUnique(v) {
			return false
		}
	}
	return true
}

func compareValue(t *testing.T, value []byte) {
	t.Helper()
	switch jsontext.KindOf(value) {
	case jsontext.KindObject:
		compareObject(t, value)
	case jsontext.KindArray:
		compareArray(t, value)
	case jsontext.KindString:
		var want string
		if err := json.Unmarshal(value, &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := jsontext.String(value); !ok || got != want {
			t.Fatalf("String(%q) = %q, %v, want %q", value, got, ok, want)
		}
	case jsontext.KindNumber:
		compareNumber(t, value)
	}
}

func compareObject(t *testing.T, value []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(value, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{} // the last one wins, as in encoding/json
	for k, v := range jsontext.Members(value) {
		if !k.Is(k.String()) {
			t.Fatalf("the key %s is not itself", k.Raw())
		}
		got[k.String()] = v
		compareValue(t, v)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("Members(%q) = %q, want %q", value, got, want)
	}
}

func compareArray(t *testing.T, value []byte) {
	t.Helper()
	var want []json.RawMessage
	if err := json.Unmarshal(value, &want); err != nil {
		t.Fatal(err)
	}
	got := []json.RawMessage{}
	for v := range jsontext.Elements(value) {
		got = append(got, v)
		compareValue(t, v)
	}
	if !reflect.DeepEqual(got, want) || jsontext.Len(value) != len(want) {
		t.Fatalf("Elements(%q) = %q, want %q", value, got, want)
	}
}

func compareNumber(t *testing.T, value []byte) {
	t.Helper()
	text := strings.TrimSpace(string(value))
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 6 {
		return // big.Rat would write it out
	}
	want, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("big.Rat refuses %q", text)
	}
	fits := want.IsInt() && want.Num().IsInt64()
	if got, ok := jsontext.Int64(value); ok != fits || ok && got != want.Num().Int64() {
		t.Fatalf("Int64(%s) = %d, %v, want %s", value, got, ok, want)
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x00\xff\u2028日本😀 <&>")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := jsontext.Quote(nil, s)
		if err := jsontext.Check(quoted, jsontext.Limits{}); err != nil {
			t.Fatalf("Quote(%q) = %s: %v", s, quoted, err)
		}
		want := string([]rune(s)) // each invalid byte as U+FFFD
		var std string
		if err := json.Unmarshal(quoted, &std); err != nil || std != want {
			t.Fatalf("Quote(%q) = %s, reads as %q, %v", s, quoted, std, err)
		}
		if own, ok := jsontext.String(quoted); !ok || own != want {
			t.Fatalf("String(Quote(%q)) = %q", s, own)
		}
		if b := jsontext.QuoteBytes(nil, []byte(s)); !bytes.Equal(b, quoted) {
			t.Fatalf("QuoteBytes(%q) = %s, Quote = %s", s, b, quoted)
		}
	})
}
