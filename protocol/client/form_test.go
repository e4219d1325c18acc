package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
)

const wide = `{"type":"object","required":["name","age"],"properties":{
	"name":{"type":"string","title":"Your name","description":"in full","minLength":2,"maxLength":4,"default":"John"},
	"age":{"type":"integer","minimum":18,"maximum":99},
	"score":{"type":"number","minimum":0.5,"maximum":10,"default":9.5},
	"status":{"type":"string","enum":["on","off"],"enumNames":["On","Off"],"default":"on"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":1,"maxItems":2,"default":["a"]},
	"kinds":{"type":"array","items":{"anyOf":[{"const":"x","title":"X-ray"},{"const":"y"}]}},
	"ok":{"type":"boolean","default":true},
	"bad":{"type":"integer","default":"none"},
	"mail":{"type":"string","format":"email"},
	"page":{"type":"string","format":"uri"},
	"day":{"type":"string","format":"date"},
	"at":{"type":"string","format":"date-time"}}}`

func parse(t testing.TB, schema string) *client.Form {
	t.Helper()
	form, err := client.ParseForm([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func TestParseForm(t *testing.T) {
	t.Parallel()
	form := parse(t, wide)
	var names []string
	by := map[string]client.Field{}
	for _, f := range form.Fields {
		names = append(names, f.Name)
		by[f.Name] = f
	}
	if got := strings.Join(names, " "); got != "name age score status size tags kinds ok bad mail page day at" {
		t.Errorf("fields %s", got)
	}
	name := by["name"]
	if !name.Required || name.Title != "Your name" || name.Description != "in full" || string(name.Default) != `"John"` ||
		*name.MinLength != 2 || *name.MaxLength != 4 || by["ok"].Required {
		t.Errorf("name: %+v", name)
	}
	for field, want := range map[string]string{"status": "on=On off=Off", "size": "s=Small l=Large", "tags": "a=a b=b c=c", "kinds": "x=X-ray y=y", "name": ""} {
		var got []string
		for _, c := range by[field].Choices {
			var value string
			_ = json.Unmarshal(c.Value, &value)
			got = append(got, value+"="+c.Title)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("choices of %s: %v", field, got)
		}
	}
	if by["bad"].Default != nil {
		t.Errorf("a default that does not fit: %s", by["bad"].Default)
	}
	for _, schema := range []string{``, `[]`, `{"properties":[]}`, `{`, `"x"`} {
		if _, err := client.ParseForm([]byte(schema)); err == nil {
			t.Errorf("%q is a form", schema)
		}
	}
}

func TestFormFill(t *testing.T) {
	t.Parallel()
	form := parse(t, wide)
	sameJSON(t, string(form.Fill(json.RawMessage(`{}`))), `{"name":"John","score":9.5,"status":"on","tags":["a"],"ok":true}`)
	sameJSON(t, string(form.Fill(json.RawMessage(`{"name":null,"ok":false,"tags":[],"age":null,"other":1}`))),
		`{"name":"John","score":9.5,"status":"on","tags":[],"ok":false,"other":1}`)
}

func TestFormCheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ field, value, fault string }{
		{"name", `"Ann"`, ""},
		{"name", `"日本語字"`, ""},
		{"name", `"A"`, "at least 2 characters"},
		{"name", `"Annie"`, "at most 4 characters"},
		{"name", `1`, "must be a string"},
		{"name", `null`, "must be a string"},
		{"age", `18`, ""},
		{"age", `20.0`, ""},
		{"age", `20.5`, "must be an integer"},
		{"age", `17`, "at least 18"},
		{"age", `100`, "at most 99"},
		{"age", `123456789012345678901234567890`, "at most 99"},
		{"age", `"20"`, "must be an integer"},
		{"score", `0.5`, ""},
		{"score", `0.49`, "at least 0.5"},
		{"score", `1e400`, "at most 10"},
		{"score", `true`, "must be a number"},
		{"status", `"off"`, ""},
		{"status", `"\u006fff"`, ""},
		{"status", `"Off"`, `must be one of "on", "off"`},
		{"size", `"l"`, ""},
		{"size", `"Large"`, `must be one of "s", "l"`},
		{"tags", `["a","c"]`, ""},
		{"tags", `[]`, "at least 1 of the choices"},
		{"tags", `["a","b","c"]`, "at most 2 of the choices"},
		{"tags", `["d"]`, `must hold only "a", "b", "c"`},
		{"tags", `"a"`, "must be an array"},
		{"kinds", `["y"]`, ""},
		{"ok", `false`, ""},
		{"ok", `"yes"`, "must be a boolean"},
		{"mail", `"a@b.example"`, ""},
		{"mail", `"a"`, "email"},
		{"mail", `"a@b@c"`, "email"},
		{"mail", `"a b@c"`, "email"},
		{"page", `"https://a.example"`, ""},
		{"page", `"a.example"`, "URI"},
		{"day", `"2026-02-28"`, ""},
		{"day", `"2026-02-30"`, "date"},
		{"at", `"2026-02-28T01:02:03+09:00"`, ""},
		{"at", `"2026-02-28"`, "date and time"},
		{"name", `"Ann`, "must be a string"},
		{"score", `1 or 2`, "must be a number"},
		{"score", `-`, "must be a number"},
		{"tags", `["a"`, "must be an array"},
		{"ok", `tru`, "must be a boolean"},
	}
	form := parse(t, wide)
	for _, tt := range tests {
		for _, f := range form.Fields {
			if f.Name != tt.field {
				continue
			}
			err := f.Check(json.RawMessage(tt.value))
			if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%s = %s: %v, want %q", tt.field, tt.value, err, tt.fault)
			}
		}
	}
	if err := (&client.Field{}).Check(nil); err == nil || err.Error() != "must be a JSON value" {
		t.Errorf("no value: %v", err)
	}
	for content, want := range map[string]string{
		`{"name":"Ann","age":20,"other":1}`: "",
		`{"age":7,"ok":1}`:                  "name: is required; age: must be at least 18; ok: must be a boolean",
		`[]`:                                "it must be an object",
		`{"name":"Ann","age":20,"age":1}`:   "",
	} {
		err := form.Check(json.RawMessage(content))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v", content, err)
		}
	}
	closed := parse(t, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)
	if err := closed.Check(json.RawMessage(`{"a":"x","b":1}`)); err == nil || err.Error() != "b: there is no such field" {
		t.Errorf("an unknown field: %v", err)
	}
}

