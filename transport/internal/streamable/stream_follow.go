package streamable

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// A node follows a stream whose exchange runs on another node by polling the log, at first every
// minPause, then less often.
const (
	minPause = 25 * time.Millisecond
	maxPause = 250 * time.Millisecond
	// doubt is the time without a new event after which a follower checks whether the writer is
	// alive.
	doubt = time.Second
)

// follower carries the rest of a stream that another node writes. It ends with the stream; the
// writer marks the end in the log. A node that has died marks nothing. When the follower notices
// that, it ends the stream itself; see conclude. Only one goroutine at a time uses a follower:
// first the one of follow, then the one of serve.
//
// It has no lock. It shares the session, which its stream keeps in use, and nothing else with other
// goroutines. If this process dies, the client resumes elsewhere after the last event that it has.
type follower struct {
	s     *session
	mark  uint32 // mark of the node that writes
	key   string
	after uint64           // number of the last event that was read
	news  []eventlog.Event // events that were read and not written yet
	id    func(seq uint64) []byte

	pause  time.Duration // time until the log is read again
	heard  time.Time     // time when an event was last read
	proven time.Time     // time when the writer was last known to be alive
}

// follow resumes a stream that another node writes.
func (v *PendingRequest) follow(s *session, number, after uint64, p *posting) *Reply {
	st := &stream{session: s, log: v.e.events, number: number}
	f := &follower{s: s, mark: uint32(number >> markAt), key: st.key(), after: after, id: st.eventID} //nolint:gosec // 31 bits are left
	err := f.look(v.ctx)
	dead := err == nil && !f.complete() && !v.e.node.Lives(v.ctx, f.mark)
	if dead {
		err = f.conclude(v.ctx)
	}
	switch {
	case errors.Is(err, eventlog.ErrExpired), err == nil && dead && f.nothing():
		return nothingToResume()
	case err != nil:
		return unavailable()
	}
	return v.admit(&Stream{follow: f}, p)
}

// nothing reports whether no event was read, except the event that begins a stream.
func (f *follower) nothing() bool {
	return len(f.news) == 0 || len(f.news) == 1 && begins(f.news[0])
}

// complete reports whether the end of the stream was read.
func (f *follower) complete() bool {
	return len(f.news) > 0 && ends(f.news[len(f.news)-1])
}

// look reads the events after f.after into f.news.
//
// The previous news must have been written.
func (f *follower) look(ctx context.Context) (err error) {
	f.news, err = f.s.e.events.After(ctx, f.key, f.after)
	return err
}

// tell writes the events that were read. It returns false if the stream or the connection has
// ended.
func (f *follower) tell(a *streamConn) bool {
	for _, event := range f.news {
		f.after = event.Seq
		frame := event.Frame
		switch {
		case begins(event):
			continue
		case ends(event):
			frame = bytes.TrimPrefix(frame, []byte{willMark})
		}
		if len(frame) > 0 && a.put(appendEvent(nil, f.id(event.Seq), frame)) != nil || ends(event) {
			return false
		}
	}
	f.news = nil
	return true
}

// serve writes the stream to a until the stream or ctx ends, or nothing more can be expected.
//
// It runs in the goroutine of Stream.Serve, or in one that Stream.Begin has started. It alone uses
// a.
func (f *follower) serve(ctx context.Context, a *streamConn) {
	if a.put([]byte(comment)) != nil {
		return
	}
	every := f.s.e.cfg.Heartbeat
	beat := time.NewTicker(every - every/looks)
	defer beat.Stop()
	f.pause, f.heard = minPause, time.Now()
	f.proven = f.heard
	again := time.NewTimer(f.pause)
	defer again.Stop()
	for f.tell(a) {
		select {
		case <-ctx.Done():
			return
		case <-f.s.ctx.Done():
			return
		case <-f.s.e.Closing():
			return // the client resumes on another node
		case <-f.s.e.following.Done():
			return
		case <-beat.C:
			if a.put([]byte(comment)) != nil {
				return
			}
			continue
		case <-again.C:
		}
		if !f.advance(ctx) {
			return
		}
		again.Reset(f.pause)
	}
}

// advance reads the next events. It returns false if nothing more can be expected.
func (f *follower) advance(ctx context.Context) bool {
	if err := f.look(ctx); errors.Is(err, eventlog.ErrExpired) {
		return false // the stream was dropped, or the reader is too slow for it
	}
	now := time.Now()
	if len(f.news) > 0 {
		f.pause, f.heard, f.proven = minPause, now, now
		return true
	}
	f.pause = min(2*f.pause, maxPause)
	if now.Sub(f.proven) > doubt {
		f.proven = now
		if !f.s.e.node.Lives(ctx, f.mark) {
			return f.conclude(ctx) == nil && len(f.news) > 0
		}
	}
	return now.Sub(f.heard) <= f.s.e.cfg.SessionIdle
}
