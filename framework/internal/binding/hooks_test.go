package binding_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// hCode has a schema that differs from the schema of its kind.
type hCode string

func (hCode) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^[A-Z]{3}$"}
}

// hLevel adds to its schema.
type hLevel int

func (hLevel) JSONSchemaExtend(s *jsonschema.Schema) { s.Enum = []any{10, 20} }

// hPoint requires one of its members by its schema, not by a tag.
type hPoint struct {
	X int `json:"x,omitempty"`
	Y int `json:"y,omitempty"`
}

func (hPoint) JSONSchemaExtend(s *jsonschema.Schema) {
	least := uint64(1)
	s.MinProperties = &least
}

// hAmount reads more than its schema accepts, as decimals do.
type hAmount struct{ text string }

func (a hAmount) MarshalJSON() ([]byte, error) { return json.Marshal(a.text) }
func (a *hAmount) UnmarshalJSON(b []byte) error {
	a.text = strings.Trim(string(b), `"`)
	return nil
}

func (hAmount) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9.]+$`}
}

// hMail has a format.
type hMail string

func (hMail) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Format: "email"}
}

// hPair changes one of its properties.
type hPair struct {
	N    int    `json:"n"`
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
}

func (hPair) JSONSchemaExtend(s *jsonschema.Schema) {
	name, _ := s.Properties.Get("name")
	name.Pattern = "^[a-z]+$"
}

type hAll struct {
	Code   hCode             `json:"code,omitempty"`
	Level  *hLevel           `json:"level,omitempty"`
	Levels map[string]hLevel `json:"levels,omitempty"`
	Points []hPoint          `json:"points,omitempty"`
	Amount hAmount           `json:"amount,omitzero" default:"1.5"`
	Tagged hLevel            `json:"tagged,omitempty" jsonschema:"multipleOf=20"`
	Five   int               `json:"five,omitempty" jsonschema:"multipleOf=5"`
	Few    []int             `json:"few,omitempty" jsonschema:"uniqueItems=true"`
	IDs    []int             `json:"ids,omitempty" jsonschema:"minimum=1"`
	Mail   hMail             `json:"mail,omitempty"`
	Pair   *hPair            `json:"pair"`
	Many   []hLevel          `json:"many,omitempty"`
	Plain  []int             `json:"plain,omitempty"`
	Files  [][]byte          `json:"files,omitempty" jsonschema:"minLength=2"`
}

// TestSchemaHooksAreEnforced checks that arguments must satisfy the schema of a type, as they must satisfy tags, also
// values inside others and values that arrived inside a text.
func TestSchemaHooksAreEnforced(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"code":"ABC"}`:               "",
		`{"code":"abc"}`:               `/code: got "abc" (text). Want text that matches ^[A-Z]{3}$.`,
		`{"level":20}`:                 "",
		`{"level":null}`:               "",
		`{"level":"20"}`:               "",
		`{"level":30}`:                 "/level: got 30 (number). Want one of 10, 20.",
		`{"level":"30"}`:               `/level: got "30" (text). Want one of 10, 20.`,
		`{"levels":{"a":10,"b":11}}`:   "/levels/b: got 11 (number). Want one of 10, 20.",
		`{"points":[{"x":1},{"y":1}]}`: "",
		`{"points":[{"x":1},{}]}`:      "/points/1: got {} (object). Want an object with x, y. Wanted is at least 1 member.",
		`{"points":"[{\"x\":1}]"}`:     "",
		`{"points":["{}"]}`:            `/points/0: got "{}" (text). Want an object with x, y.`,
		`{"amount":"2.5"}`:             "",
		`{"amount":2.5}`:               "/amount: got 2.5 (number). Want text that matches ^[0-9.]+$.",
		`{"amount":null}`:              "", // not given
		`{"tagged":20}`:                "",
		`{"tagged":10}`:                "/tagged: got 10 (number)",
		`{"five":"10","few":"[1,2]"}`:  "",
		`{"five":"7"}`:                 `/five: got "7" (text). Want a whole number that is a multiple of 5.`,
		`{"ids":["5"]}`:                "",
		`{"ids":["5","0"]}`:            `/ids/1: got "0" (text). Want a whole number.`,
		`{"ids":[5,0]}`:                `/ids: got [5,0] (list). Want a list, each a whole number of at least 1.`,
		`{"ids":"[\"5\",6]"}`:          "",
		`{"mail":"a@b.example"}`:       "",
		`{"mail":"none"}`:              `/mail: got "none" (text). Want an email address.`,
		`{"few":"[1,1]"}`:              `/few: got "[1,1]" (text). Want a list, each a whole number, all different.`,
	} {
		_, _, err := decodeTo[hAll](t, raw)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", raw, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
	for raw, want := range map[string]string{
		`{"pair":{"n":"5","name":"ok"}}`:           "/pair/n",
		`{"pair":{"n":5,"name":"ok","size":null}}`: "/pair/size",
		`{"pair":"{\"n\":\"5\",\"name\":\"ok\"}"}`: "/pair /pair/n",
		`{"ids":[1,"2"]}`:                          "/ids/1",
		`{"files":["123456"]}`:                     "/files/0",
	} {
		if _, report, err := decodeTo[hAll](t, raw); err != nil || strings.Join(report.Repaired, " ") != want {
			t.Errorf("%s: %v %v", raw, report.Repaired, err)
		}
	}
	if _, _, err := decodeTo[hAll](t, `{"pair":{"n":"5","name":"No"}}`); paths(err) != "/pair/n" {
		t.Error(err) // the text is the fault: no repair helps
	}
	if v, _, err := decodeTo[hAll](t, `{}`); err != nil || v.Amount.text != "1.5" {
		t.Errorf("%+v %v", v, err)
	}
	p := mustCompile(t, reflect.TypeFor[hAll](), binding.Input, binding.Options{})
	if !strings.Contains(string(p.Schema()), `"default":"1.5"`) {
		t.Errorf("a default that its schema refuses: %s", p.Schema())
	}
	out := mustCompile(t, reflect.TypeFor[hCode](), binding.Output, binding.Options{})
	if text, err := out.Append(nil, reflect.ValueOf(hCode("x"))); err != nil || string(text) != `"x"` {
		t.Errorf("%s %v", text, err)
	}
}

