// Package rehearsal is how a test kit looks into a server that it builds, and makes
// happen to it what tests cannot wait for. It is for testkit: programs build their
// servers without, and nothing here is promised to stay.
//
// A [Stage] goes to framework.App.BuildFor. What its functions are called with is
// read-only, they may be called concurrently, and they must not block.
package rehearsal

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

// Stage is what a server under test has instead of its own. The zero value of a
// field leaves everything as it is.
type Stage struct {
	// Now is the clock of what expires between two rounds of a call.
	Now func() time.Time
	// Secret seals states where the app has no secrets of its own, so that another
	// server takes the next round.
	Secret []byte
	// Claims is a store that several servers share.
	Claims claim.Store
	// Logger is where an app logs that has no logger of its own.
	Logger *zap.Logger
	// Types is a handle of framework.Tool: what the app that it was last built in says of
	// types (OneOf, Validation, AllowUnknown) holds in this one, too.
	Types any
	// Store is asked for the store of an app that has none of its own.
	Store func() Store
	// Differs is told how a handler that asks does something else when it runs
	// again on the same answers; it turns that check on.
	Differs func(what string)
	// Performed is told of each effect of a call in rounds that has happened, before
	// its result is kept. An error is the end of that execution, as of a process that
	// dies there: nothing more of it is kept, and the error is all that is answered.
	Performed func(ctx context.Context, key string) error
}

// Store is framework.Store.
type Store interface {
	Sessions() session.Store
	Tasks() task.Store
	Events() eventlog.Store
	Changes() change.Bus
}
