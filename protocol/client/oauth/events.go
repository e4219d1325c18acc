package oauth

import (
	"context"
	"time"
)

// Event is something that happened. It holds no secret.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Server   string
	Issuer   string
	ClientID string
	Scopes   []string
	Err      error
}

// EventKind names an Event.
type EventKind string

// The kinds.
const (
	Discovered    EventKind = "discovered"
	RegisteredNew EventKind = "registered"
	Asked         EventKind = "asked the user"
	Granted       EventKind = "granted"
	Denied        EventKind = "denied"
	Renewed       EventKind = "renewed"
	SteppedUp     EventKind = "stepped up"
	Rejected      EventKind = "response rejected" // state, issuer or code did not fit
	Ended         EventKind = "ended"             // the refresh token is no longer valid
	Moved         EventKind = "authorization server changed"
)

// OnEvent has fn called, in order and never concurrently. fn must not use the Flow.
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
