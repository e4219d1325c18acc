package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrPending is the error of a question that is registered for the next round, and of a call that
// waits for other reasons (Call.Begin, Call.Detach). The handler must return now. Its result is
// ignored, and it will run again with the answer.
var ErrPending = replay.ErrPending

// round is one execution of a handler whose client is asked in rounds (2026-07-28
// basic/patterns/mrtr). It looks up answers in the journal, and registers the questions that have
// none.
//
// The round is open while the handler runs. Goroutines of the handler look up and register questions
// under mu. end sets over under mu, and from then on questions fail with ErrCannotAsk.
type round struct {
	call   *Call
	cancel func(cause error) // of the handler's context

	mu      sync.Mutex // guards the fields below
	journal *rounds.Journal
	unasked map[string]json.RawMessage // answers that arrived without a state, by key
	batches int                        // calls of questions so far
	order   int                        // questions without a key so far
	asked   map[string]bool            // keys that were used in this execution
	filed   []protocol.InputRequest    // questions to send to the client
	open    []rounds.Question          // the same questions, for the journal
	changed []string                   // keys whose question differs from the answered one; see replies
	over    bool                       // the handler has returned: no more questions are registered
}

// guarded runs the handler and returns a panic as an error. Pending questions then take precedence
// over the panic, as they do over any result.
func guarded(ctx context.Context, h Handler, c *Call) (result protocol.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return h.Handle(ctx, c)
}

// inputs returns the answers and the state of a request whose handler may ask in rounds. For other
// requests it returns nil.
func inputs(p protocol.Params) *protocol.Inputs {
	switch p := p.(type) {
	case *protocol.CallToolParams:
		return &p.Inputs
	case *protocol.ReadResourceParams:
		return &p.Inputs
	case *protocol.GetPromptParams:
		return &p.Inputs
	}
	return nil
}

// wanting returns the name and arguments of a request that has inputs.
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
		x.call.resumed = &resumed{x: x, inputs: in}
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
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		x.conn.e.failed(ctx, x.call, err)
	}
	if x.conn.e.cfg.ReplayCheck {
		x.call.checkReplay(ctx, h, r)
	}
	return x.inputRequired(context.WithoutCancel(ctx), r, bind()) // the question has ended ctx
}

// detach turns the call into a task, which starts with the call's answers and effects.
func (x *exchange) detach(ctx context.Context, h Handler, p protocol.Params, r *round) (protocol.Result, error) {
	call, ok := p.(*protocol.CallToolParams)
	if !ok {
		return nil, errors.New("engine: only a call of a tool can become a task")
	}
	x.call.effects().Finish()
	journal := &rounds.Journal{}
	if r != nil {
		journal = x.call.journal(0)
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
	part(asking.Method())
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

// newRound gives the call a round with the journal. If the call already has a round, newRound returns
// that. It is safe for concurrent use, because handlers may ask from several goroutines.
func (c *Call) newRound(j *rounds.Journal) *round {
	r := &round{call: c, cancel: c.out.end, journal: j}
	if c.round.CompareAndSwap(nil, r) {
		return r
	}
	return c.round.Load()
}

// take moves the answers to open questions into the journal. It ignores other answers.
func (r *round) take(responses map[string]json.RawMessage) error {
	for _, q := range r.journal.Open {
		raw, ok := responses[q.Key]
		if !ok {
			continue // registered again if the handler asks again
		}
		if _, err := r.decode(q.Key, q.Kind, raw); err != nil {
			return err
		}
		r.journal.Answers = append(r.journal.Answers, rounds.Answer{Question: q, Value: jsontext.Compact(nil, raw)})
	}
	r.journal.Open = nil
	return nil
}

var methodOf = [...]string{
	rounds.Elicit: protocol.MethodElicit, rounds.Sample: protocol.MethodCreateMessage, rounds.Roots: protocol.MethodListRoots,
}

func (r *round) decode(key string, kind rounds.Kind, raw []byte) (protocol.Result, error) {
	if err := taskrecord.Refused(r.call.Dialect, raw); err != nil {
		return nil, err
	}
	result, fault := r.call.Dialect.DecodeResult(methodOf[kind], raw)
	if fault != nil {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "inputResponses %q: %s", jsontext.Clip(key, 128), fault.Message)
	}
	return result, nil
}

// questions returns the answers that the journal has, and registers the other questions together.
func (r *round) questions(all []Question) []Reply {
	replies, changed := r.replies(all)
	for _, key := range changed {
		r.call.from().conn.e.failed(context.Background(), r.call, &ChangedError{Key: key}) //nolint:forbidigo // reports, and waits for nothing
	}
	return replies
}

// replies does the work of questions under the lock. changed lists the keys to report after the lock
// is released.
func (r *round) replies(all []Question) (replies []Reply, changed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = nil
	replies = make([]Reply, len(all))
	r.batches++
	for i := range all {
		replies[i].Result, replies[i].Err = r.question(&all[i])
	}
	if len(r.open) > 0 {
		r.cancel(ErrPending)
	}
	return replies, r.changed
}

// question looks up or registers one question. The caller holds r.mu.
func (r *round) question(q *Question) (protocol.Result, error) {
	if r.over {
		return nil, ErrCannotAsk
	}
	key := q.Key
	if key == "" {
		r.order++
		key = "q" + strconv.Itoa(r.order)
	}
	kind := kindOf(q.Params)
	if r.asked[key] && kind != rounds.Roots { // a call has only one question for roots
		return nil, fmt.Errorf("engine: two questions have the key %q", key)
	}
	if slices.ContainsFunc(r.open, func(open rounds.Question) bool { return open.Key == key }) {
		return nil, ErrPending
	}
	if r.asked == nil {
		r.asked = make(map[string]bool)
	}
	r.asked[key] = true
	text, err := r.call.Dialect.AppendParams(nil, q.Params, nil)
	if err != nil {
		return nil, err
	}
	asked := rounds.Question{Key: key, Kind: kind, Fingerprint: rounds.FingerprintOf(q.Params.Method(), text)}
	if known, ok := r.journal.Answered(key); ok {
		if known.Question == asked {
			return r.decode(key, asked.Kind, known.Value)
		}
		r.changed = append(r.changed, key)
		r.journal.Answers = slices.DeleteFunc(r.journal.Answers, func(a rounds.Answer) bool { return a.Key == key })
	}
	if raw, ok := r.unasked[key]; ok && r.batches == 1 {
		if result, err := r.decode(key, asked.Kind, raw); err == nil { // an invalid answer is ignored
			r.journal.Answers = append(r.journal.Answers, rounds.Answer{Question: asked, Value: jsontext.Compact(nil, raw)})
			return result, nil
		}
	}
	if !r.call.canAsk(q.Params) {
		return nil, ErrCannotAsk
	}
	r.open = append(r.open, asked)
	r.filed = append(r.filed, protocol.InputRequest{Key: key, Params: q.Params})
	return nil, ErrPending
}

// ChangedError reports a question that differs from the one that was answered under its key, so the
// handler does not do the same in each round. The question is asked again.
type ChangedError struct{ Key string }

// Error returns a text with the key of the question.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the question %q is not the one that was asked in an earlier round: it is asked again (give questions a Key where their order varies)", e.Key)
}

