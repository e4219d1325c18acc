package streamable

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// In a shared log a stream has, besides its frames, events for the other nodes:
//
//   - A first event, from begin: the will, or nothing. The will is the answer for the client if
//     this process ends before the exchange does.
//   - A last event without content, from mark: the stream has ended.
//   - A last event with the will, which is then the answer. It is from mark if the exchange was cut
//     off or the log did not accept the answer, and from conclude if the writer has died.
//
// Frames are not empty and have no line breaks, so a line break marks the will.
const willMark = '\n'

// internal reports whether an event is for other nodes.
func internal(event eventlog.Event) bool {
	return len(event.Frame) == 0 || event.Frame[0] == willMark
}

// begins reports whether event is the event of begin.
func begins(event eventlog.Event) bool { return internal(event) && event.Seq == 1 }

// ends reports whether event is the last event of a stream.
func ends(event eventlog.Event) bool { return internal(event) && event.Seq > 1 }

// begin appends the first event to a shared log. It does so once, before the client gets an id
// and could resume the stream with it on another node. The caller holds st.mu.
func (st *stream) begin() {
	if st.begun || !st.numbered || !st.session.record.made() {
		return
	}
	st.begun = true
	// If this fails, only this node can resume the stream until there is another event.
	_, _ = st.log.Append(st.session.ctx, st.key(), st.will())
}

// will returns the content of the first event. It is nil if the exchange has none, or has been served.
// The caller holds st.mu.
func (st *stream) will() []byte {
	x, ok := st.exchange.(transport.Planned)
	if !ok {
		return nil
	}
	if answer := x.Interrupted(); answer != nil {
		return append([]byte{willMark}, answer...)
	}
	return nil
}

// markTime limits the time to append the event of mark.
const markTime = 5 * time.Second

// mark appends the event that ends the stream for followers on other nodes. It is empty if the log
// has the answer, or if the exchange has no will. The caller holds st.mu.
//
// It is written even if the context of the session has ended, but waits at most markTime with the
// lock.
func (st *stream) mark() {
	if !st.session.record.made() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.session.ctx), markTime)
	defer cancel()
	var end []byte
	if !st.kept {
		end = st.will()
	}
	_, _ = st.log.Append(ctx, st.key(), end) // if this fails, followers give up after a while
}

// conclude ends the stream of a dead writer, with the will if the answer is missing, and reads the
// new events. If two followers do that at the same time, the first end counts. It appends nothing
// if the stream has already ended, or if the will is also missing, because the log may have dropped
// its oldest events.
//
// It takes no lock. The log orders concurrent ends.
func (f *follower) conclude(ctx context.Context) error {
	events := f.s.e.events
	all, err := events.After(ctx, f.key, 0)
	if err == nil {
		if end, due := missingEnd(all); due {
			_, err = events.Append(ctx, f.key, end)
		}
	}
	if err != nil && !errors.Is(err, eventlog.ErrExpired) {
		return err
	}
	return f.look(ctx)
}

// missingEnd returns the event that ends a stream whose writer has died. If the stream has ended or
// cannot be ended, due is false.
func missingEnd(all []eventlog.Event) (frame []byte, due bool) {
	for _, event := range all {
		switch {
		case begins(event):
			frame = event.Frame
		case ends(event):
			return nil, false
		case answers(event.Frame):
			return nil, true
		}
	}
	return frame, len(frame) > 0
}

// answers reports whether a frame is the answer of an exchange: a response, or the responses of a
// batch.
func answers(frame []byte) bool {
	if jsontext.Check(frame, jsontext.DefaultLimits()) != nil {
		return false
	}
	if jsonrpc.IsBatch(frame) {
		return true
	}
	msg, fault := jsonrpc.Decode(frame)
	return fault == nil && (msg.Kind == jsonrpc.Result || msg.Kind == jsonrpc.Failure)
}
