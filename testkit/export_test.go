package testkit

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// IsHandshake says whether the session has one.
func IsHandshake(s *Session) bool { return s.config.dialect.Handshake() }

// Revision of the session.
func Revision(s *Session) string { return s.config.dialect.String() }

// Label is the label of the goroutines of a session.
func Label(s *Session) string { return s.testServer.label }

// ShareClaims gives the servers of Chaos one store, as a cluster has.
func ShareClaims(s *Session) {
	if c := s.chaos.Load(); c != nil {
		c.claims = memory.New().Claims()
	}
}

// Verbose is as if go test had the flag -v, or not.
func Verbose(on bool) Option { return optionFunc(func(c *config) { c.verbose = on }) }

// Lists returns the lists that options add to, as text.
func Lists(opts ...Option) string {
	c := newConfig(opts)
	return fmt.Sprint(c.without, c.leaks, c.secrets, c.principal.Scopes)
}

// Over is the carrier of a session.
func Over(name string) Option {
	for _, c := range carriers() {
		if c.name == name {
			return over(c)
		}
	}
	return nil
}

// AtOf is the revision of another session.
func AtOf(s *Session) Option { return at(s.config.dialect) }

// ReplayIn is Replay for a test of tests.
func ReplayIn(t testing.TB, app *framework.App, path string, opts ...Option) {
	replay(t, app, path, opts)
}

// Given is what the runners of bodies look at first.
var Given = given

// Matches is how a replay compares texts.
var Matches = matches

// Twice is how many answers of a session have come twice.
func Twice(s *Session) (n int) {
	frames, _ := s.wire.exchange.all()
	seen := make(map[string]bool)
	for _, f := range frames {
		if f.sent || !answersClient(f.text) {
			continue
		}
		if seen[string(f.text)] {
			n++
		}
		seen[string(f.text)] = true
	}
	return n
}

// Cuts is how many streams of a session have broken.
func Cuts(s *Session) int {
	f := s.wire.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cuts
}

// InPieces is what a bad carrier makes of a reader, and of a connection.
func InPieces(seed uint64, r io.Reader, c net.Conn) (io.Reader, net.Conn) {
	f := &faults{seed: seed}
	bad, _ := f.dial(func(context.Context, string, string) (net.Conn, error) { return c, nil })(context.Background(), "", "")
	return f.reader(r), bad
}

// Pipe is a connection of the carriers without a socket.
func Pipe(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l := newPipes()
	t.Cleanup(l.close)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := (&listener{Listener: l}).Accept()
		accepted <- c
	}()
	client, err := l.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return client, <-accepted
}
