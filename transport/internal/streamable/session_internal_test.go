package streamable

import "testing"

// TestForgottenSessions checks that a session is forgotten only once, and that nothing of it is
// left.
func TestForgottenSessions(t *testing.T) {
	t.Parallel()
	e := &Endpoint{sessions: map[string]*session{}, openers: map[string]int{}, sessionsByKey: map[string]*session{}}
	a, b := &session{id: "a", opener: "ann", places: 3, record: &record{key: "k"}}, &session{id: "b", opener: "ann", places: 1}
	e.file(a)
	e.file(b)
	e.forgetSession(a)
	e.forgetSession(a)
	if e.openers["ann"] != 1 || e.places != 1 || len(e.sessions) != 1 || len(e.sessionsByKey) != 0 {
		t.Errorf("%v, %d sessions, %d keys", e.openers, len(e.sessions), len(e.sessionsByKey))
	}
	e.forgetSession(b)
	if len(e.openers) != 0 || e.places != 0 || len(e.sessions) != 0 {
		t.Errorf("%v, %d sessions", e.openers, len(e.sessions))
	}
}
