package jsontext_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// TestDepthTimesSize: 60 brackets around a long text cost one pass, not one for each bracket.
func TestDepthTimesSize(t *testing.T) {
	t.Parallel()
	inner := "[" + strings.Repeat(" ", 4<<20) + "1]"
	flat, deep := []byte(inner), []byte(strings.Repeat("[", 60)+inner+strings.Repeat("]", 60))
	for name, read := range map[string]func(text []byte){
		"Any":       func(text []byte) { jsontext.Any(text) },
		"Canonical": func(text []byte) { jsontext.Canonical(nil, text) },
		"Unique":    func(text []byte) { _ = jsontext.Unique(text) },
	} {
		least := func(text []byte) time.Duration {
			best := time.Hour
			for range 5 {
				began := time.Now()
				read(text)
				best = min(best, time.Since(began))
			}
			return best
		}
		if one, all := least(flat), least(deep); all > 20*one {
			t.Errorf("%s: %v, and %v with 60 brackets around it", name, one, all)
		}
	}
}
