package jsontext

import "fmt"

// maxDepth bounds every text, whatever Limits say, so that code which recurses
// over a checked value (Unique, encoding/json) cannot exhaust the stack. It is
// the bound of encoding/json.
const maxDepth = 10_000

// Limits bound what Check accepts. A zero field is no limit, except that no
// text nests deeper than 10,000.
type Limits struct {
	Depth    int // nesting of arrays and objects; a flat object has depth 1
	Elements int // array items and object members in the whole text
	Number   int // bytes of one number token
}

// DefaultLimits are what a server applies to texts of strangers: depth 64,
// 100,000 elements, numbers of 400 bytes (enough for every float64 written out
// in full, too short to make big-number code expensive).
func DefaultLimits() Limits {
	return Limits{Depth: 64, Elements: 100_000, Number: 400}
}

// bounded has a depth that no code which recurses need fear.
func (l Limits) bounded() Limits {
	if l.Depth <= 0 || l.Depth > maxDepth {
		l.Depth = maxDepth
	}
	return l
}

// SyntaxError says that a text is not JSON. Reason is a fixed sentence without
// bytes of the text, so it may be shown to the peer and logged.
type SyntaxError struct {
	Offset int // byte at which the text stops being JSON
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// LimitError says that a text goes beyond a limit; it may or may not be JSON
// after Offset. Reason is a fixed sentence without bytes of the text.
type LimitError struct {
	Offset int
	Reason string
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("JSON beyond limits at byte %d: %s", e.Offset, e.Reason)
}
