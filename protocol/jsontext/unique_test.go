package jsontext_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestUnique(t *testing.T) {
	t.Parallel()
	many := make([]byte, 0, 1<<20)
	for i := range 50_000 {
		many = append(strconv.AppendInt(append(many, `"k`...), int64(i), 10), `":0,`...)
	}
	tests := []struct {
		name, value string
		bad         bool
		path, dup   string
	}{
		{name: "scalar", value: `1`},
		{name: "empty", value: ` { } `},
		{name: "siblings", value: `[{"a":1},{"a":2}]`},
		{name: "parent and child", value: `{"a":{"a":{"a":1}},"b":[{"a":1}]}`},
		{name: "case", value: `{"a":1,"A":2}`},
		{name: "value like a name", value: `{"a":"a","b":"a"}`},
		{name: "backslash names", value: `{"\\u0061":1,"a":2}`},
		{name: "50,000 names", value: "{" + string(many) + `"last":1}`},
		{name: "flat", value: `{"a":1,"b":2,"a":3}`, bad: true, dup: "a"},
		{name: "spaced", value: "{ \"a\" : 1 ,\n\"a\" : 3 }", bad: true, dup: "a"},
		{name: "escaped", value: `{"limit":1,"\u006cimit":2}`, bad: true, dup: "limit"},
		{name: "both escaped", value: `{"\u006Cimit":1,"\u006cimit":2}`, bad: true, dup: "limit"},
		{name: "empty name", value: `{"":1,"":2}`, bad: true},
		{name: "deep", value: `{"a":[0,{"b/c":{"d~":1,"x":2,"x":3}}]}`, bad: true, path: "/a/1/b~1c", dup: "x"},
		{name: "after a child", value: `{"a":{"b":1},"b":{"c":1},"b":2}`, bad: true, dup: "b"},
		{name: "16 then repeated", value: `{` + string(many[:10*7+6*8]) + `"k15":1}`, bad: true, dup: "k15"},
		{name: "first of 50,000", value: "{" + string(many) + `"k0":1}`, bad: true, dup: "k0"},
		{name: "in the last of 50,000", value: "{" + string(many) + `"x":[{"y":1,"y":2}]}`, bad: true, path: "/x/0", dup: "y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := jsontext.Check([]byte(tt.value), jsontext.Limits{}); err != nil {
				t.Fatal(err)
			}
			err := jsontext.Unique([]byte(tt.value))
			if !tt.bad {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var fault *jsontext.DuplicateError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a DuplicateError", err)
			}
			if fault.Path != tt.path || fault.Name != tt.dup || !strings.Contains(err.Error(), strconv.Quote(tt.dup)) {
				t.Errorf("got %v (%q, %q), want %q at %q", err, fault.Path, fault.Name, tt.dup, tt.path)
			}
		})
	}
}

func TestUniqueAtTheDeepestLevel(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 9_999) + `{"b":1,"b":2}` + strings.Repeat("}", 9_999)
	var fault *jsontext.DuplicateError
	if err := jsontext.Unique([]byte(deep)); !errors.As(err, &fault) {
		t.Fatalf("got %v, want a DuplicateError", err)
	}
	if fault.Path != strings.Repeat("/a", 9_999) {
		t.Errorf("the path has %d bytes", len(fault.Path))
	}
}

func BenchmarkUnique(b *testing.B) {
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if err := jsontext.Unique(frame); err != nil {
			b.Fatal(err)
		}
	}
}
