package streamable

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// A stream whose exchange runs on another node is followed by reading the log again and
// again, at first soon and then later.
const (
	minPause = 25 * time.Millisecond
	maxPause = 250 * time.Millisecond
	// doubt is how often a follower without news looks whether the writer is alive.
	doubt = 5 * time.Second
)

// follower carries the rest of a stream that another node writes. It ends with the
// stream, whose end the writer marks by an empty event; or, because a node that died marks
// nothing, when the writer is gone. A client that still waits comes back then, and
// hears that there is nothing to resume. Only the goroutine of serve touches it.
type follower struct {
	s     *session
	mark  uint16 // of the node that writes
	key   string
	after uint64 // number of the last event that was read
	news  []eventlog.Event
	id    func(seq uint64) []byte

	pause  time.Duration // until the log is read again
	heard  time.Time     // when there was something new
	proven time.Time     // when the writer was known to be alive
}

// follow goes on with a stream that is not of this node.
func (v *Visit) follow(s *session, number, after uint64, p *posting) *Reply {
	st := &stream{session: s, log: v.e.events, number: number}
	f := &follower{s: s, mark: uint16(number >> markAt), key: st.key(), after: after, id: st.eventID} //nolint:gosec // 16 bits are what is left
	if err := f.look(v.ctx); errors.Is(err, eventlog.ErrExpired) {
		return nothingToResume()
	} else if err != nil {
		return unavailable()
	}
	if f.nothing() && !v.e.node.Lives(v.ctx, f.mark) {
		return nothingToResume()
	}
	return v.admit(&Stream{follow: f}, p)
}

// nothing says that nothing is new, but for the empty event with which streams begin.
func (f *follower) nothing() bool {
	return len(f.news) == 0 || len(f.news) == 1 && f.news[0].Seq == 1 && len(f.news[0].Frame) == 0
}

// look reads what is new.
func (f *follower) look(ctx context.Context) (err error) {
	f.news, err = f.s.e.events.After(ctx, f.key, f.after)
	return err
}

// tell writes what is new; false: the stream or the connection has ended.
func (f *follower) tell(a *attachment) bool {
	for _, event := range f.news {
		f.after = event.Seq
		if len(event.Frame) == 0 && event.Seq > 1 {
			return false
		}
		if len(event.Frame) == 0 {
			continue // the stream's beginning
		}
		if a.put(appendEvent(nil, f.id(event.Seq), event.Frame)) != nil {
			return false
		}
	}
	f.news = nil
	return true
}

// serve writes the stream to a until it ends, ctx ends, or there is no sense in going on.
func (f *follower) serve(ctx context.Context, a *attachment) {
	if a.put([]byte(comment)) != nil {
		return
	}
	beat := time.NewTicker(f.s.e.cfg.Heartbeat)
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
			return // another node goes on
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

// advance reads on, and says whether there is sense in doing so again after the pause.
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
			return false
		}
	}
	return now.Sub(f.heard) <= f.s.e.cfg.SessionIdle
}
