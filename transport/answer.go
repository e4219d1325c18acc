package transport

import (
	"context"
	"time"
)

// marked is the context that is passed to the Send of an answer. It holds all the marks for
// HTTP carriers, so that reading them does not walk up the chain of contexts.
type marked struct {
	parent    context.Context //nolint:containedctx // it is a context itself
	status    int             // of Final
	final     bool            // of Final
	retry     time.Duration   // of RetryAfter; 0: none
	challenge string          // of Challenged; empty: none
}

type markKey struct{}

// Value returns m itself for markKey, so that contexts derived from m carry its marks.
func (m *marked) Value(key any) any {
	switch {
	case key == markKey{}:
		return m
	case m.final:
		return context.WithoutCancel(m.parent).Value(key) // hides the parent's cancellation from package context
	}
	return m.parent.Value(key)
}

// Deadline reports none if m is final.
func (m *marked) Deadline() (deadline time.Time, ok bool) {
	if m.final {
		return deadline, false
	}
	return m.parent.Deadline()
}

// Done returns nil if m is final.
func (m *marked) Done() <-chan struct{} {
	if m.final {
		return nil
	}
	return m.parent.Done()
}

// Err returns nil if m is final.
func (m *marked) Err() error {
	if m.final {
		return nil
	}
	return m.parent.Err()
}

// marks returns the marks of ctx, or &unmarked if it has none. The result is read-only.
func marks(ctx context.Context) *marked {
	m, ok := ctx.(*marked)
	if !ok {
		m, _ = ctx.Value(markKey{}).(*marked)
	}
	if m == nil {
		return &unmarked
	}
	return m
}

var unmarked marked

// mark makes m a child of ctx and copies the marks of ctx, to which the caller adds its own.
// If ctx is a *marked itself, m takes its place instead of wrapping it.
func (m *marked) mark(ctx context.Context) {
	*m = *marks(ctx)
	if _, direct := ctx.(*marked); !direct {
		m.parent = ctx
	}
}

// Challenged marks the context of the Send of an answer that demands more of the caller:
// challenge becomes the WWW-Authenticate of the response, if its header has not been
// written yet.
func Challenged(ctx context.Context, challenge string) context.Context {
	m := &marked{}
	m.mark(ctx)
	m.challenge = challenge
	return m
}

// ChallengeFrom returns what Challenged was given, or "".
func ChallengeFrom(ctx context.Context) string { return marks(ctx).challenge }

// RetryAfter marks the context of the Send of an answer that refuses for now: the client
// should wait that long.
func RetryAfter(ctx context.Context, after time.Duration) context.Context {
	m := &marked{}
	m.mark(ctx)
	m.retry = after
	return m
}

// RetryAfterFrom returns the mark of RetryAfter, or 0. HTTP carriers make it the field
// Retry-After, if the answer is the whole response.
func RetryAfterFrom(ctx context.Context) time.Duration { return marks(ctx).retry }

// Final marks the context of the Send of an exchange's last frame, its answer, which is
// sent even if contexts have ended. status is the HTTP status that belongs to it, if none
// has been written yet. Other marks of ctx are kept.
func Final(ctx context.Context, status int) context.Context {
	m := &marked{}
	m.mark(ctx)
	m.status, m.final = status, true
	return m
}

// Answer has room for the context of one answer, in memory of whoever sends it. The zero
// Answer is ready for use, once.
type Answer struct{ m marked }

// Final is like the function of that name, but keeps marks of ctx only if ctx is itself what
// Challenged or RetryAfter returned: it does not walk up the chain of contexts.
func (a *Answer) Final(ctx context.Context, status int) context.Context {
	if m, ok := ctx.(*marked); ok {
		a.m = *m
	} else {
		a.m.parent = ctx
	}
	a.m.status, a.m.final = status, true
	return &a.m
}

// FinalFrom reports whether ctx was marked by Final, and with which status.
func FinalFrom(ctx context.Context) (status int, final bool) {
	m := marks(ctx)
	return m.status, m.final
}
