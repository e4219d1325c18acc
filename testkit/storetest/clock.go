package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Option configures a suite. Other packages cannot implement it.
type Option func(*settings)

type settings struct {
	advance func(time.Duration)
	now     func() time.Time
}

// settle returns the settings of the options.
func settle(opts []Option) settings {
	set := settings{now: time.Now}
	for _, o := range opts {
		if o != nil {
			o(&set)
		}
	}
	return set
}

// Clock is an option for stores with a time that a test can advance. The suite calls advance
// instead of waiting, and assumes that time stands still otherwise. The tests then run one after
// another, so that advance may apply to the store that was opened last.
func Clock(advance func(time.Duration)) Option {
	return func(s *settings) { s.advance = advance }
}

// Now is an option for stores that compare the Created of a record with another clock than
// [time.Now]. A store that expires records by its own clock, but calls time.Now when it stores a
// record, does not need it. A nil now is ignored.
func Now(now func() time.Time) Option {
	return func(s *settings) {
		if now != nil {
			s.now = now
		}
	}
}

// clock is the clock of the store, or the real clock if advance is nil. It is not safe for
// concurrent use.
type clock struct {
	advance  func(time.Duration)
	advanced time.Duration
}

// stopwatch returns a function that returns how much time has passed since the call of stopwatch.
func (c *clock) stopwatch() func() time.Duration {
	if c.advance == nil {
		start := time.Now()
		return func() time.Duration { return time.Since(start) }
	}
	start := c.advanced
	return func() time.Duration { return c.advanced - start }
}

// pass advances the clock by d, or sleeps.
func (c *clock) pass(d time.Duration) {
	if c.advance == nil {
		time.Sleep(d)
		return
	}
	c.advance(d)
	c.advanced += d
}

// lives returns short lifetimes. The suite tries them in turn until one is long enough for the
// operations that must happen within it.
func (c *clock) lives() []time.Duration {
	if c.advance == nil {
		return []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond, 6400 * time.Millisecond}
	}
	return []time.Duration{time.Minute}
}

// early is the maximum amount of time that a store may round off a lifetime.
const early = 5 * time.Millisecond

// late is the maximum time until a store notices an event, or the end of a lifetime or a context.
var late = 30 * time.Second // shorter in the tests of this package

// heeded calls fn, the method of a store with this name. If fn has not returned some time after the
// end of ctx, heeded fails the test and stops waiting.
func heeded[T any](ctx context.Context, t testing.TB, name string, fn func() (T, error)) (T, error) {
	t.Helper()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := fn()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	timeout := time.NewTimer(late)
	defer timeout.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timeout.C:
		t.Errorf("%s goes on %v after the end of its context", name, late)
		var none T
		return none, context.Cause(ctx)
	}
}

// mortal is an item that must expire.
type mortal struct {
	key  string
	life time.Duration
	age  func() time.Duration // at least the true age
}

// young calls try, which creates an item under the key with the lifetime, and uses it. An error is
// a fault only if try has taken less than the lifetime. Otherwise the item may have expired, and
// young calls try again with another key and a longer lifetime.
func (c *clock) young(t testing.TB, try func(key string, life time.Duration) error) mortal {
	t.Helper()
	for _, life := range c.lives() {
		m := mortal{key: fmt.Sprint("life of ", life), life: life, age: c.stopwatch()}
		err := try(m.key, life)
		if m.age() >= life-early {
			continue
		}
		if err != nil {
			t.Fatalf("%v after %v of %v", err, m.age(), life)
		}
		return m
	}
	t.Fatalf("a few operations take longer than %v", c.lives())
	return mortal{}
}

// end waits until m has expired. It fails the test if m expires early or late.
func (c *clock) end(t testing.TB, m mortal, over func() bool) {
	t.Helper()
	for !over() {
		if age := m.age(); age > m.life+late {
			t.Fatalf("it is still there after %v, its life was %v", age, m.life)
		}
		c.pass(m.life / 20)
	}
	if age := m.age(); age < m.life-early {
		t.Errorf("it is gone after %v, its life was %v", age, m.life)
	}
}

// told logs the rule if the test fails, for readers who do not know the test.
func told(t testing.TB, rule string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("storetest: the rule: %s", rule)
		}
	})
}

// said returns the text of an error for messages. The error may be nil.
func said(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