func kindOf(p protocol.Params) rounds.Kind {
	switch p.(type) {
	case *protocol.CreateMessageParams:
		return rounds.Sample
	case *protocol.ListRootsParams:
		return rounds.Roots
	}
	return rounds.Elicit
}

// end closes the round. It returns true if questions are pending.
func (r *round) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return len(r.open) > 0
}

// pending reports whether questions are registered.
func (r *round) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) > 0
}

// inputRequired returns the result that asks the pending questions, with the encrypted journal as
// state.
func (x *exchange) inputRequired(ctx context.Context, r *round, binding []byte) (protocol.Result, error) {
	e := x.conn.e
	j := r.journal
	j.Effects = x.call.effects().All()
	j.Open, j.Round = r.open, j.Round+1
	if j.Round > e.cfg.MaxRounds {
		return nil, protocol.Faultf(protocol.FaultInternal, "the call has asked too often: in %d rounds", e.cfg.MaxRounds)
	}
	state, err := e.rounds.Seal(ctx, j, binding)
	if err != nil {
		return nil, err
	}
	return &protocol.InputRequiredResult{Requests: r.filed, State: &state}, nil
}

// claimRound claims the round that the request continues; see roundstore.Store.Claim.
func (x *exchange) claimRound(ctx context.Context, in *protocol.Inputs) (err error) {
	if in.State != nil {
		x.record, err = x.conn.e.rounds.Claim(ctx, x.outlive(ctx), *in.State, in.Responses)
	}
	return err
}

// unable returns a fault if the recorded result asks for something that this client has not declared.
// The client of the original request had declared it (2026-07-28 basic/patterns/mrtr: MUST NOT ask
// for it). If the result asks nothing, or the client can be asked, unable returns nil.
func (c *Call) unable(result []byte) error {
	decoded, _ := c.Dialect.DecodeResult(c.Params.Method(), result) // cannot fail: the engine has encoded it
	required, asks := decoded.(*protocol.InputRequiredResult)
	if !asks {
		return nil
	}
	var missing protocol.ClientCapabilities
	able := true
	for _, q := range required.Requests {
		if c.canAsk(q.Params) {
			continue
		}
		able = false
		switch p := q.Params.(type) {
		case *protocol.ElicitParams:
			missing.Elicitation, missing.ElicitURL = missing.Elicitation || p.URL == "", missing.ElicitURL || p.URL != ""
		case *protocol.CreateMessageParams:
			missing.Sampling, missing.SamplingTool = true, missing.SamplingTool || len(p.Tools) > 0
		case *protocol.ListRootsParams:
			missing.Roots = true
		}
	}
	if able {
		return nil
	}
	return &protocol.Fault{
		Kind: protocol.FaultMissingCapability, Message: "this client cannot be asked what the call asks", Required: &missing,
	}
}
