package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// Config configures an Engine. Info and Catalog are required.
type Config struct {
	Info         protocol.Implementation
	Instructions string
	Extensions   map[string]json.RawMessage // that the server declares; the engine declares the extension for tasks itself
	Catalog      Catalog

	// Secret reports whether a resource is confidential, so that only some clients may learn of it.
	// If it is nil, no resource is. It must not block.
	Secret func(uri string) bool

	// Frames is the frame-level chain. The first middleware is the outermost.
	Frames []transport.Middleware
	// RootsChanged is called when the roots of a session have changed, at once and in the order of
	// arrival. It must not block. It may be nil.
	RootsChanged func(session string)
	// ElicitationComplete is called when another node has reported that the page of an elicitation is
	// done (Engine.ElicitationComplete). It removes and returns the function that notifies the
	// client, or nil if this node did not ask. It must not block. It may be nil.
	ElicitationComplete func(id string) func(ctx context.Context, p protocol.Params) error
	// OnRootsChanged runs when a client has sent the notification that its roots changed. It may be
	// nil.
	OnRootsChanged func(ctx context.Context)
	// Failed receives errors with a text that clients do not see, including panics (*PanicError).
	// Some work is repeated, such as taking a task. While it fails, Failed receives its error at most
	// once a minute. When it succeeds again, Failed receives a *RecoveredError. Failed must not block.
	// It may be nil.
	Failed func(ctx context.Context, c *Call, err error)
	// Detail makes the engine send internal error texts to clients. Use it for development.
	Detail bool

	// States encrypts the state that travels with a client that is asked in rounds. If it is nil, a
	// random secret is used. With SharedClaims, the nodes agree on that secret and keep it in Claims.
	// Otherwise it belongs to this process, and no state survives the process.
	States *rounds.Sealer
	// Claims stores the outcome of each round, so that a round that is sent again gets the outcome of
	// its first execution. If it is nil, the round is executed again.
	Claims claim.Store
	// SharedClaims is set if every process that has the key of States also has Claims. Large states
	// are then stored in Claims, and do not travel with the client.
	SharedClaims bool
	// StateTTL is how long a client may take for its answers. 0 is 1 hour.
	StateTTL time.Duration
	// MaxRounds bounds how often one call may ask. 0 is 32.
	MaxRounds int
	// ReplayCheck runs each handler that asks a second time on the same answers, and reports
	// differences to Failed (*ReplayError). Use it for development: effects outside of Once happen
	// twice.
	ReplayCheck bool
	// Performed is called after each effect of a call in rounds, before the result of the effect is
	// kept. If it returns an error, the execution ends there, as in a crash: its effects are neither
	// kept nor recorded, and the error is the answer. It is for tests, and may be nil.
	Performed func(ctx context.Context, key string) error
	// Tasks stores the calls that became tasks. If it is nil, calls do not become tasks.
	Tasks task.Store
	// TaskLimits bounds the tasks in Tasks.
	TaskLimits TaskLimits
	// Queue hands the tasks in Tasks to workers, on any node that shares them. If it is nil, a task
	// runs in the process that created it.
	Queue task.Queue
	// Changes carries messages to the other nodes that share Tasks and sessions. It is nil if there
	// are no other nodes.
	Changes change.Bus
	// Now is the clock. If it is nil, the engine uses time.Now.
	Now func() time.Time

	// MaxInFlight bounds the concurrent requests of one connection. 0 is 1024.
	MaxInFlight int
	// AskTimeout bounds the wait for an answer to a request of the server, since the last sign of
	// progress. 0 is 10 minutes, because a person answers.
	AskTimeout time.Duration
}

// TaskLimits bounds the resources that tasks use. A field that is 0 has the default that its comment
// names.
type TaskLimits struct {
	PerOwner int // unfinished tasks of one owner; 1,024. Concurrent creations may exceed it
	Page     int // tasks on a page of tasks/list; 100
	Workers  int // concurrent tasks of a Queue on this node; 64. Negative: none
}

func (l TaskLimits) orDefaults() TaskLimits {
	return TaskLimits{PerOwner: cmp.Or(l.PerOwner, 1<<10), Page: cmp.Or(l.Page, 100), Workers: cmp.Or(l.Workers, 64)}
}

// Limits of tasks that the program does not set.
const (
	anonymousTasks = 1 << 14        // unfinished tasks of all callers without an owner
	defaultTTL     = time.Hour      // of a task without another TTL
	maxTTL         = 24 * time.Hour // that a client may ask for
)
