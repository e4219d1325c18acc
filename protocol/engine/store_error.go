package engine

import (
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// storeError is an error of a store. The client is asked to try again, but does not see the reason.
type storeError struct {
	doing string
	err   error
}

// unavailable returns a storeError. doing describes the operation that needed the store.
func unavailable(doing string, err error) error { return &storeError{doing, err} }

// Error returns the text for the log.
func (s *storeError) Error() string { return fmt.Sprintf("engine: %s: %v", s.doing, s.err) }

// Unwrap returns the error of the store.
func (s *storeError) Unwrap() error { return s.err }

// said returns the text for the client.
func (s *storeError) said() string {
	if errors.Is(s.err, task.ErrFull) || errors.Is(s.err, claim.ErrFull) {
		return "the server has no room for this now: try again later"
	}
	return "the server cannot reach its store now: try again"
}
