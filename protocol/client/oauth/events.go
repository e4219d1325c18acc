package oauth

import (
	"context"
	"time"
)

// Event reports a change or failure in a flow. It does not contain secrets.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Server   string
	Issuer   string
	ClientID string
	Scopes   []string
	Err      error
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	Discovered    EventKind = "discovered"
	RegisteredNew EventKind = "registered"
	Asked         EventKind = "asked the user"
	Granted       EventKind = "granted"
	Denied        EventKind = "denied"
	Renewed       EventKind = "renewed"
	SteppedUp     EventKind = "stepped up"
	Rejected      EventKind = "response rejected" // state, issuer or code was wrong
	Ended         EventKind = "ended"             // the authorization server does not accept the refresh token any more
	Moved         EventKind = "authorization server changed"
)

// OnEvent calls fn for each event, never concurrently. fn must not use the Flow.
func OnEvent(fn func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) { c.onEvent = fn })
}

func (f *Flow) tell(ctx context.Context, e Event) {
	if f.config.onEvent == nil {
		return
	}
	f.telling.Lock()
	defer f.telling.Unlock()
	e.Time = time.Now()
	f.config.onEvent(ctx, e)
}
