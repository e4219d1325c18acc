//go:build race

package httpserver

// poison makes a body that was kept too long show in a test.
func poison(b []byte) {
	for i := range b {
		b[i] = '!'
	}
}