// The size of a form is the server's choice: it must not take quadratic time.
func TestLargeForms(t *testing.T) {
	t.Parallel()
	const size = 30_000
	names, fields := make([]string, size), make([]string, size)
	for i := range size {
		names[i] = fmt.Sprintf(`"f%d"`, i)
		fields[i] = names[i] + `:{"type":"string"}`
	}
	all := "[" + strings.Join(names, ",") + "]"
	start := time.Now()
	form := parse(t, `{"type":"object","additionalProperties":false,"required":`+all+`,"properties":{`+strings.Join(fields, ",")+
		`,"list":{"type":"array","items":{"enum":`+all+`},"default":`+all+`}}}`)
	if err := form.Check(form.Fill(json.RawMessage(`{}`))); err == nil || strings.Count(err.Error(), "is required") != size {
		t.Errorf("%.100v", err)
	}
	if err := form.Check(json.RawMessage(`{"other":0,` + strings.Join(names, ":1,") + `:1}`)); err == nil || strings.Count(err.Error(), "must be") != size {
		t.Errorf("%.100v", err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// Forms of both eras are completed and checked before they are sent.
func TestAcceptedForms(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["name"],"properties":{"name":{"type":"string","default":"John"},"age":{"type":"integer","default":30},"verified":{"type":"boolean","default":true},"nick":{"type":"string"}}}`
	question := `{"mode":"form","message":"?","requestedSchema":` + schema + `}`
	tests := map[string]struct {
		content map[string]any
		opts    []client.Option
		want    string // content; "": never sent
	}{
		"nil":       {nil, nil, `{"name":"John","age":30,"verified":true}`},
		"empty":     {map[string]any{}, nil, `{"name":"John","age":30,"verified":true}`},
		"some":      {map[string]any{"age": 31, "verified": false, "nick": nil}, nil, `{"name":"John","age":31,"verified":false}`},
		"invalid":   {map[string]any{"age": "31"}, nil, ""},
		"unchecked": {map[string]any{"age": "31"}, []client.Option{client.UncheckedForms()}, `{"age":"31"}`},
	}
	for _, era := range eras() {
		for name, tt := range tests {
			t.Run(era+" "+name, func(t *testing.T) {
				t.Parallel()
				c, wait := connect(t, func(f *fake) {
					f.era(era)
					got, code := put(f, era, "elicitation/create", question)
					if tt.want != "" {
						sameJSON(f.t, got, `{"action":"accept","content":`+tt.want+`}`)
					} else if got != "ended" && code != -32603 {
						f.t.Errorf("%q, %d", got, code)
					}
				}, append(tt.opts, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
					return &client.ElicitAnswer{Action: "accept", Content: tt.content}, nil
				}))...)
				_, err := c.CallTool(t.Context(), "x", nil)
				if tt.want == "" && era == "2026-07-28" {
					if !errors.Is(err, client.ErrInvalidAnswer) || !strings.Contains(err.Error(), "age: must be an integer") {
						t.Errorf("error %v", err)
					}
					_ = c.Ping(t.Context())
				} else if err != nil {
					t.Error(err)
				}
				wait()
			})
		}
	}
}

// A schema that is no form is the server's business.
func TestOddForms(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		got, _ := put(f, "2026-07-28", "elicitation/create", `{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"},"b":true,"c":{"type":["string","null"],"minLength":"x"}},"required":7}}`)
		sameJSON(f.t, got, `{"action":"accept","content":{"a":{"b":[1]},"b":2}}`)
	}, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
		return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"a": map[string]any{"b": []int{1}}, "b": 2}}, nil
	}))
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
	wait()
}

func FuzzForm(f *testing.F) {
	f.Add(wide, `{"name":"Ann","age":20}`)
	f.Add(`{"properties":{"a":{"enum":[1,null,{}],"default":1},"b":true,"a":1}}`, `{"a":null}`)
	f.Add(`{"properties":{"":{"type":"array","items":{"oneOf":[{"const":[]}]},"default":[[]]}},"required":[""]}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, content string) {
		form, err := client.ParseForm([]byte(schema))
		if err != nil {
			return
		}
		if form.Check(json.RawMessage(content)) != nil {
			return
		}
		filled := form.Fill(json.RawMessage(content))
		if !json.Valid(filled) {
			t.Fatalf("filled: %s", filled)
		}
		if again := form.Fill(filled); string(again) != string(filled) {
			t.Errorf("filled again: %s, not %s", again, filled)
		}
	})
}
