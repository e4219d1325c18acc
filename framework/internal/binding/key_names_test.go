package binding_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// kShout is a text with a String method that returns another text.
type kShout string

func (s kShout) String() string { return strings.ToUpper(string(s)) }

// kLower is a text that is read in lower case.
type kLower string

func (s *kLower) UnmarshalText(text []byte) error {
	*s = kLower(strings.ToLower(string(text)))
	return nil
}

// kMap has rules for the entries of a map. kPair also has a relation, which makes validator judge the whole
// value.
type (
	kMap[K comparable] struct {
		M map[K]int `json:"m" validate:"dive,min=1"`
	}
	kPair[K comparable] struct {
		kMap[K]
		A int `json:"a,omitempty"`
		B int `json:"b,omitempty" validate:"gtefield=A"`
	}
)

// TestRulesBelowRespeltKeys checks the rules of an entry, however the caller writes its key.
func TestRulesBelowRespeltKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		alone, related reflect.Type
		key            string
	}{
		{reflect.TypeFor[kMap[netip.Addr]](), reflect.TypeFor[kPair[netip.Addr]](), "2001:DB8::1"},
		{reflect.TypeFor[kMap[kShout]](), reflect.TypeFor[kPair[kShout]](), "a].b[c"},
		{reflect.TypeFor[kMap[kLower]](), reflect.TypeFor[kPair[kLower]](), "Abc"},
		{reflect.TypeFor[kMap[time.Time]](), reflect.TypeFor[kPair[time.Time]](), "2026-01-31T15:04:05+05:45"},
		{reflect.TypeFor[kMap[time.Time]](), reflect.TypeFor[kPair[time.Time]](), "2026-01-31T15:04:05.50-03:30"},
	} {
		for _, typ := range []reflect.Type{tt.alone, tt.related} {
			p := mustCompile(t, typ, binding.Input, binding.Options{})
			for value, want := range map[string]string{"0": "/m/" + tt.key, "1": ""} {
				raw := `{"m":{"` + tt.key + `":` + value + `}}`
				_, err := p.Decode(t.Context(), []byte(raw), reflect.New(typ).Elem())
				if got := paths(err); got != want || (err == nil) != (want == "") {
					t.Errorf("%s %s: faults at %q, want %q (%v)", typ, raw, got, want, err)
				}
			}
		}
	}
}
