package binding_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// FFilled is embedded by a pointer. A default makes the struct behind it.
type FFilled struct {
	Limit int `json:"limit" default:"10"`
}

// TestRulesOfFilledPointers checks that rules may name a member with a default, because the default makes the
// embedded struct.
func TestRulesOfFilledPointers(t *testing.T) {
	t.Parallel()
	type in struct {
		*FFilled

		Max int `json:"max" validate:"gtefield=Limit"`
	}
	for raw, want := range map[string]string{`{"max":10}`: "", `{"max":9}`: "/max", `{"limit":3,"max":3}`: ""} {
		if _, _, err := decodeTo[in](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// FLists is one of several lists.
type FLists []string

// Values returns the lists.
func (FLists) Values() []FLists { return []FLists{{"a"}, {"b"}} }

// TestSuggestionForOneOfSeveralLists checks that a suggestion for such a list does not look for the kind of
// its items.
func TestSuggestionForOneOfSeveralLists(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[struct {
		V FLists `json:"v"`
	}](), binding.Input, binding.Options{})
	if text := refusal(t, p, `{"v":"c"}`).Error(); !strings.Contains(text, "/v") {
		t.Error(text)
	}
}
