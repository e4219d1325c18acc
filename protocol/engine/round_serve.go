package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// wanting returns the name and arguments of a request that has inputs.
//
// For other requests both are empty.
func wanting(p protocol.Params) (name string, arguments []byte) {
	switch p := p.(type) {
	case *protocol.CallToolParams:
		return p.Name, p.Arguments
	case *protocol.ReadResourceParams:
		return p.URI, nil
	case *protocol.GetPromptParams:
		raw, _ := json.Marshal(p.Arguments) // cannot fail for a map of strings; keys are sorted
		return p.Name, raw
	}
	return "", nil
}

// inRounds runs a handler that may ask. Pending questions take precedence over the result of the
// handler. A call without questions has no overhead here.
//
// It runs in the goroutine of Serve. The order of the checks after the handler matters: a recorded
// outcome, a crash, pending questions, a detached call, and then the result. Effects that
// goroutines of the handler still perform belong to this round, so inRounds waits for them (Finish)
// before it reads the effects.
func (x *exchange) inRounds(ctx context.Context, h Handler, p protocol.Params) (protocol.Result, error) {
	in := inputs(p)
	if in == nil {
		return h.Handle(ctx, x.call)
	}
	bind := func() []byte { return x.binding(ctx, p) }
	if in.State != nil || in.Responses != nil {
		if err := x.resume(ctx, in, bind); err != nil {
			return nil, err
		}
		x.call.resumed = &resumed{claim: func(ctx context.Context) error { return x.claimRound(ctx, in) }}
	}
	result, err := guarded(ctx, h, x.call)
	x.call.returned.Store(true)
	if earlier := x.call.resumed.outcome(); earlier != nil {
		return nil, earlier
	}
	if crash := x.call.crash(); crash != nil {
		return nil, crash
	}
	r := x.call.round.Load()
	if r == nil || !r.end() {
		if x.call.detached.Load() {
			return x.detach(ctx, h, p, r)
		}
		return result, err
	}
	x.call.effects().Finish()
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		x.conn.e.failed(ctx, x.call, err)
	}
	if x.conn.e.cfg.ReplayCheck {
		x.call.checkReplay(ctx, h, r)
	}
	return x.inputRequired(context.WithoutCancel(ctx), r, bind()) // the question has ended ctx
}

// detach turns the call into a task, which starts with the call's answers and effects.
//
// The handler has returned. The context of the request has ended with ErrPending, so the task is
// created without its cancellation.
func (x *exchange) detach(ctx context.Context, h Handler, p protocol.Params, r *round) (protocol.Result, error) {
	call, ok := p.(*protocol.CallToolParams)
	if !ok {
		return nil, errors.New("engine: only a call of a tool can become a task")
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ErrPending) && !errors.Is(cause, ErrShutdown) {
		return nil, cause // the client has cancelled the call, and would not get the ID of the task
	}
	x.call.effects().Finish()
	journal := &rounds.Journal{Round: x.call.Round + 1}
	if r != nil {
		journal = x.call.journal(1)
	}
	journal.Effects = x.call.effects().All()
	return x.createTask(context.WithoutCancel(ctx), h, call, journal)
}

// binding returns a digest of the app's name, the principal and the request. A state is valid only
// with the same digest. The name is part of it because apps may share a secret.
func (x *exchange) binding(ctx context.Context, asking protocol.Params) []byte {
	name, arguments := wanting(asking)
	h := sha256.New()
	part := func(b string) { h.Write(append(strconv.AppendInt(nil, int64(len(b)), 10), ":"+b...)) }
	part(x.conn.e.cfg.Info.Name)
	if p := transport.PrincipalFrom(ctx); p != nil {
		part(p.Issuer)
		part(p.Subject)
	}
	part(protocol.MethodOf(asking))
	part(name)
	part(string(jsontext.Canonical(nil, arguments))) // a client may write the same value in another order
	return h.Sum(nil)
}

// resume restores the call's journal from the state, and adds the answers that the client sent. It
// returns an error if the state or an answer is invalid.
func (x *exchange) resume(ctx context.Context, in *protocol.Inputs, bind func() []byte) error {
	r := x.call.newRound(&rounds.Journal{Call: x.call.ID()})
	if in.State == nil { // a new logical call, with answers to its first questions
		r.unasked = in.Responses
		return nil
	}
	journal, err := x.conn.e.rounds.Open(ctx, *in.State, bind())
	if err != nil {
		return err
	}
	r.journal = journal
	x.call.id, x.call.Round = r.journal.Call, r.journal.Round
	x.call.effects().Restore(r.journal.Effects)
	return r.take(in.Responses)
}

// inputRequired returns the result that asks the pending questions, with the encrypted journal as
// state.
//
// The round has ended, so the journal and the questions belong to the caller, and r.mu is not
// needed.
func (x *exchange) inputRequired(ctx context.Context, r *round, binding []byte) (protocol.Result, error) {
	e := x.conn.e
	j := r.journal
	j.Effects = x.call.effects().All()
	j.Open, j.Round = r.open, j.Round+1
	state, err := e.rounds.Seal(ctx, j, binding)
	if err != nil {
		x.settle(ctx, nil) // the client may send other answers to this round
		return nil, err
	}
	return &protocol.InputRequiredResult{Requests: r.filed, State: &state}, nil
}

// claimRound claims the round that the request continues; see roundstore.Store.Claim.
//
// It runs under resumed.begun, and may wait for an execution of the same round on another node.
// x.record belongs to the goroutine of Serve afterwards, which settles it.
func (x *exchange) claimRound(ctx context.Context, in *protocol.Inputs) (err error) {
	if in.State != nil {
		x.record, err = x.conn.e.rounds.Claim(ctx, x.outlive(ctx), *in.State, in.Responses)
	}
	return err
}
