package httpserver

import (
	"bufio"
	"io"
	"sync"
)

// Memory is what bodies of replies are written into. Safe for concurrent use.
type Memory struct{ pool sync.Pool }

// most is the largest memory, in bytes, that is kept for later bodies.
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
	Bytes    []byte
	Gatherer GatherWriter // nil: there is none
	at       int
	memory   *Memory
}

// GatherWriter is a connection that can write what is still in w, which writes to it, and body in
// one system call. n is what it has written of body.
type GatherWriter interface {
	Join(w *bufio.Writer, body []byte) (n int, err error)
}

var (
	_ io.ReadCloser = (*Body)(nil)
	_ io.WriterTo   = (*Body)(nil)
)

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.at >= len(b.Bytes) {
		return 0, io.EOF
	}
	n := copy(p, b.Bytes[b.at:])
	b.at += n
	return n, nil
}

// WriteTo writes what has not been read, without another copy, and together with its header
// where that is still in w and has left no room for the body.
func (b *Body) WriteTo(w io.Writer) (int64, error) {
	n, err := b.write(w, b.Bytes[b.at:])
	b.at += n
	return int64(n), err
}

func (b *Body) write(w io.Writer, rest []byte) (int, error) {
	if buffer, ok := w.(*bufio.Writer); ok && b.Gatherer != nil && len(rest) > buffer.Available() {
		return b.Gatherer.Join(buffer, rest)
	}
	return w.Write(rest)
}

// Close gives the memory back. Further calls do nothing.
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
