package jsonedit_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

const document = `{"a":[10,{"b/c":1,"d~e":2}],"s":"{\"x\":[7]}","t":1,"t":2}`

// TestValueAt: a pointer leads through objects, arrays, escaped names, and strings that contain JSON.
func TestValueAt(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": document, "/a/0": "10", "/a/1/b~1c": "1", "/a/1/d~0e": "2", "/s/x/0": "7", "/t": "1",
		"/a/2": "", "/a/00": "", "/a/-1": "", "/a/+0": "", "/a/x": "", "/b": "", "/a/0/0": "",
	} {
		got, ok := jsonedit.ValueAt([]byte(document), path)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", path, got, ok)
		}
	}
}

// TestEdit changes one value, and leaves the text as it was if there is no value.
func TestEdit(t *testing.T) {
	t.Parallel()
	const object = `{"a":[1,{"b":2}],"c":3,"c":4}`
	for path, want := range map[string]string{
		"/a/0": `{"a":[true,{"b":2}],"c":3,"c":4}`, "/a/1/b": `{"a":[1,{"b":true}],"c":3,"c":4}`, "/c": `{"a":[1,{"b":2}],"c":true,"c":4}`,
		"": "true", "/x": object, "/a/7": object, "/a/01": object,
	} {
		got, found := jsonedit.Edit([]byte(object), path, func([]byte) []byte { return []byte("true") })
		if string(got) != want || found != (want != object) {
			t.Errorf("%s: %s, %v", path, got, found)
		}
	}
}

// TestMembers: members are added at the end, replaced in their place, and removed under all their repetitions.
func TestMembers(t *testing.T) {
	t.Parallel()
	object := []byte(`{"a":1,"b":2,"a":3}`)
	for want, got := range map[string][]byte{
		`{"b":2,"a":true}`:               jsonedit.WithMember(object, "a", []byte("true")),
		`{"a":1,"b":2,"a":3,"n\"":true}`: jsonedit.WithMember(object, `n"`, []byte("true")),
		`{"b":2}`:                        jsonedit.WithoutMember(object, "a"),
		`{"a":1,"b":2}`:                  jsonedit.DropRepeated(object, "a"),
		`{"a":true,"b":2,"a":3}`:         jsonedit.Replaced(object, "a", []byte("true")),
		`["a\"",1]`:                      jsonedit.List(append(jsonedit.QuoteAll([]string{`a"`}), []byte("1"))),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestUnquoted: only a valid value of a wanted kind is taken out of a string.
func TestUnquoted(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"5"`: "5", `"[1]"`: "", `"{\"a\":1}"`: `{"a":1}`, `"True"`: "true", `"5 items"`: "", `"{"`: "", `5`: "", `""`: "", `"null"`: "",
		`" 5"`: "5", `"\ntrue "`: "true", `"\tFALSE"`: "false", `" {\"a\":1}\r\n"`: `{"a":1}`, `"\u00a05"`: "", `" "`: "",
	} {
		got, ok := jsonedit.Unquoted([]byte(raw), jsontext.KindNumber, jsontext.KindBool, jsontext.KindObject)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", raw, got, ok)
		}
	}
}

// TestNumbers: whole numbers are exact in any notation.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{"1": "2", "1e2": "101", "9007199254740993": "9007199254740994", "-1": "0", "1.5": "", "1e999": ""} {
		if got := jsonedit.AddOne([]byte(number), 1); string(got) != want {
			t.Errorf("%s: %s", number, got)
		}
	}
}
