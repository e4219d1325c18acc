// Package task defines tasks, which are calls that outlive their request. It has the record of a
// task as plain data, and the interfaces of the store and of the queue. A pure function, [Next],
// decides how a task may change.
//
//	next, err := task.Next(record, task.Event{Kind: task.Complete, Result: result}, now)
//	...
//	err = store.Update(ctx, next) // on ErrConflict: Get the record and call Next again
//
// The first Update wins, from any node. After a cancellation, Next refuses a completion with
// ErrTerminal.
//
// Both published designs of tasks use this package (2025-11-25 basic/utilities/tasks, and the
// extension io.modelcontextprotocol/tasks on 2026-07-28). They differ in their requests, not in the
// states of a task. A terminal status never changes.
//
// The package is pure: the current time is an argument. It starts no goroutine. Implementations of
// Store and Queue are in framework/store; testkit/storetest tests them.
package task

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Errors of a Store. It may wrap them.
var (
	// ErrNotFound means that there is no record with the id, or that it has expired.
	ErrNotFound = errors.New("task: not found")
	// ErrExists means that the store already has a record with the id.
	ErrExists = errors.New("task: exists")
	// ErrConflict means that the record has changed since the caller read it.
	ErrConflict = errors.New("task: version conflict")
	// ErrFull means that the store has no space for another task or for a larger record. It is also
	// returned if the owner's unfinished tasks have used up the owner's share.
	ErrFull = errors.New("task: full")
	// ErrUnreadable means that the record exists but cannot be read. It is damaged, or it is sealed
	// with a key that the store does not have. Or a newer version of the program wrote it, perhaps
	// on another node. Such a record can be deleted, and expires as usual.
	ErrUnreadable = errors.New("task: unreadable")
)

// ErrTerminal means that the task already has its final status.
var ErrTerminal = errors.New("task: terminal")

// Record is one task as plain data. The fields marked opaque are for the engine: a store keeps
// their bytes and attaches no meaning to them.
type Record struct {
	ID      string
	Owner   string // the principal that made the task, or the session if there is no principal
	Version uint64 // set by the store: 1 after Create, +1 after each Update

	Status       protocol.TaskStatus
	Message      string
	Created      time.Time
	Updated      time.Time
	TTL          time.Duration // from Created; 0 means unlimited
	PollInterval time.Duration

	Call      []byte     // the call to run; opaque
	Journal   []byte     // the answers and effects so far, for a replay; opaque
	Runs      int        // number of Resume events; a worker that reads a number other than its own has lost the task
	Questions []Question // open questions, in the order they were asked
	Asked     []uint64   // fingerprints of the keys of all questions so far; see WasAsked
	Result    []byte     // one JSON value, of a completed task, or of a failed task with a result
	Error     []byte     // a JSON-RPC error object, of a failed task without a result
}

// Question is an open question of a task.
type Question struct {
	Key     string // unique among all questions of the task, including answered ones
	Request []byte // opaque
}

// Expires returns when the record expires, or the zero time if it never does.
func (r *Record) Expires() time.Time {
	if r.TTL <= 0 {
		return time.Time{}
	}
	return r.Created.Add(r.TTL)
}

// Terminal reports whether the status is final.
func (r *Record) Terminal() bool {
	switch r.Status {
	case protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled:
		return true
	default:
		return false
	}
}

// Readable reports whether a record that Store.List returned has its content. An unreadable record
// has only ID and Owner.
func (r *Record) Readable() bool { return known(r.Status) }

// Store keeps records until they expire or are deleted. It is safe for concurrent use. It does not
// retain slices of its callers, and does not return them to others. It finds a record by its ID for
// any caller: the engine decides who may see it. It stores any status, because [Next] enforces the
// rules.
//
// Its methods are atomic with respect to each other, across all processes that share the store. A
// method sees each change that was complete before its call. Reads from a replica that may be behind
// are not enough.
//
// A store lists the records of an owner in the order of the calls of Create. If a clock jumps, this
// differs from the order of Record.Created. Times are kept to the nanosecond.
//
// An operation ends soon after its context. The server gives each operation 20 seconds at most, here
// and in [Queue], except Queue.Take. An operation that returned an error may have taken effect all the
// same.
type Store interface {
	// Create stores the record as version 1; r.Version is ignored. If there is a record with this
	// ID, it returns ErrExists. It may also return ErrFull.
	Create(ctx context.Context, r Record) error

	// Get returns the record. If there is none, or it has expired, Get returns ErrNotFound. It may
	// also return ErrUnreadable.
	Get(ctx context.Context, id string) (Record, error)

	// Update replaces the record, except Owner and Created, and raises its version by one. If
	// r.Version is not the stored version, it returns ErrConflict. It may also return ErrNotFound,
	// ErrUnreadable or ErrFull.
	Update(ctx context.Context, r Record) error

	// Delete removes the record. Deleting an unknown id is not an error.
	Delete(ctx context.Context, id string) error

	// List returns up to limit records of an owner in the order of creation. They follow the record
	// with the ID after; if after is "", they are the first ones. If that record is gone by now,
	// the list continues at its position.
	//
	// A store may forget the IDs of removed records after a while. For an ID that it does not know,
	// or that belongs to another owner, List returns no records. An unreadable record keeps its
	// place in the list, with only ID and Owner (see [Record.Readable]).
	List(ctx context.Context, owner, after string, limit int) ([]Record, error)

	// Count returns the number of an owner's records that are not terminal.
	Count(ctx context.Context, owner string) (int, error)
}
