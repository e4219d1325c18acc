package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// effects are what a logical call has done by Once: keys and results. Where the client is
// asked in rounds, and in tasks, they travel in the journal; elsewhere they live as long as
// the call.
type effects struct {
	mu     sync.Mutex // guards the fields below
	only   bool       // nothing new may be done: the execution is a check of replay
	done   []rounds.Effect
	kept   int     // how many of done the record of the task has
	limit  int     // bytes that keys and results may have in all; 0: any number
	wanted *wanted // nil: no effect was asked for in this execution
}

// wanted are the effects that a handler asked for in this execution.
type wanted struct {
	keys []string                 // in order
	busy map[string]chan struct{} // closed when the effect has ended
}

var errBusy = errors.New("engine: the effect is running")

// run returns the result of the effect, and performs it where nobody has, unless a
// question is pending. An effect that fails has not happened.
func (f *effects) run(ctx context.Context, key string, effect func(context.Context) ([]byte, error), pending func() bool) ([]byte, error) {
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

// claim looks the effect up. If it has happened, it returns its value and a nil turn. If
// nobody performs it, it is this caller's to perform, and turn is to be given to perform.
// With errBusy another goroutine performs it, and turn is closed when that has ended.
func (f *effects) claim(key string, pending func() bool) (value []byte, turn chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted == nil {
		f.wanted = &wanted{busy: make(map[string]chan struct{})}
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

// perform runs the effect that the caller has claimed, and ends the claim.
func (f *effects) perform(ctx context.Context, key string, effect func(context.Context) ([]byte, error), turn chan struct{}) (value []byte, err error) {
	defer func() { // also where the effect panics
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

// lasting is ctx for an effect that has begun: a question of another goroutine ends
// the handler, and must not cut the effect off half done.
func lasting(ctx context.Context) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, ErrPending) {
			cancel(cause)
		}
	})
	return inner, func() { stop(); cancel(nil) }
}

// add notes that an effect has happened. The error says that its result is too large for the
// journal: the call fails now, and not when it asks its next question.
func (f *effects) add(key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := len(key) + len(value)
	for _, e := range f.done {
		size += len(e.Key) + len(e.Value)
	}
	if f.limit > 0 && size > f.limit {
		return fmt.Errorf("engine: with the result of the effect %q the call would keep %d bytes, at most %d are kept: keep less, such as a key by which the rest is found", key, size, f.limit)
	}
	f.done = append(f.done, rounds.Effect{Key: key, Value: value})
	return nil
}

// effectPatience bounds the wait for effects that go on when the handler has returned.
const effectPatience = 10 * time.Second

// finish waits until no effect runs any more, for effectPatience at most: the handler may
// have returned while goroutines of its own perform effects, which belong to this round.
func (f *effects) finish() {
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

// news says whether effects have happened since the last call: the caller writes them into
// the record of the task.
func (f *effects) news() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := len(f.done) > f.kept
	f.kept = len(f.done)
	return news
}

// all is a copy of what has happened.
func (f *effects) all() []rounds.Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}