// TestHooksAfterManyRepairs checks that the value inside a text is judged, also if a report does not list the
// repair.
func TestHooksAfterManyRepairs(t *testing.T) {
	t.Parallel()
	items := `:["10"` + strings.Repeat(`,"10"`, 70) + `]`
	for last, good := range map[string]bool{
		`}`: true, `,"five":"10"}`: true, `,"five":"7"}`: false, `,"level":"20"}`: true, `,"level":"30"}`: false, `,"files":["123456"]}`: true,
		`,"pair":{"n":"5","name":"ok"}}`: true, `,"pair":"{\"n\":\"5\",\"name\":\"ok\"}"}`: true, `,"ids":["5","0"]}`: false, `,"ids":["5","6"]}`: true,
	} {
		for _, list := range []string{"many", "plain"} {
			if _, _, err := decodeTo[hAll](t, `{"`+list+`"`+items+last); (err == nil) != good {
				t.Errorf("%s, %s: %v", list, last, err)
			}
		}
	}
}

// hEither requires one of its members.
type hEither struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

func (hEither) JSONSchemaExtend(s *jsonschema.Schema) {
	s.AnyOf = []*jsonschema.Schema{{Required: []string{"id"}}, {Required: []string{"name"}}}
}

// TestAlternativesAtTheRoot checks that alternatives at the root keep the type beside them.
func TestAlternativesAtTheRoot(t *testing.T) {
	t.Parallel()
	for _, mode := range []binding.Mode{binding.Input, binding.Output} {
		p := mustCompile(t, reflect.TypeFor[hEither](), mode, binding.Options{})
		if schema := string(p.Schema()); !strings.HasPrefix(schema, `{"type":"object"`) || !strings.Contains(schema, `"anyOf":[{"type":"object","required":["id"]}`) {
			t.Errorf("schema %s", schema)
		}
	}
	for raw, good := range map[string]bool{`{"id":"a"}`: true, `{"name":"a"}`: true, `{}`: false} {
		if _, _, err := decodeTo[hEither](t, raw); (err == nil) != good {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
