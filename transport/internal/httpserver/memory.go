package httpserver

import "sync"

// Memory is a pool of buffers for the bodies of replies. It is safe for concurrent use.
type Memory struct{ pool sync.Pool }

// most is the size in bytes of the largest buffer that the pool keeps.
const most = 1 << 20

// Take returns an empty buffer with room for size bytes. The caller owns it.
func (m *Memory) Take(size int) []byte {
	if b, ok := m.pool.Get().(*[]byte); ok && cap(*b) >= size {
		return *b
	}
	return make([]byte, 0, size)
}

// Put takes over a buffer that nothing uses any more.
func (m *Memory) Put(b []byte) {
	poison(b)
	if b = b[:0]; cap(b) <= most {
		m.pool.Put(&b)
	}
}
