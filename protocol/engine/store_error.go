package engine

import "fmt"

// storeError is that of a store. The client hears that it may try again, and nothing of
// the reason.
type storeError struct {
	doing string
	err   error
}

// unavailable says what the store was needed for.
func unavailable(doing string, err error) error { return &storeError{doing, err} }

// Error is for the log.
func (s *storeError) Error() string { return fmt.Sprintf("engine: %s: %v", s.doing, s.err) }

// Unwrap is the store's.
func (s *storeError) Unwrap() error { return s.err }

// unavailableText is what the client hears.
const unavailableText = "the server cannot reach its store now: try again"
