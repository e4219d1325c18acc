// Package testhook lets a test kit observe a server that it builds, and control what tests
// cannot wait for. It is for testkit: programs build their servers with App.Build, and this
// package is not covered by the compatibility promise.
//
// Pass [Hooks] to framework.App.BuildForTest. The functions of Hooks must not block or change
// their arguments, and they may be called concurrently.
package testhook

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Hooks replaces parts of a server under test. A field with its zero value changes nothing.
type Hooks struct {
	// Now is the clock for everything that expires between two rounds of a call.
	Now func() time.Time
	// Secret seals the state of calls if the app has no secrets, so that another server can
	// take the next round.
	Secret []byte
	// Claims is a store that several servers share.
	Claims claim.Store
	// Logger is the logger of an app that has none.
	Logger *zap.Logger
	// Types is a handle of framework.Tool. The server uses the type options (OneOf,
	// Validation, AllowUnknown) of the app that was last built with the tool.
	Types any
	// Store returns the store of an app that has none.
	Store func() Store
	// Differs is called with a description if a handler that asks acts differently when it
	// is replayed on the same answers. Setting Differs turns the replay check on.
	Differs func(what string)
	// Performed is called after each effect of a call in rounds, before its result is kept.
	// An error ends the execution as if the process had died: nothing more is kept, and
	// the client gets only the error.
	Performed func(ctx context.Context, key string) error
}

// Store has the methods of framework.Store.
type Store interface {
	Sessions() session.Store
	Tasks() task.Store
	Events() eventlog.Store
	Changes() change.Bus
}
