// Package task defines the port for tasks, which are calls that outlive their request: the
// record of a task as plain data, the one pure function that decides what may happen to a
// task ([Next]), and the interfaces of the store and of the queue.
//
//	next, err := task.Next(record, task.Event{Kind: task.Complete, Result: result}, now)
//	...
//	err = store.Update(ctx, next) // on ErrConflict: Get the record and call Next again
//
// The first Update wins, whichever node it comes from: after a cancellation, Next refuses a
// completion with ErrTerminal.
//
// Both published designs of tasks use this package (2025-11-25 basic/utilities/tasks, and
// the extension io.modelcontextprotocol/tasks on 2026-07-28). They differ in their requests,
// not in the states of a task. A terminal status never changes.
//
// The package is pure: the current time is an argument. It starts no goroutine.
// Implementations of Store and Queue are in framework/store; testkit/storetest tests them.
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
	// ErrFull means that the store has no room for another task or for a larger record, or
	// that the tasks of this owner that are not terminal have used up the owner's share.
	ErrFull = errors.New("task: full")
	// ErrUnreadable means that the record exists but cannot be read: it is damaged, it is
	// sealed with a key that the store does not have, or a newer version of the program
	// wrote it, perhaps on another node. Such a record can be deleted, and expires as usual.
	ErrUnreadable = errors.New("task: unreadable")
)

// ErrTerminal means that the task already has its final status.
var ErrTerminal = errors.New("task: terminal")

// Record is one task as plain data. The fields marked opaque are for the engine: a store
// keeps their bytes and attaches no meaning to them.
type Record struct {
	ID      string
	Owner   string // the principal that made the task, or the session if there is no principal
	Version uint64 // set by the store: 1 after Create, +1 after each Update

	Status       protocol.TaskStatus
	Message      string
	Created      time.Time
	Updated      time.Time
	TTL          time.Duration // from Created; 0: unlimited
	PollInterval time.Duration

	Call      []byte     // the call to run; opaque
	Journal   []byte     // the answers and effects so far, for a replay; opaque
	Runs      int        // number of Resume events; a worker that finds a number other than its own has lost the task
	Questions []Question // those without an answer, in the order in which they were asked
	Asked     []uint64   // fingerprints of the keys of all questions so far; see WasAsked
	Result    []byte     // one JSON value: of a completed task, or of a failed one that has a result
	Error     []byte     // a JSON-RPC error object: of a failed task that has no result
}

// Question is a question that the task has asked and that has no answer yet.
type Question struct {
	Key     string // unique among all questions of the task, answered ones included
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

// Readable reports whether a record that Store.List returned has its content. A record that
// is unreadable has nothing but ID and Owner.
func (r *Record) Readable() bool { return known(r.Status) }

// Store keeps records until they expire or are deleted. It is safe for concurrent use, and
// neither retains slices of its callers nor returns them to others. It finds a record by its
// id whoever asks: the engine decides who may see it. It stores any status: [Next] is what
// enforces the rules.
//
// A store lists the records of an owner in the order of the calls of Create. That is not
// the order of Record.Created if a clock jumps. Times are kept to the nanosecond.
type Store interface {
	// Create stores the record as version 1, whatever r.Version is. The error is ErrExists
	// if there is a record with this id, or ErrFull.
	Create(ctx context.Context, r Record) error

	// Get returns the record. The error is ErrNotFound, also if the record has expired, or
	// ErrUnreadable.
	Get(ctx context.Context, id string) (Record, error)

	// Update replaces the record, except Owner and Created, which stay as they are, and
	// raises its version by one. The error is ErrConflict if r.Version is not the stored
	// version; ErrNotFound; ErrUnreadable; or ErrFull.
	Update(ctx context.Context, r Record) error

	// Delete removes the record. Deleting an unknown id is not an error.
	Delete(ctx context.Context, id string) error

	// List returns up to limit records of an owner in the order of creation: those that
	// follow the record with the id after, or the first ones if after is "". If that record
	// is gone by now, the list continues where it was. A store need not remember such ids
	// for ever: nothing follows an id that it does not know, or that belongs to another
	// owner. A record that is unreadable keeps its place in the list, with nothing but ID
	// and Owner (see [Record.Readable]).
	List(ctx context.Context, owner, after string, limit int) ([]Record, error)

	// Count returns how many records of an owner are not terminal.
	Count(ctx context.Context, owner string) (int, error)
}
