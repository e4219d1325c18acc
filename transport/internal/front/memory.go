package front

import (
	"io"
	"sync"
)

// Memory is what bodies of replies are written into. Safe for concurrent use.
type Memory struct{ pool sync.Pool }

// most bounds what is kept for later bodies.
const most = 1 << 20

// Take has room for size bytes, until Close.
func (m *Memory) Take(size int) *Body {
	b, ok := m.pool.Get().(*Body)
	if !ok {
		b = &Body{memory: m}
	}
	if cap(b.Bytes) < size {
		b.Bytes = make([]byte, 0, size)
	}
	return b
}

// Body is one body. It is a reader of itself, so that a library closes it when it has
// been written.
type Body struct {
	Bytes  []byte
	at     int
	memory *Memory
}

var (
	_ io.ReadCloser = (*Body)(nil)
	_ io.WriterTo   = (*Body)(nil)
)

// Swap takes other bytes, and gives up its own.
func (b *Body) Swap(bytes []byte) (own []byte) {
	own, b.Bytes = b.Bytes[:0], bytes
	return own
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.at >= len(b.Bytes) {
		return 0, io.EOF
	}
	n := copy(p, b.Bytes[b.at:])
	b.at += n
	return n, nil
}

// WriteTo writes what has not been read, without another copy.
func (b *Body) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.Bytes[b.at:])
	b.at += n
	return int64(n), err
}

// Close lets the memory be used again. It may be called more than once, before it is.
func (b *Body) Close() error {
	m := b.memory
	if m == nil {
		return nil
	}
	poison(b.Bytes)
	if cap(b.Bytes) <= most {
		m.pool.Put(&Body{Bytes: b.Bytes[:0], memory: m})
	}
	*b = Body{}
	return nil
}
