package jsontext

import (
	"fmt"
	"math"
)

// maxDepth limits the depth of every text, independent of Limits. Code that recurses over a checked
// value (Unique, encoding/json) thus cannot exhaust the stack. encoding/json has the same limit.
const maxDepth = 10_000

// Limits restrict the texts that Check accepts. A field of zero means no limit, but the depth is
// always limited to 10,000.
type Limits struct {
	Depth    int // nesting of arrays and objects; a flat object has depth 1
	Elements int // array items and object members in the whole text
	Number   int // bytes of one number token
}

// DefaultLimits returns the limits for texts from untrusted peers: depth 64, 100,000 elements, and
// numbers of 400 bytes. 400 bytes are enough for every float64 without exponent, and too few to
// make big-number code expensive.
func DefaultLimits() Limits {
	return Limits{Depth: 64, Elements: 100_000, Number: 400}
}

// bounded returns l with a depth of at most maxDepth, and with math.MaxInt for other limits of 0 or less.
func (l Limits) bounded() Limits {
	if l.Depth <= 0 || l.Depth > maxDepth {
		l.Depth = maxDepth
	}
	if l.Elements <= 0 {
		l.Elements = math.MaxInt
	}
	if l.Number <= 0 {
		l.Number = math.MaxInt
	}
	return l
}

// SyntaxError is the error for a text that is not JSON. Reason is a fixed text without bytes of the
// input, so it may be logged and shown to the peer.
type SyntaxError struct {
	Offset int // byte at which the text stops being JSON
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// LimitError is the error for a text that exceeds a limit. The text after Offset was not checked.
// Reason is a fixed text without bytes of the input.
type LimitError struct {
	Offset int
	Reason string
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("JSON beyond limits at byte %d: %s", e.Offset, e.Reason)
}
