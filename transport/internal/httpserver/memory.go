package httpserver

import (
	"bufio"
	"io"
	"sync"
)

// Memory is a pool of buffers for the bodies of replies. It is safe for concurrent use.
type Memory struct{ pool sync.Pool }

// most is the size in bytes of the largest buffer that the pool keeps.
const most = 1 << 20

// Take returns a Body with room for size bytes. The caller owns it until Close.
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

// Body is one body, and a reader of itself. An HTTP library that writes it also closes it, which
// returns the buffer to the pool.
type Body struct {
	Bytes    []byte
	Gatherer GatherWriter // may be nil
	at       int
	memory   *Memory
}

// GatherWriter is a connection that can write the buffered bytes of w and body in one system call.
// The writer w must write to the connection. n is the number of bytes of body that were written.
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

// WriteTo writes the unread bytes without copying them. If w still buffers the header and the body
// does not fit into w, the Gatherer writes both together.
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

// Close returns the buffer to the pool. Further calls have no effect.
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
