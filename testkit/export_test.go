package testkit

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// IsHandshake says whether the session has one.
func IsHandshake(s *Session) bool { return s.config.dialect.Handshake() }

// Revision of the session.
func Revision(s *Session) string { return s.config.dialect.String() }

// ShareClaims gives the servers of Chaos one store, as a cluster has.
func ShareClaims(s *Session) {
	if c := s.chaos.Load(); c != nil {
		c.claims = memory.New().Claims()
	}
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
func ReplayIn(t testing.TB, app *framework.App, path string) { replay(t, app, path) }

// Matches is how a replay compares texts.
var Matches = matches
