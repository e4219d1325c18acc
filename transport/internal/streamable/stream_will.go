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
//   - The first one, from begin: the will, or nothing. The will is the answer for the client
//     if this process ends before the exchange.
//   - A last one without content, from mark: the stream has ended.
//   - A last one with the will, from conclude: the writer has died, and this is the answer.
//
// Frames are not empty and have no line breaks, so a line break marks the will.
const willMark = '\n'

// internal reports whether an event is for other nodes.
func internal(event eventlog.Event) bool {
	return len(event.Frame) == 0 || event.Frame[0] == willMark
}

// begins reports whether event is that of begin.
func begins(event eventlog.Event) bool { return internal(event) && event.Seq == 1 }

// ends reports whether event is the last of a stream.
func ends(event eventlog.Event) bool { return internal(event) && event.Seq > 1 }

// begin appends the first event to a shared log, once, before the client gets an id by which it
// could ask another node for the stream. The caller holds st.mu.
func (st *stream) begin() {
	if st.begun || !st.numbered || !st.session.record.made() {
		return
	}
	st.begun = true
	// Without it only this node resumes the stream before it has another event.
	_, _ = st.log.Append(st.session.ctx, st.key(), st.will())
}

// will returns the content of the first event; nil: none. The caller holds st.mu.
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

// markTime is how long the log may take for the mark of an end.
const markTime = 5 * time.Second

// mark appends the empty event that tells followers of the stream on other nodes that it has ended.
func (st *stream) mark() {
	if !st.session.record.made() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.session.ctx), markTime)
	defer cancel()
	_, _ = st.log.Append(ctx, st.key(), nil) // without it they give up after a while
}

// conclude ends the stream of a dead writer, with the will if the answer is missing, and reads on.
// If two followers do that at once, what counts is the first end. It does nothing if the stream
// has ended already, or if the will is missing, too: the log may have dropped its oldest events.
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

// missingEnd returns the event that ends a stream whose writer has died; false: none can.
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

// answers reports whether a frame is the answer of an exchange: a response, or all those of a batch.
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
