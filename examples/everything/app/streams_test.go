package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// Without HTTP no stream can be released, so the result is simply sent.
func TestReconnectionWithoutHTTP(t *testing.T) {
	testkit.AllRevisions(t, New, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("test_reconnection", "{}").OK().Mentions("Reconnection test completed successfully")
	})
}

// moment records when the stream was released.
type moment struct{ time.Time }

// Release implements the Stream of transport.Request.
func (m *moment) Release() { m.Time = time.Now() }

func TestReconnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var released moment
		ctx, cancel := context.WithCancelCause(transport.WithRequest(t.Context(), &transport.Request{Stream: &released}))
		if _, err := reconnection(ctx, none{}); err != nil {
			t.Error(err)
		}
		if !released.Equal(start) || time.Since(start) != away {
			t.Errorf("released after %s, answered after %s", released.Sub(start), time.Since(start))
		}
		gone := errors.New("gone")
		time.AfterFunc(away/2, func() { cancel(gone) })
		if _, err := reconnection(ctx, none{}); !errors.Is(err, gone) || time.Since(start) != away+away/2 {
			t.Errorf("cancelled after %s: %v", time.Since(start), err)
		}
	})
}

// The tool asks the user if possible, and no client gets an error.
func TestStreamingElicitation(t *testing.T) {
	t.Parallel()
	asking(t, func(s *testkit.Session) {
		s.OnElicit("Who are you?", map[string]string{"username": "ada", "email": "ada@example.com"})
		s.CallRaw("test_streaming_elicitation", "{}").
			OK().Mentions(`User response: action=accept, content={"username":"ada","email":"ada@example.com"}`)
	}, protocol.Rev20250618, protocol.Rev20251125)
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String()+" without elicitation", func(t *testing.T) {
			t.Parallel()
			s := testkit.New(t, New, testkit.At(rev), testkit.Without("elicitation"))
			s.CallRaw("test_streaming_elicitation", "{}").OK().Mentions("The user cannot be asked.")
			if got := s.Progress(); len(got) != 2 {
				t.Errorf("progress: %+v", got)
			}
		})
	}
}
