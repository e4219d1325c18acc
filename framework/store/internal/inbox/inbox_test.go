package inbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/internal/inbox"
)

var errOver = errors.New("over")

// serve returns what the subscriber gets until it has got "end". Lost messages are "lost".
func serve(t *testing.T, box *inbox.Inbox) (got []string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	box.Put([]byte("end"))
	err := box.Serve(ctx, func(message []byte) {
		if message == nil {
			message = []byte("lost")
		}
		if string(message) == "end" {
			cancel(errOver)
			return
		}
		got = append(got, string(message))
	})
	if !errors.Is(err, errOver) {
		t.Error(err)
	}
	return got
}

// TestServe: messages come in order; a queue that is full, or that was lost, is replaced by one nil.
func TestServe(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("l", 4<<20+1)
	for name, c := range map[string]struct{ puts, want []string }{
		"in order":       {[]string{"a", "b"}, []string{"a", "b"}},
		"lost":           {[]string{"a", "", "b", "", "c"}, []string{"lost", "c"}},
		"too many":       {slices.Repeat([]string{"a"}, 1025), []string{"lost"}},
		"too many bytes": {[]string{"a", large, "b"}, []string{"lost", "b"}},
	} {
		box := inbox.New()
		for _, put := range c.puts {
			if put == "" {
				box.Lost()
				continue
			}
			box.Put([]byte(put))
		}
		if got := serve(t, box); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %.60q, want %.60q", name, got, c.want)
		}
	}
}

// TestLargeAlone: a message beyond the bound is delivered if nothing else waits.
func TestLargeAlone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	box, got := inbox.New(), 0
	box.Put(make([]byte, 5<<20))
	_ = box.Serve(ctx, func(message []byte) { got = len(message); cancel() })
	if got != 5<<20 {
		t.Errorf("got %d bytes", got)
	}
}
