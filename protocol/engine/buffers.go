package engine

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxKept bounds the buffers that are kept for later answers.
const maxKept = 1 << 20

// buffer is the memory of an answer or a notification while it is written and sent.
// Whoever is sent a frame does not keep it, or gives other memory for it (package
// transport), so that the next may have it.
type buffer struct {
	b      []byte
	report protocol.ProgressParams // what is written, if it is that
	total  float64                 // of it
}

// buffers pools those that are not in use. With the race detector on, their contents are
// overwritten when they come back, so that a test notices whoever has kept a frame.
type buffers struct{ pool sync.Pool }

func (s *buffers) take() *buffer {
	if b, ok := s.pool.Get().(*buffer); ok {
		return b
	}
	return &buffer{b: make([]byte, 0, 512)}
}

// give ends the use of b.b, however it has grown.
func (s *buffers) give(b *buffer) {
	poison(b.b)
	if cap(b.b) > maxKept {
		return
	}
	b.b, b.report = b.b[:0], protocol.ProgressParams{}
	s.pool.Put(b)
}

// outlines pools the outlines of frames, which are needed only while a frame is being
// accepted: afterwards its bytes alone are kept.
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
