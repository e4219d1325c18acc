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

// effects are what a logical call did once: by key, with the result. In rounds the
// list travels in the journal; elsewhere it lives as long as the call.
type effects struct {
	mu     sync.Mutex // guards the fields below
	only   bool       // what is done, and nothing new: a check of replay
	done   []rounds.Effect
	kept   int     // of done: that the record of the task has
	limit  int     // of bytes kept; 0: none
	wanted *wanted // nil: nothing was asked for
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

// claim finds the effect, or makes it this caller's; with errBusy it is another's,
// until the channel is closed.
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

func (f *effects) perform(ctx context.Context, key string, effect func(context.Context) ([]byte, error), turn chan struct{}) (value []byte, err error) {
	happened := false // not where the effect panics
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if happened {
			f.done = append(f.done, rounds.Effect{Key: key, Value: value})
		}
		delete(f.wanted.busy, key)
		close(turn)
	}()
	ctx, stop := lasting(ctx)
	defer stop()
	if value, err = effect(ctx); err != nil {
		return nil, err
	}
	if err := f.fits(key, value); err != nil {
		return nil, err
	}
	happened = true
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

// fits says whether the journal can keep the result. Where it cannot, the call shall
// fail now, and not when it asks.
func (f *effects) fits(key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := len(key) + len(value)
	for _, e := range f.done {
		size += len(e.Key) + len(e.Value)
	}
	if f.limit > 0 && size > f.limit {
		return fmt.Errorf("engine: with the result of the effect %q the call would keep %d bytes, at most %d are kept: keep less, a key of it say", key, size, f.limit)
	}
	return nil
}

// effectPatience bounds the wait for effects that go on when the handler has returned.
const effectPatience = 10 * time.Second

// finish waits for the effects that are running: what they did belongs to this round.
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

// news says whether there are effects that the record of the task does not have, and
// takes it that it will.
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
