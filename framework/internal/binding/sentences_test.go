package binding_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// SBase is embedded.
type SBase struct {
	N int `json:"n"`
}

// TestSentencesOfRules checks the words for rules without a keyword. They use the caller's spelling of names
// and values.
func TestSentencesOfRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   any
		want string
	}{
		"one of durations": {struct {
			V time.Duration `json:"v" validate:"oneof=1000000000 3600000000000"`
		}{}, "One of: 1s, 1h."},
		"none of durations": {struct {
			V []time.Duration `json:"v" validate:"dive,noneof=5000000000"`
		}{}, "None of: 5s."},
		"path": {struct {
			A     int `json:"a" validate:"gtfield=Range.From"`
			Range *struct {
				From int `json:"from"`
			} `json:"range"`
		}{}, "Must be greater than range.from."},
		"path of presence": {struct {
			C     int `json:"c,omitempty" validate:"required_if=Range.From 1"`
			Range *struct {
				From int `json:"from"`
			} `json:"range"`
		}{}, "Required if range.from is 1."},
		"path of an item": {struct {
			B int `json:"b" validate:"ltfield=L[0].N"`
			L []struct {
				N int `json:"n"`
			} `json:"list"`
		}{}, "Must be less than list[0].n."},
		"path of an embedded field": {struct {
			SBase
			B int `json:"b" validate:"ltfield=SBase.N"`
		}{}, "Must be less than n."},
		"unless one": {struct {
			A int `json:"a,omitempty" validate:"required_unless=B 1 C 2"`
			B int `json:"b"`
			C int `json:"c"`
		}{}, "Required unless b is 1 or c is 2."},
		"skip unless": {struct {
			A int `json:"a,omitempty" validate:"skip_unless=B 1 C 2"`
			B int `json:"b"`
			C int `json:"c"`
		}{}, "Required if b is 1 and c is 2."},
		"without all": {struct {
			A int `json:"a,omitempty"`
			B int `json:"b,omitempty"`
			C int `json:"c,omitempty" validate:"required_without_all=A B"`
		}{}, "Required if a and b are missing."},
		"with one": {struct {
			A int `json:"a,omitempty" validate:"excluded_with_all=B"`
			B int `json:"b,omitempty"`
		}{}, "Not allowed if b is given."},
		"elements of a type that reads itself": {struct {
			V tWords `json:"v" validate:"min=1,dive,oneof=a b c"`
		}{}, "Of each element: One of: a, b, c."},
		"element that is not empty": {struct {
			V []kLower `json:"v" validate:"dive,required"`
		}{}, "Not empty."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(mustCompile(t, reflect.TypeOf(tt.in), binding.Input, binding.Options{}).Schema()); !strings.Contains(got, tt.want) {
				t.Errorf("no %s in %s", tt.want, got)
			}
		})
	}
}
