package testkit

import "github.com/kagami-mcp/kagami/framework/store/memory"

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
