package jsontext_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		object string
		want   []string // name=value
	}{
		{`{}`, nil},
		{` { } `, nil},
		{`[1]`, nil},
		{`"{}"`, nil},
		{``, nil},
		{`{"a":1}`, []string{`a=1`}},
		{" {\n \"a\" : 1 ,\t\"b\" : [ 1, 2 ] \n} ", []string{`a=1`, `b=[ 1, 2 ]`}},
		{`{"\u0061":"x\"}","":{"c":"]}"},"d":-1.5e3,"d":null}`, []string{`a="x\"}"`, `={"c":"]}"}`, `d=-1.5e3`, `d=null`}},
		{`{"a\\":"\\","b":true}`, []string{`a\="\\"`, `b=true`}},
		{`{"a":[{"b":[{}]}],"c":false}`, []string{`a=[{"b":[{}]}]`, `c=false`}},
	}
	for _, tt := range tests {
		var got []string
		for k, v := range jsontext.Members([]byte(tt.object)) {
			got = append(got, k.String()+"="+string(v))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Members(%s) = %q, want %q", tt.object, got, tt.want)
		}
		if n := jsontext.Len([]byte(tt.object)); n != len(tt.want) && tt.object != `[1]` {
			t.Errorf("Len(%s) = %d", tt.object, n)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	tests := []struct {
		array string
		want  []string
	}{
		{`[]`, nil},
		{` [ ] `, nil},
		{`{"a":1}`, nil},
		{`1`, nil},
		{`[1]`, []string{`1`}},
		{" [ 1 , \"a,]\" ,\n[ 2 ],{\"x\":[]} , null ] ", []string{`1`, `"a,]"`, `[ 2 ]`, `{"x":[]}`, `null`}},
	}
	for _, tt := range tests {
		var got []string
		for v := range jsontext.Elements([]byte(tt.array)) {
			got = append(got, string(v))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Elements(%s) = %q, want %q", tt.array, got, tt.want)
		}
	}
	if n := jsontext.Len([]byte(` [1, [2,3], {}]`)); n != 3 {
		t.Errorf("Len = %d, want 3", n)
	}
}

// TestStringsOfAllLengths are read to their end, wherever an escape is, in the middle of a
// text and at its end.
func TestStringsOfAllLengths(t *testing.T) {
	t.Parallel()
	for size := range 3 * 64 {
		plain := strings.Repeat("x", size)
		for _, escape := range []string{"", `\"`, `\\`, `\n`, `\u0022`} {
			for at := 0; at <= size; at += 1 + size/17 {
				text := `"` + plain[:at] + escape + plain[at:] + `"`
				checkStrings(t, text)
			}
		}
	}
}

// checkStrings reads text as a name, a value and an item.
func checkStrings(t *testing.T, text string) {
	t.Helper()
	var want string
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	found := 0
	for key, value := range jsontext.Members([]byte(`{` + text + `:` + text + `}`)) {
		found++
		got, ok := jsontext.String(value)
		if !ok || got != want || string(value) != text || string(key.Raw()) != text || key.String() != want || !key.Is(want) {
			t.Fatalf("the member %s is read as %s: %s", text, key.Raw(), value)
		}
	}
	for item := range jsontext.Elements([]byte(`[` + text + `,` + text + `]`)) {
		found++
		if string(item) != text {
			t.Fatalf("the item %s is read as %s", text, item)
		}
	}
	if found != 3 {
		t.Fatalf("%s is found %d times, want 3", text, found)
	}
}

// An append to a yielded value must not write over the text.
func TestYieldedValuesAreCapped(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a":1,"b":[2,3]}`)
	for k, v := range jsontext.Members(text) {
		_ = append(v, "####"...)
		_ = append(k.Raw(), "####"...)
		for e := range jsontext.Elements(v) {
			_ = append(e, "####"...)
		}
	}
	if string(text) != `{"a":1,"b":[2,3]}` {
		t.Errorf("the text became %s", text)
	}
}

func TestIterationStops(t *testing.T) {
	t.Parallel()
	n := 0
	for range jsontext.Members([]byte(`{"a":1,"b":2}`)) {
		n++
		break
	}
	for range jsontext.Elements([]byte(`[1,2]`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
}

func TestMember(t *testing.T) {
	t.Parallel()
	object := []byte(`{"a":1,"\u0062":2,"a":3,"A":4,"":5}`)
	for name, want := range map[string]string{"a": "1", "b": "2", "A": "4", "": "5"} {
		if v, ok := jsontext.Member(object, name); !ok || string(v) != want {
			t.Errorf("Member(%q) = %q, %v, want %q", name, v, ok, want)
		}
	}
	for _, name := range []string{"B", `\u0062`, "aa", "ſ"} {
		if v, ok := jsontext.Member(object, name); ok {
			t.Errorf("Member(%q) = %q, want none", name, v)
		}
	}
}

func TestKeyIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 100)
	tests := []struct {
		raw, name string
		want      bool
	}{
		{`"name"`, "name", true},
		{`"name"`, "Name", false},
		{`"name"`, "nam", false},
		{`"na\u006de"`, "name", true},
		{`"na\u006de"`, `na\u006de`, false},
		{`"a\\b"`, `a\b`, true},
		{`"a\\b"`, `a\\b`, false},
		{`""`, "", true},
		{`"\ud83d\ude00"`, "😀", true},
		{`"\u0041` + long + `"`, "A" + long, true},
	}
	for _, tt := range tests {
		for k := range jsontext.Members([]byte("{" + tt.raw + ":0}")) {
			if got := k.Is(tt.name); got != tt.want {
				t.Errorf("Key %s Is(%q) = %v", tt.raw, tt.name, got)
			}
			if string(k.Raw()) != tt.raw {
				t.Errorf("Raw() = %s, want %s", k.Raw(), tt.raw)
			}
		}
	}
	if (jsontext.Key{}).Is("") || (jsontext.Key{}).String() != "" {
		t.Error("the zero Key is a name")
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	var sink int
	var sum int64
	integer, array, escaped := []byte("-123456789"), []byte(`[1,"a",{"b":[]}]`), []byte(`{"\u0061bc":1}`)
	name := strings.Repeat("n", 100)
	long := []byte(`{"` + name + `":1,"other":2}`)
	runs := map[string]func(){
		"Members": func() {
			for k, v := range jsontext.Members(frame) {
				if k.Is("params") {
					sink += len(v)
				}
			}
		},
		"Elements": func() {
			for v := range jsontext.Elements(array) {
				sink += len(v)
			}
		},
		"escaped Key.Is": func() {
			for k := range jsontext.Members(escaped) {
				if k.Is("abc") {
					sink++
				}
			}
		},
		"long Key.Is": func() {
			for k := range jsontext.Members(long) {
				if k.Is(name) && len(k.Bytes()) == len(name) {
					sink++
				}
			}
		},
		"Member": func() {
			v, _ := jsontext.Member(frame, "method")
			sink += len(v)
		},
		"Len":   func() { sink += jsontext.Len(frame) },
		"Int64": func() { n, _ := jsontext.Int64(integer); sum += n },
	}
	for name, run := range runs {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if sink == 0 || sum == 0 {
		t.Error("nothing was read")
	}
}

func BenchmarkMembers(b *testing.B) {
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		for k, v := range jsontext.Members(frame) {
			if k.Is("params") && len(v) == 0 {
				b.Fatal("empty")
			}
		}
	}
}
