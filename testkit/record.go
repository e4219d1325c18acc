package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// notices holds the notifications of the server. The client's goroutine appends them, and each
// change closes changed and makes a new channel. mu guards all fields.
type notices struct {
	mu            sync.Mutex
	notifications []protocol.Notification
	progress      []protocol.Progress
	awaited       map[string]int // by method: number of those that AwaitNotification has returned
	changed       chan struct{}  // closed with the next notification
}

// notified keeps a notification. It drops acknowledgments of subscriptions, which only some
// revisions have, because tests need not know the revision.
func (s *Session) notified(_ context.Context, n protocol.Notification) {
	if n.Method == protocol.NotificationAcknowledged {
		return
	}
	r := &s.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notifications = append(r.notifications, n)
	r.changes()
}

// changes wakes goroutines that wait for a notification. The caller holds mu.
func (r *notices) changes() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// wake wakes goroutines that wait for a notification, because a question has found no answer.
func (r *notices) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes()
}

func (s *Session) progressed(p protocol.Progress) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.record.progress = append(s.record.progress, p)
}

// Progress returns the reports seen so far, in order. Every call asks for progress.
func (s *Session) Progress() []protocol.Progress {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.Clone(s.record.progress)
}

// Notifications returns the notifications seen so far, in order, including progress and logs.
func (s *Session) Notifications() []protocol.Notification {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.Clone(s.record.notifications)
}

// Logs returns the log messages seen so far, in order; LogLevel turns them on.
func (s *Session) Logs() []protocol.LogMessage {
	s.t.Helper()
	var logs []protocol.LogMessage
	for _, n := range s.Notifications() {
		if n.Method != protocol.NotificationMessage {
			continue
		}
		p, fault := s.config.dialect.DecodeParams(n.Method, n.Params)
		message, ok := p.(*protocol.LogParams)
		if fault != nil || !ok {
			s.t.Fatalf("testkit: the server sent a malformed log message: %s", n.Params)
			return nil
		}
		logs = append(logs, protocol.LogMessage{
			Level: string(message.Level), Logger: message.Logger, Data: json.RawMessage(message.Data),
		})
	}
	return logs
}

// LogLevel asks for logs, in the way of the revision.
func (s *Session) LogLevel(level string) {
	s.t.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.client.SetLogLevel(ctx, protocol.Level(level)); err != nil {
		s.t.Fatalf("testkit: asking for logs of level %q: %v", level, err)
	}
}

// AwaitNotification waits for the next notification of the method that was not awaited yet.
func (s *Session) AwaitNotification(method string) protocol.Notification {
	s.t.Helper()
	timer := time.NewTimer(s.config.timeout)
	defer timer.Stop()
	for {
		n, found, changed := s.record.take(method)
		if found {
			return n
		}
		s.asked()
		if !s.wait(changed, timer, "no "+method) {
			return protocol.Notification{}
		}
	}
}

// wait waits for the next notification. If the timer or the test ends first, it fails the test and
// returns false.
func (s *Session) wait(changed <-chan struct{}, timer *time.Timer, missing string) bool {
	s.t.Helper()
	var why string
	select {
	case <-changed:
		return true
	case <-timer.C:
		why = fmt.Sprintf(" within %v", s.config.timeout)
	case <-s.ctx.Done():
		why = ": " + testOver
	}
	s.t.Fatalf("testkit: %s%s; seen so far: %s\nsent: %s", missing, why, s.record.methods(), s.wire.exchange.lastSent())
	return false
}

// next returns a channel that is closed with the next notification.
func (r *notices) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *notices) take(method string) (n protocol.Notification, found bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	skip := r.awaited[method]
	for _, n := range r.notifications {
		if n.Method != method {
			continue
		}
		if skip == 0 {
			if r.awaited == nil {
				r.awaited = map[string]int{}
			}
			r.awaited[method]++
			return n, true, nil
		}
		skip--
	}
	return protocol.Notification{}, false, r.changed
}

func (r *notices) methods() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notifications) == 0 {
		return "none"
	}
	methods := make([]string, len(r.notifications))
	for i, n := range r.notifications {
		methods[i] = n.Method
	}
	return strings.Join(methods, ", ")
}
