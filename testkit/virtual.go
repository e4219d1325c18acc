package testkit

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
)

// Virtual makes Matrix, AllRevisions, AllCarriers and BothEras run each body in a testing/synctest
// bubble of its own. They use the carriers without a socket: inmem, stdio and fiber. In a bubble,
// [Session.Advance] makes hours pass in no time.
//
// The app must then be a function, because the parts of an app belong to one bubble. New does not
// need Virtual: in memory, a session works in any bubble that it is opened in.
func Virtual() Option { return optionFunc(func(c *config) { c.virtual = true }) }

// Advance makes time pass in a testing/synctest bubble. Everything due until then happens, in
// order, and its consequences have also happened when Advance returns. Outside a bubble, Advance
// fails the test.
func (s *Session) Advance(d time.Duration) {
	s.t.Helper()
	if !settled() {
		s.t.Fatalf("testkit: Advance(%v) outside of a bubble: use testing/synctest, or Virtual()", d)
		return
	}
	time.Sleep(d)
	synctest.Wait()
}

// settled waits until all other goroutines in the bubble are blocked. It returns false outside
// of a bubble.
func settled() (ok bool) {
	defer func() { _ = recover() }() // synctest.Wait panics outside of a bubble
	synctest.Wait()
	return true
}

// bubble runs body in virtual time.
func bubble(body func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		warmUp()
		synctest.Test(t, func(t *testing.T) {
			t.Helper()
			t.Cleanup(func() { time.Sleep(time.Minute) }) // a goroutine of Fiber sleeps on after its end, and time ends with the test
			body(t)
		})
	}
}

// warmUp makes Fiber's HTTP library start its clock outside of any bubble. The clock is a goroutine
// that starts with the first header of the process and never ends. It would keep a bubble from
// ending.
func warmUp() {
	var header fasthttp.ResponseHeader
	_ = header.Header()
}

// within returns the carriers of a matrix. In a bubble, it returns the carriers without a socket.
func within(opts []Option, all []carrier) []carrier {
	c := newConfig(opts)
	if !c.virtual {
		return all
	}
	return slices.DeleteFunc(all, func(c carrier) bool { return c.socket })
}
