package binding_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestSentencesOfRules: a rule without a keyword is said in words, as the caller writes names and values.
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(mustCompile(t, reflect.TypeOf(tt.in), binding.Input, binding.Options{}).Schema()); !strings.Contains(got, tt.want) {
				t.Errorf("no %s in %s", tt.want, got)
			}
		})
	}
}
