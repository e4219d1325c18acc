package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// round is one execution of a handler whose client is asked in rounds (2026-07-28
// basic/patterns/mrtr). It looks up answers in the journal, and registers the questions that have
// none.
//
// The round is open while the handler runs. Goroutines of the handler look up and register questions
// under mu. end sets over under mu, and from then on questions fail with ErrCannotAsk.
//
// mu is taken while the lock of the call's effects is held (Effects.Run asks for pending
// questions). Nothing under mu may therefore take that lock: read the effects before mu.
// Config.Failed is not called under mu either, because it may log to the call. After the handler
// has returned and end was called, the goroutine of Serve or of the task reads journal, filed and
// open without mu.
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
//
// It is called before the handler runs, so it needs no lock. If an answer is invalid, the call is
// refused, and the journal is not used.
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

// decode returns the result in an answer to a question of the kind. If the client has answered with
// an error, decode returns it. It needs no lock.
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
//
// Several goroutines of the handler may call it. The questions of one call are looked up or
// registered together, so no other goroutine's question comes between them.
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
	asked := rounds.Question{Key: key, Kind: kind, Fingerprint: rounds.FingerprintOf(protocol.MethodOf(q.Params), text)}
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
	if most := r.call.from().conn.e.cfg.MaxRounds; r.journal.Round >= most {
		return nil, fmt.Errorf("engine: the call has asked too often: in %d rounds", most)
	}
	r.open = append(r.open, asked)
	r.filed = append(r.filed, protocol.InputRequest{Key: key, Params: q.Params})
	return nil, ErrPending
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
//
// It is called once, when the handler has returned. Goroutines that the handler has left behind may
// still ask, and get ErrCannotAsk.
func (r *round) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return len(r.open) > 0
}

// pending reports whether questions are registered.
//
// It may be called under the lock of the effects.
func (r *round) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) > 0
}

// journal returns the call's journal with its effects and open questions. It adds rounds to the
// number of rounds.
//
// The call must have a round. The journal is a copy that belongs to the caller.
func (c *Call) journal(rounds int) *rounds.Journal {
	effects := c.effects().All() // without r.mu, because Once asks for pending questions under the lock of the effects
	r := c.round.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.journal.Clone()
	j.Effects, j.Open, j.Round = effects, r.open, j.Round+rounds
	return j
}
