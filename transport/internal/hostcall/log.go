package hostcall

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Log writes warnings of a carrier to the log of its host. Clients can cause warnings at any rate,
// so equal warnings are logged only after a pause. A Log is safe for concurrent use.
//
// No other lock is taken while mu is held, and mu is not held while a warning is written.
type Log struct {
	warn  func(text string)
	pause time.Duration // between two equal warnings

	mu   sync.Mutex           // guards last
	last map[string]time.Time // when a warning was last logged, by its text
}

// most bounds the number of different warnings in one pause, because clients can choose some texts.
const most = 64

// NewLog returns a Log that drops a warning if an equal one was logged within the last pause. If
// host has no log, the Log writes to the standard error stream.
func NewLog(host transport.Host, pause time.Duration) *Log {
	l := &Log{pause: pause}
	if server, ok := host.(transport.Server); ok {
		l.warn = server.Services().Warn
	}
	if l.warn == nil {
		l.warn = func(text string) { _, _ = fmt.Fprintln(os.Stderr, "transport: "+text) }
	}
	return l
}

// Warn logs a warning. detail is the part that differs each time, such as an error. It may be
// empty.
func (l *Log) Warn(text, detail string) {
	n := l.count(text)
	if n == 0 {
		return
	}
	if n == most {
		text += " (further warnings of this kind are left out for a while)"
	}
	if detail != "" {
		text += ": " + detail
	}
	l.warn(text)
}

// count returns the number of different warnings in the last pause, including text. If text must
// not be logged now, it returns 0.
func (l *Log) count(text string) int {
	now := time.Now()
	old := func(_ string, at time.Time) bool { return now.Sub(at) >= l.pause }
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.last[text]; known && !old(text, at) {
		return 0
	}
	if maps.DeleteFunc(l.last, old); len(l.last) >= most {
		return 0
	}
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[text] = now
	return len(l.last)
}

// Recover must be deferred. It recovers a panic and logs it.
func (l *Log) Recover() {
	if value := recover(); value != nil {
		l.Panicked(value)
	}
}

// Panicked logs a recovered value, with the stack.
func (l *Log) Panicked(value any) {
	l.Warn("panic while serving: "+jsontext.Clip(fmt.Sprint(value), 1000), string(debug.Stack()))
}
