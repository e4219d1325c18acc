package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// ErrPending is the error of a question or an effect that must wait, and the cause of the context of
// a handler that waits. The handler returns, and runs again later.
var ErrPending = errors.New("engine: waiting for the client's answer in the next round")

// Effects holds the keys and results of what a logical call has done with Once. In rounds and in
// tasks they are part of the journal. Otherwise they live as long as the call.
//
// An effect is unknown, busy or done. claim makes it busy, and the goroutine that claimed it performs
// it without the lock. If the effect succeeds, add appends it to done. In either case perform then
// removes it from busy and closes its channel. Other goroutines wait on that channel. All changes are
// under mu.
type Effects struct {
	mu     sync.Mutex        // guards the fields below
	only   bool              // nothing new may happen, because this execution checks the replay
	done   []rounds.Effect   // effects that have happened, in order
	kept   int               // how many of done are in the record of the task
	limit  int               // of the total size of keys and results, in bytes; 0: no limit
	wanted *requestedEffects // nil: Once was not called in this execution
}

// New returns effects that have not happened yet. limit bounds the total size of keys and results, in
// bytes. If it is 0, there is no limit.
func New(limit int) *Effects { return &Effects{limit: limit} }

// Probe returns the effects of an execution that checks the replay: done has happened, and nothing
// new may happen.
func Probe(done []rounds.Effect) *Effects { return &Effects{only: true, done: done} }

// Restore sets the effects that have happened in earlier executions. It takes over the slice. Call it
// before the handler runs.
func (f *Effects) Restore(done []rounds.Effect) { f.done, f.kept = done, len(done) }

// requestedEffects is the set of effects that a handler asked for in this execution.
type requestedEffects struct {
	keys []string                 // in order
	busy map[string]chan struct{} // effects that are running, by key; closed when they have ended
}

var errBusy = errors.New("engine: the effect is running")

// Run returns the result of the effect with the key. If the effect has not happened and no question
// is pending, Run performs it. If the effect fails, it counts as not happened.
func (f *Effects) Run(ctx context.Context, key string, effect func(context.Context) ([]byte, error), pending func() bool) ([]byte, error) {
	for {
		value, turn, err := f.claim(key, pending)
		switch {
		case turn == nil:
			return value, err
		case err == nil:
			return f.perform(ctx, key, effect, turn)
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claim looks the effect up. If it has happened, claim returns its value and a nil turn. If it is not
// running, claim marks it as busy, and the caller must call perform with turn. If another goroutine
// is performing it, claim returns errBusy, and turn is closed when the effect has ended. If nothing
// new may happen, claim returns ErrPending and a nil turn.
func (f *Effects) claim(key string, pending func() bool) (value []byte, turn chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted == nil {
		f.wanted = &requestedEffects{busy: make(map[string]chan struct{})}
	}
	if !slices.Contains(f.wanted.keys, key) {
		f.wanted.keys = append(f.wanted.keys, key)
	}
	if i := slices.IndexFunc(f.done, func(e rounds.Effect) bool { return e.Key == key }); i >= 0 {
		return f.done[i].Value, nil, nil
	}
	if f.only || pending() {
		return nil, nil, ErrPending
	}
	if turn, ok := f.wanted.busy[key]; ok {
		return nil, turn, errBusy
	}
	turn = make(chan struct{})
	f.wanted.busy[key] = turn
	return nil, turn, nil
}

// perform runs an effect that the caller has claimed, and ends the claim.
func (f *Effects) perform(ctx context.Context, key string, effect func(context.Context) ([]byte, error), turn chan struct{}) (value []byte, err error) {
	defer func() { // also if the effect panics
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.wanted.busy, key)
		close(turn)
	}()
	ctx, stop := lasting(ctx)
	defer stop()
	if value, err = effect(ctx); err != nil {
		return nil, err
	}
	if err = f.add(key, value); err != nil {
		return nil, err
	}
	return value, nil
}

// lasting returns a context for a running effect. A question of another goroutine ends the handler's
// context, and must not interrupt the effect. The context therefore ends only for other causes.
func lasting(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, ErrPending) {
			cancel(cause)
		}
	})
	return inner, func() { stop(); cancel(nil) }
}

// add records an effect that has happened. If the results become too large for the journal, add
// returns an error, so that the call fails now and not at its next question.
func (f *Effects) add(key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := len(key) + len(value)
	for _, e := range f.done {
		size += len(e.Key) + len(e.Value)
	}
	if f.limit > 0 && size > f.limit {
		return fmt.Errorf("engine: with the result of the effect %q the call would store %d bytes, at most %d are allowed: store less, such as a key to find the rest", key, size, f.limit)
	}
	f.done = append(f.done, rounds.Effect{Key: key, Value: value})
	return nil
}

// effectPatience bounds the wait for effects that still run after the handler has returned.
const effectPatience = 10 * time.Second

// Finish waits until no effect is running, but no longer than effectPatience. The handler may have
// returned while its goroutines still perform effects, which belong to this round.
func (f *Effects) Finish() {
	timer := time.NewTimer(effectPatience)
	defer timer.Stop()
	for {
		f.mu.Lock()
		var turn chan struct{}
		if f.wanted != nil {
			for _, turn = range f.wanted.busy {
				break
			}
		}
		f.mu.Unlock()
		if turn == nil {
			return
		}
		select {
		case <-turn:
		case <-timer.C:
			return
		}
	}
}

// Unkept reports whether effects have happened since the last call of Unkept. The caller then writes them
// into the record of the task.
func (f *Effects) Unkept() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := len(f.done) > f.kept
	f.kept = len(f.done)
	return news
}

// All returns a copy of the effects that have happened.
func (f *Effects) All() []rounds.Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}
