package engine

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxKept is the size of the largest buffer, in bytes, that returns to the pool.
const maxKept = 1 << 20

// buffer is the memory of an answer or a notification while it is encoded and sent. It can be reused
// afterwards, because an Outbound does not keep a frame.
type buffer struct {
	b      []byte
	report protocol.ProgressParams // the parameters of notifications/progress
	total  float64                 // the value that report.Total points to
}

// buffers is a pool of buffers. With the race detector on, a buffer is overwritten when it comes
// back, so that tests detect an Outbound that has kept a frame.
type buffers struct{ pool sync.Pool }

func (s *buffers) take() *buffer {
	if b, ok := s.pool.Get().(*buffer); ok {
		return b
	}
	return &buffer{b: make([]byte, 0, 512)}
}

// give returns b to the pool, unless it has become too large.
func (s *buffers) give(b *buffer) {
	poison(b.b)
	if cap(b.b) > maxKept {
		return
	}
	b.b, b.report = b.b[:0], protocol.ProgressParams{}
	s.pool.Put(b)
}

// outlines is a pool of outlines. An outline is needed only while its frame is being accepted.
// Afterwards the exchange keeps only the bytes of the frame.
type outlines struct{ pool sync.Pool }

func (s *outlines) take() *jsontext.Outline {
	if o, ok := s.pool.Get().(*jsontext.Outline); ok {
		return o
	}
	return new(jsontext.Outline)
}

func (s *outlines) give(o *jsontext.Outline) {
	o.Forget()
	s.pool.Put(o)
}
