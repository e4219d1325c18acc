package testkit

// IsHandshake says whether the session has one.
func IsHandshake(s *Session) bool { return s.config.dialect.Handshake() }
