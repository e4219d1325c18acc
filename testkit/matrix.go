package testkit

import (
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Matrix runs body for every revision on every carrier, one after another. If app is a function,
// each runs on an app of its own. The subtests are named for both, such as "2025-11-25/fiber". The
// carriers are inmem, stdio (over pipes), fiber (without a socket), fiber-socket and nethttp. Over
// HTTP the session's user needs no token.
func Matrix[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	for _, d := range dialect.All() {
		for _, c := range within(opts, carriers()) {
			subtest(t, d.String()+"/"+c.name, app, body, opts, at(d), over(c))
		}
	}
}

// AllCarriers runs body on every carrier, at the newest revision or the revision of [At]. If app is
// a function, each runs on an app of its own.
func AllCarriers[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	for _, c := range within(opts, carriers()) {
		subtest(t, c.name, app, body, opts, over(c))
	}
}

// BothEras runs body at the newest revision with a handshake (2025-11-25) and at the newest
// revision without one (2026-07-28), in memory. If app is a function, each runs on an app of its
// own.
func BothEras[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	for _, d := range []*dialect.Dialect{dialect.Handshake(""), newest()} {
		subtest(t, d.String(), app, body, opts, at(d))
	}
}

// AllRevisions runs body at every revision in memory, each on an app of its own if app is a
// function.
func AllRevisions[A AppSource](t *testing.T, app A, body func(*testing.T, *Session), opts ...Option) {
	t.Helper()
	for _, d := range dialect.All() {
		subtest(t, d.String(), app, body, opts, at(d))
	}
}

// subtest runs body on a session of its own. The options of the matrix come last, so that they take
// precedence.
func subtest[A AppSource](t *testing.T, name string, app A, body func(*testing.T, *Session), opts []Option, own ...Option) {
	t.Helper()
	given(t, body)
	run := func(t *testing.T) {
		t.Helper()
		body(t, New(t, app, slices.Concat(opts, own)...))
	}
	if newConfig(opts).virtual {
		run = bubble(run)
	}
	t.Run(name, run)
}

// given ends the test if the body is nil.
func given(t testing.TB, body func(*testing.T, *Session)) {
	t.Helper()
	if body == nil {
		t.Fatalf("testkit: the body is nil")
	}
}

func newest() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}

func at(d *dialect.Dialect) Option { return optionFunc(func(c *config) { c.dialect = d }) }

func over(line carrier) Option { return optionFunc(func(c *config) { c.carrier = line }) }
