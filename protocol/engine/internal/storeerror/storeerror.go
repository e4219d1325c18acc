// Package storeerror has the error of a store that the engine needs. The client is asked to try
// again, but does not see the reason.
package storeerror

import (
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Error is an error of a store.
type Error struct {
	doing string
	err   error
}

// New returns an Error. doing describes the operation that needed the store.
func New(doing string, err error) error { return &Error{doing, err} }

// Error returns the text for the log.
func (s *Error) Error() string { return fmt.Sprintf("engine: %s: %v", s.doing, s.err) }

// Unwrap returns the error of the store.
func (s *Error) Unwrap() error { return s.err }

// Public returns the text for the client.
func (s *Error) Public() string {
	if errors.Is(s.err, task.ErrFull) || errors.Is(s.err, claim.ErrFull) {
		return "the server has no space for this now: try again later"
	}
	return "the server cannot reach its store now: try again"
}
