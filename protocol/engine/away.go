package engine

import "fmt"

// awayError is that of a store. The client hears that it may try again, and nothing of
// the reason.
type awayError struct {
	doing string
	err   error
}

// away says what the store was needed for.
func away(doing string, err error) error { return &awayError{doing, err} }

// Error is for the log.
func (a *awayError) Error() string { return fmt.Sprintf("engine: %s: %v", a.doing, a.err) }

// Unwrap is the store's.
func (a *awayError) Unwrap() error { return a.err }

// awayText is what the client hears.
const awayText = "the server cannot reach its store now: try again"
