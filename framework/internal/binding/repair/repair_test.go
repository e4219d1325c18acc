package repair_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/repair"
)

type booking struct {
	City string `json:"city" validate:"min=2"`
	Days int    `json:"days" validate:"min=1,max=30"`
	Room string `json:"room,omitempty" validate:"omitempty,oneof=single double"`
	PIN  string `json:"pin,omitempty" secret:"true"`
}

// suggest returns the suggestion for a call that the plan must refuse.
func suggest(tb testing.TB, call string) (try string, examples []string) {
	tb.Helper()
	p, faults := plan.Compile(reflect.TypeFor[booking](), plan.Input, plan.Options{})
	if p == nil {
		tb.Fatal(faults)
	}
	ctx := context.Background()
	_, found, err := p.Decode(ctx, []byte(call), reflect.New(p.Type()).Elem())
	if err == nil {
		tb.Fatalf("%s is right", call)
	}
	try, examples = repair.Suggest(ctx, p, []byte(call), found)
	if left, err := p.Retry(ctx, []byte(try)); try != "" && err != nil {
		tb.Errorf("%s: %s is wrong: %v", call, try, left)
	}
	return try, examples
}

// TestSuggest checks that right values stay at their place. A suggestion prefers the value that was meant,
// then no value, then an example.
func TestSuggest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, try string
		examples  []string
	}{
		{`{"city":"Rome","days":31}`, `{"city":"Rome","days":30}`, nil},
		{`{"days":3,"town":"Rome"}`, `{"days":3,"city":"text"}`, []string{"/city"}}, // town may be a secret
		{`{"City":"Rome","days":"3 nights"}`, `{"days":3,"city":"Rome"}`, nil},
		{`{"city":"Rome","days":3,"room":"Double"}`, `{"city":"Rome","days":3,"room":"double"}`, nil},
		{`{"city":"Rome","days":3,"room":"suite"}`, `{"city":"Rome","days":3}`, nil},
		{`{"city":"Rome"}`, `{"city":"Rome","days":1}`, []string{"/days"}},
		{`{"city":"Rome","days":3,"days":4}`, `{"city":"Rome","days":3}`, nil},
	} {
		try, examples := suggest(t, c.call)
		if try != c.try || !slices.Equal(examples, c.examples) {
			t.Errorf("%s: %s, examples %q; want %s and %q", c.call, try, examples, c.try, c.examples)
		}
	}
}

// TestNoSuggestion checks that no suggestion repeats a secret, has more than 1 KiB, or is made from a call
// that means something else.
func TestNoSuggestion(t *testing.T) {
	t.Parallel()
	strange := ""
	for i := range plan.MaxGuesses + 1 {
		strange += fmt.Sprintf(`,"zz%d":1`, i)
	}
	for name, call := range map[string]string{
		"a secret":        `{"city":"Rome","days":0,"pin":"1234"}`,
		"a long call":     `{"days":0,"city":"` + strings.Repeat("x", 5<<10) + `"}`,
		"a long result":   `{"days":0,"city":"` + strings.Repeat("x", 2<<10) + `"}`,
		"another purpose": `{"city":"Rome","days":3` + strange + `}`,
	} {
		if try, examples := suggest(t, call); try != "" || examples != nil {
			t.Errorf("%s: %s, %q", name, try, examples)
		}
	}
}
