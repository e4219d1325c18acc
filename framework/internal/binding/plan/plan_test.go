package plan_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
)

func ExamplePlan() {
	type search struct {
		Query string   `json:"query" doc:"words to look for"`
		Limit int      `json:"limit,omitempty" default:"10" validate:"max=50"`
		Tags  []string `json:"tags"`
	}
	p, _ := plan.Compile(reflect.TypeFor[search](), plan.Input, plan.Options{})
	var in search
	report, findings, err := p.Decode(context.Background(), []byte(`{"query":"tea","tags":"[]"}`), reflect.ValueOf(&in).Elem())
	fmt.Println(in.Query, in.Limit, report.Repaired, len(findings), err)
	out, err := p.Append(nil, reflect.ValueOf(in))
	fmt.Println(string(out), err)
	// Output:
	// tea 10 [/tags] 0 <nil>
	// {"query":"tea","limit":10,"tags":[]} <nil>
}

type planIn struct {
	N int            `json:"n" validate:"min=1"`
	L []int          `json:"l,omitempty" validate:"max=2"`
	M map[string]int `json:"m,omitempty"`
	S string         `json:"s,omitempty" secret:"true"`
}

// TestFindings: a finding has what package repair needs: the place, the rule, and the member if it is about one.
func TestFindings(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[planIn](), plan.Input, plan.Options{})
	for call, want := range map[string][]string{
		`{"n":0}`:                      {"/n min N"},
		`{"n":true}`:                   {"/n type N"},
		`{"l":[1,2,true]}`:             {"/l max L", "/l/2 type ", "/n required N missing"},
		`{"n":1,"m":{"a":1,"a":2}}`:    {"/m/a duplicate "},
		`{"n":1,"x":1}`:                {"/x unknown "},
		`{"n":1,"n":2,"m":{"a/b":""}}`: {"/n duplicate N", "/m/a~1b type "},
	} {
		_, found, err := p.Decode(t.Context(), []byte(call), reflect.New(p.Type()).Elem())
		var got []string
		for _, f := range found {
			text := f.Path + " " + f.Rule + " "
			if f.Field != nil && f.Path == "/"+f.Field.Name {
				text += map[string]string{"n": "N", "l": "L"}[f.Field.Name]
			}
			if f.Missing {
				text += " missing"
			}
			got = append(got, text)
		}
		if err == nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q (%v)", call, got, want, err)
		}
	}
}

// TestRefusedIsZero: a refused call leaves nothing in the value, whatever was in it before.
func TestRefusedIsZero(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[planIn](), plan.Input, plan.Options{})
	in := planIn{N: 7, L: []int{1}}
	if _, _, err := p.Decode(t.Context(), []byte(`{"n":2,"s":1}`), reflect.ValueOf(&in).Elem()); err == nil || !reflect.ValueOf(in).IsZero() {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestFits asks of one value what Decode asks of all.
func TestFits(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[planIn](), plan.Input, plan.Options{})
	_, found, _ := p.Decode(t.Context(), []byte(`{"n":0,"l":[1,2,3]}`), reflect.New(p.Type()).Elem())
	for i, values := range []map[string]bool{{"1": true, "0": false, `"1"`: false}, {"[1,2]": true, "[1,2,3]": false, "[true]": false}} {
		for value, want := range values {
			if got := p.Fits(found[i].Node, found[i].Rules, []byte(value)); got != want {
				t.Errorf("%s %s: %v", found[i].Path, value, got)
			}
		}
	}
	for call, want := range map[string]bool{`{"n":1}`: false, `{"s":"x"}`: true} {
		if p.ShowsSecret([]byte(call)) != want {
			t.Errorf("%s: %v", call, !want)
		}
	}
}
