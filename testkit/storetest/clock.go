package storetest

import (
	"fmt"
	"testing"
	"time"
)

// Option of a suite. Sealed.
type Option func(*settings)

type settings struct {
	advance func(time.Duration)
	now     func() time.Time
}

// settle is what the options say.
func settle(opts []Option) settings {
	set := settings{now: time.Now}
	for _, o := range opts {
		if o != nil {
			o(&set)
		}
	}
	return set
}

// Clock is for stores whose time a test can advance: the suite calls it where it
// would wait otherwise, and takes the time to stand still meanwhile. The tests run
// one after the other then, so advance may be about the store that was opened last.
func Clock(advance func(time.Duration)) Option {
	return func(s *settings) { s.advance = advance }
}

// Now is for stores whose time is not that of [time.Now]. One that expires what it
// holds by a clock of its own, but asks time.Now when it takes a record, needs it
// not: its time stands still as far as a record can tell.
func Now(now func() time.Time) Option {
	return func(s *settings) {
		if now != nil {
			s.now = now
		}
	}
}

// clock is the store's, or the real one where there is no advance. Not safe for
// concurrent use.
type clock struct {
	advance  func(time.Duration)
	advanced time.Duration
}

// stopwatch gives what tells how much time has passed since.
func (c *clock) stopwatch() func() time.Duration {
	if c.advance == nil {
		start := time.Now()
		return func() time.Duration { return time.Since(start) }
	}
	start := c.advanced
	return func() time.Duration { return c.advanced - start }
}

// pass lets time pass.
func (c *clock) pass(d time.Duration) {
	if c.advance == nil {
		time.Sleep(d)
		return
	}
	c.advance(d)
	c.advanced += d
}

// lives are short ones, to be tried in turn until one is long enough for what is
// done within it.
func (c *clock) lives() []time.Duration {
	if c.advance == nil {
		return []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond, 6400 * time.Millisecond}
	}
	return []time.Duration{time.Minute}
}

const (
	early = 5 * time.Millisecond // that a store may round off a life
	late  = 30 * time.Second     // that it may take to see that one is over, or that there is something
)

// mortal is something that must end.
type mortal struct {
	key  string
	life time.Duration
	age  func() time.Duration // at least its own
}

// young does what must be done in less than the life of the key, which begins in
// try. What went wrong is a fault only if it was done in time: an expiry is always
// to be expected otherwise, and try gets another key and more time.
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

// end waits for the end of what is mortal, which must come neither early nor late.
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

// told makes a failure tell the rule: whoever sees it has not written the test.
func told(t testing.TB, rule string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("storetest: the rule: %s", rule)
		}
	})
}

// said is an error that may be none, for messages.
func said(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
