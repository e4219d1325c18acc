package streamable_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// written counts what a response is made of.
type written struct {
	status, parts, length int
}

func (w *written) Open(status int, _ []streamable.Field, length int) error {
	w.status, w.length = status, length
	return nil
}

func (w *written) Write([]byte) error {
	w.parts++
	return nil
}

// late ends without a word, after the carrier has taken over.
type late struct{ over chan struct{} }

func (l late) Accept(context.Context, []byte) (transport.Exchange, error) { return l, nil }
func (l late) Serve(context.Context, transport.Outbound) error {
	<-l.over
	return nil
}

// A response is due even when nothing was said in the end.
func TestNothingSaid(t *testing.T) {
	t.Parallel()
	h := late{make(chan struct{})}
	e := streamable.New(h, streamable.Config{})
	visit, refused := e.Check(t.Context(), &streamable.Request{
		Method: http.MethodPost, Host: "localhost", Fields: transport.HeaderFields{"Content-Type": {"application/json"}},
	})
	if refused != nil {
		t.Fatalf("refused: %+v", refused)
	}
	reply := visit.Serve([]byte("{}"))
	if reply.Stream == nil {
		t.Fatalf("the reply is %+v", reply)
	}
	close(h.over)
	var w written
	reply.Stream.Serve(t.Context(), &w)
	if w.status != http.StatusAccepted || w.length != 0 || w.parts != 0 {
		t.Errorf("the response is %+v", w)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// No answer ends the only stream of a connection; its end does.
func TestLone(t *testing.T) {
	t.Parallel()
	g := streamable.NewAdmitter(late{}, streamable.Config{MaxStreams: 1})
	entry, refused := g.Admit(t.Context(), &streamable.Request{Method: http.MethodGet, Host: "localhost", Fields: transport.HeaderFields{}}, "GET")
	if refused != nil {
		t.Fatalf("refused: %+v", refused)
	}
	left := make(chan struct{})
	l := g.NewConnectionStream([]byte("hello"), nil, func() { close(left) })
	reply := l.Reply(&entry)
	if other := g.NewConnectionStream(nil, nil, nil).Reply(&entry); other.Status != http.StatusTooManyRequests {
		t.Errorf("a second stream of one client: %+v", other)
	}
	var w written
	done := make(chan struct{})
	go func() { defer close(done); reply.Stream.Serve(t.Context(), &w) }()
	for range 3 {
		if err := l.Send(t.Context(), transport.Frame{JSON: []byte("{}"), Final: true, Status: http.StatusNotFound}); err != nil {
			t.Errorf("Send: %v", err)
		}
	}
	l.Finish()
	<-done
	<-left
	if w.status != http.StatusOK || w.length != -1 {
		t.Errorf("the response is %+v", w)
	}
	if err := l.Send(t.Context(), transport.Frame{JSON: []byte("{}")}); err == nil {
		t.Error("Send succeeded after the end")
	}
}
