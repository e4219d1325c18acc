//go:build race

package framebuf

// poison overwrites memory that must not be read any more.
func poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xDB
	}
}
