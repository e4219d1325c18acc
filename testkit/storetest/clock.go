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

// Clock is for stores whose time a test can advance. The suite calls advance instead of waiting,
// and assumes that time stands still otherwise. The tests then run one after another, so that
// advance may apply to the store that was opened last.
func Clock(advance func(time.Duration)) Option {
	return func(s *settings) { s.advance = advance }
}

// Now is for stores that compare the Created of a record with a time other than that of
// [time.Now]. A store that expires records by a clock of its own, but uses time.Now when it
// takes a record, does not need it.
func Now(now func() time.Time) Option {
	return func(s *settings) {
		if now != nil {
			s.now = now
		}
	}
}

// clock is the clock of the store, or the real one without advance. It is not safe for
// concurrent use.
type clock struct {
	advance  func(time.Duration)
	advanced time.Duration
}

// stopwatch returns a function that returns how much time has passed since.
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

// lives returns short lives, to be tried in turn until one is long enough for the operations
// that must happen within it.
func (c *clock) lives() []time.Duration {
	if c.advance == nil {
		return []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond, 6400 * time.Millisecond}
	}
	return []time.Duration{time.Minute}
}

const (
	early = 5 * time.Millisecond // how much a store may round off a life
	late  = 30 * time.Second     // how long it may take to notice that a life is over, or an event
)

// mortal is something that must expire.
type mortal struct {
	key  string
	life time.Duration
	age  func() time.Duration // not less than its true age
}

// young calls try, which creates something under the key that lives that long, and uses it. An
// error is a fault only if try has taken less than the life. Otherwise the value may have
// expired, and try is called again with another key and a longer life.
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

// end waits until m has expired, which must happen neither early nor late.
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

// told logs the rule if the test fails, for those who have not written the test.
func told(t testing.TB, rule string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("storetest: the rule: %s", rule)
		}
	})
}

// said returns the text of an error that may be nil, for messages.
func said(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
