package testkit

import (
	"fmt"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Eventually waits until cond holds. It checks cond again after each notification, not at
// intervals. If the server sends no notification, wait for another event with
// [Session.AwaitNotification], or use [Session.Advance]. what is for the failure message.
//
//	s.Eventually("the index is built", func() bool { return len(s.Resources()) == 3 })
func (s *Session) Eventually(what string, cond func() bool) {
	s.t.Helper()
	if cond == nil {
		s.t.Fatalf("testkit: Eventually(%q): the condition is nil", what)
		return
	}
	timer := time.NewTimer(s.config.timeout)
	defer timer.Stop()
	for {
		changed := s.record.next()
		if cond() {
			return
		}
		s.asked()
		if !s.wait(changed, timer, fmt.Sprintf("Eventually(%q): not true", what)) {
			return
		}
	}
}

// InOrder fails the test unless these notifications were seen, in this order; others
// may have come between them. Each is a method, or a method and words of its params:
//
//	s.InOrder("notifications/progress half", "notifications/message done")
func (s *Session) InOrder(notifications ...string) {
	s.t.Helper()
	seen := s.Notifications()
	next := 0
	for _, n := range seen {
		if next < len(notifications) && isThat(n, notifications[next]) {
			next++
		}
	}
	if next == len(notifications) {
		return
	}
	var all strings.Builder
	for _, n := range seen {
		fmt.Fprintf(&all, "\n  %s %s", n.Method, n.Params)
	}
	if len(seen) == 0 {
		all.WriteString(" none")
	}
	where := "at all"
	if next > 0 {
		where = fmt.Sprintf("after %q", notifications[next-1])
	}
	s.t.Fatalf("testkit: no %q %s; seen so far, in order:%s\nsent: %s", notifications[next], where, all.String(), s.wire.exchange.lastSent())
}

// isThat reports whether n has the method that want begins with, and its params contain the rest of
// want. The rest is compared as a whole, because single words are easily found in numbers, IDs and
// names.
func isThat(n protocol.Notification, want string) bool {
	method, text, _ := strings.Cut(want, " ")
	return n.Method == method && strings.Contains(string(n.Params), text)
}
