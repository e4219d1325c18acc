package binding_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestAdvertisedIsEnforced checks that the plan enforces the formats, patterns and defaults of a schema.
func TestAdvertisedIsEnforced(t *testing.T) {
	t.Parallel()
	type in struct {
		Mail  string  `json:"mail,omitempty" jsonschema:"format=email"`
		Day   *string `json:"day" jsonschema:"format=date"`
		Count uint    `json:"count,string,omitempty"`
		Low   int     `json:"low" default:"1"`
		High  int     `json:"high" default:"9" validate:"min=5,gtfield=Low"`

		Mails []string `json:"mails,omitempty" jsonschema:"format=email"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{NoRepair: true})
	judge := judgeOf(t, p.Schema())
	for raw, want := range map[string]string{
		`{}`: "", `{"mail":"a@b.example"}`: "", `{"mail":"nobody"}`: "/mail", `{"day":"2026-01-31"}`: "", `{"day":"soon"}`: "/day", `{"day":null}`: "",
		`{"mails":["none"]}`: "/mails", `{"mails":["a@b.example"]}`: "",
		`{"count":"0"}`: "", `{"count":"7"}`: "", `{"count":"-0"}`: "/count", `{"count":"-1"}`: "/count", `{"low":8}`: "", `{"low":9}`: "", // no rule applies to an absent member
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if strings.Contains(raw, "count") && accepts(t, judge, []byte(raw)) != (err == nil) {
			t.Errorf("%s: schema and plan disagree", raw)
		}
	}
	out := string(mustCompile(t, reflect.TypeFor[in](), binding.Output, binding.Options{}).Schema())
	if strings.Contains(out, `"format"`) || !strings.Contains(string(p.Schema()), `"format":"email"`) {
		t.Errorf("a result may have a zero: %s", out)
	}
	for _, tag := range []string{`default:"1" validate:"min=5,gtfield=Other"`, `default:"1" validate:"required_with=Other,min=5"`} {
		typ := reflect.StructOf([]reflect.StructField{
			{Name: "Other", Type: reflect.TypeFor[int](), Tag: `json:"other,omitempty"`},
			{Name: "V", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(`json:"v" ` + tag)},
		})
		if p, faults := binding.Compile(typ, binding.Input, binding.Options{}); p != nil || len(faults) == 0 || !strings.Contains(faults[0].String(), "breaks the field's own rules") {
			t.Errorf("%s: %v", tag, faults)
		}
	}
}
