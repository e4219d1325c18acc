// Package task is the port for tasks: calls that outlive their request. It holds
// the record of a task as plain data, the one pure function that decides what may
// happen to it, and the interface of the stores.
//
//	next, err := task.Next(record, task.Event{Kind: task.Complete, Result: result}, now)
//	...
//	err = store.Update(ctx, next) // ErrConflict: read again, decide again
//
// So whoever is first decides, on every node that shares the store: a completion
// that comes after a cancellation finds ErrTerminal.
//
// Both published designs stand on it (2025-11-25 basic/utilities/tasks, and the
// extension io.modelcontextprotocol/tasks on 2026-07-28): they differ in what their
// requests say, not in what a task can become. A terminal status never changes.
//
// The package is pure: time is an argument. It starts no goroutine.
package task

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Sentinels every Store returns, possibly wrapped.
var (
	ErrNotFound = errors.New("task: not found")
	ErrExists   = errors.New("task: exists")
	ErrConflict = errors.New("task: version conflict")
	// ErrFull: a store has no room for another task, or a larger one, or its owner has had
	// the share of those that are not terminal.
	ErrFull = errors.New("task: full")
	// ErrUnreadable: the record is there, and is damaged, sealed with a key that the
	// store does not have, or of a newer program, which another node may be. It can be
	// deleted, and expires.
	ErrUnreadable = errors.New("task: unreadable")
)

// ErrTerminal says that a task has its final status already.
var ErrTerminal = errors.New("task: terminal")

// Record is one task as plain data. What is opaque to a store is the engine's.
type Record struct {
	ID      string
	Owner   string // whose it is: a principal, or a session where there is none
	Version uint64 // set by the store: 1 after Create, +1 after each Update

	Status       protocol.TaskStatus
	Message      string
	Created      time.Time
	Updated      time.Time
	TTL          time.Duration // from Created; 0: unlimited
	PollInterval time.Duration

	Call      []byte     // what is to be run; opaque
	Journal   []byte     // what it has learned and done; opaque
	Runs      int        // how often a worker took it again: one that finds another number than its own has lost it
	Questions []Question // open, in the order of asking
	Asked     []uint64   // fingerprints of all keys so far; see WasAsked
	Result    []byte     // of a completed task, or of a failed one that ended by a result: one JSON value
	Error     []byte     // of a failed task: a JSON-RPC error object
}

// Question is one that the task waits for.
type Question struct {
	Key     string // never used again in the life of the task
	Request []byte // opaque
}

// Expires is when the task may be forgotten; zero: never.
func (r *Record) Expires() time.Time {
	if r.TTL <= 0 {
		return time.Time{}
	}
	return r.Created.Add(r.TTL)
}

// Terminal says whether the status is final.
func (r *Record) Terminal() bool {
	switch r.Status {
	case protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled:
		return true
	default:
		return false
	}
}

// Readable says whether a record of a list is more than its place; see Store.List.
func (r *Record) Readable() bool { return known(r.Status) }

// Store keeps records until they expire or are deleted. Safe for concurrent use.
// It neither keeps nor hands out a caller's slice. A record is found under its id
// whoever asks: who may see it is the engine's to say.
//
// A store knows an owner's records in the order in which Create was called, which
// is not that of Created where a clock jumps. Times are kept to the nanosecond.
type Store interface {
	// Create keeps the record as version 1, whatever r.Version is. ErrExists. ErrFull.
	Create(ctx context.Context, r Record) error
	// Get is the record, or ErrNotFound, also for an expired one. ErrUnreadable.
	Get(ctx context.Context, id string) (Record, error)
	// Update replaces the record, but for Owner and Created, which stay as they are;
	// r.Version must be the stored one, else ErrConflict. ErrNotFound. ErrUnreadable.
	// ErrFull.
	Update(ctx context.Context, r Record) error
	// Delete forgets the record. Nothing there is no error.
	Delete(ctx context.Context, id string) error
	// List is up to limit records of an owner in the order of creation, beginning
	// after the one with id after ("": with the first). An id that is not there any
	// more does not disturb: the list goes on where it was. A store need not remember
	// such an id for ever; after one that it does not know, or that is another
	// owner's, nothing follows. A record that is unreadable hides none of the others: it
	// is in its place, and has nothing but ID and Owner.
	List(ctx context.Context, owner, after string, limit int) ([]Record, error)
	// Count is how many records of an owner are not terminal.
	Count(ctx context.Context, owner string) (int, error)
}
