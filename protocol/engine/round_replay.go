package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
)

// replayPatience bounds the second run, because a check must not delay the answer for long.
const replayPatience = 5 * time.Second

// checkReplay runs the handler again, without new effects and questions to the client, and compares
// the two runs. It reports a difference to Config.Failed.
//
// It is called after the handler has returned and first has ended. The second run has a Call, a
// round and effects of its own, and shares only immutable values and the outlet with the first. If
// it does not end in time, its goroutine goes on without an owner. Its call is silent, so it cannot
// send anything.
func (c *Call) checkReplay(ctx context.Context, h Handler, first *round) {
	probe := &Call{
		Params: c.Params, Dialect: c.Dialect, Meta: c.Meta, Round: c.Round,
		out: c.out, id: c.ID(), silent: true,
	}
	probe.once.Store(replay.Probe(c.effects().All()))
	limit, stop := context.WithTimeout(context.WithoutCancel(ctx), replayPatience)
	defer stop()
	ctx, cancel := context.WithCancelCause(limit)
	defer cancel(nil)
	second := &round{call: probe, cancel: cancel, journal: first.journal.Clone()}
	probe.round.Store(second)
	ended := make(chan error, 1)
	go func() { // the wait for it is bounded, because the handler may ignore its context
		_, err := guarded(ctx, h, probe)
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-limit.Done():
		c.from().conn.e.failed(ctx, c, &ReplayError{Diff: "the second run did not end in time\n"})
		return
	}
	probe.returned.Store(true)
	second.end()
	was := replay.Trace{Asked: first.actions(), Effects: c.effects()}
	is := replay.Trace{Asked: second.actions(), Effects: probe.effects()}
	if err != nil && len(second.open) == 0 && !errors.Is(err, ErrPending) {
		is.Failure = "fails: " + err.Error()
	}
	if diff := replay.Difference(was, is); diff != "" {
		c.from().conn.e.failed(ctx, c, &ReplayError{Diff: diff})
	}
}

// actions returns the questions that were registered.
//
// The handler may still have goroutines, so actions takes mu.
func (r *round) actions() []replay.Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]replay.Action, len(r.filed))
	for i, q := range r.filed {
		text, err := r.call.Dialect.AppendParams(nil, q.Params, nil)
		if err != nil {
			text = []byte(err.Error())
		}
		all[i] = replay.Action{Key: q.Key, Line: "asks " + q.Key + ": " + protocol.MethodOf(q.Params) + " " + string(text)}
	}
	return all
}
