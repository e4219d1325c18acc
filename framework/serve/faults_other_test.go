//go:build !unix

package serve_test

import "math"

// fileLimit is how many file descriptors the process may have: as many as it likes.
func fileLimit() uint64 { return math.MaxUint64 }
