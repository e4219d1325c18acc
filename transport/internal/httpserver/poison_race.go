//go:build race

package httpserver

// poison overwrites a body, so that a test fails if the body is used after Close.
func poison(b []byte) {
	for i := range b {
		b[i] = '!'
	}
}
