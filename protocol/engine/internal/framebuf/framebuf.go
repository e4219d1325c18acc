// Package framebuf has the pools of memory that is used while one frame is decoded or encoded.
package framebuf

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxKept is the size of the largest buffer, in bytes, that returns to the pool.
const maxKept = 1 << 20

// Buffer is the memory of an answer or a notification while it is encoded and sent. It can be reused
// afterwards, because an Outbound does not keep a frame.
type Buffer struct {
	B      []byte
	Report protocol.ProgressParams // the parameters of notifications/progress
	Total  float64                 // the value that Report.Total points to
}

// Pool is a pool of buffers. With the race detector on, a buffer is overwritten when it comes
// back, so that tests detect an Outbound that has kept a frame.
//
// The goroutine that takes a buffer owns it until Give, which comes after the Send of its bytes has
// returned, or has panicked. A buffer that is not given back is left to the garbage collector.
type Pool struct{ pool sync.Pool }

// Take returns an empty buffer.
func (s *Pool) Take() *Buffer {
	if b, ok := s.pool.Get().(*Buffer); ok {
		return b
	}
	return &Buffer{B: make([]byte, 0, 512)}
}

// Give returns b to the pool, unless it has become too large.
func (s *Pool) Give(b *Buffer) {
	poison(b.B)
	if cap(b.B) > maxKept {
		return
	}
	b.B, b.Report = b.B[:0], protocol.ProgressParams{}
	s.pool.Put(b)
}

// Outlines is a pool of outlines. An outline is needed only while its frame is being accepted.
// Afterwards the exchange keeps only the bytes of the frame.
type Outlines struct{ pool sync.Pool }

// Take returns an outline without a frame.
func (s *Outlines) Take() *jsontext.Outline {
	if o, ok := s.pool.Get().(*jsontext.Outline); ok {
		return o
	}
	return new(jsontext.Outline)
}

// Give returns o to the pool.
func (s *Outlines) Give(o *jsontext.Outline) {
	o.Forget()
	s.pool.Put(o)
}
