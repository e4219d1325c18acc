package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
)

// Changes runs the suite for a change.Bus, in parallel. open returns a new bus each time, and
// registers its cleanup with t.Cleanup. The suite publishes messages of up to 64 KiB, and some MiB
// in total.
func Changes(t *testing.T, open func(t testing.TB) change.Bus) {
	t.Helper()
	tests := []struct {
		name, rule string
		run        func(t *testing.T, b bus)
	}{
		{"NobodyListens", "Publish without subscribers is not an error, and the message is not kept for later ones.", changesNobody},
		{"NilFirst", "The first call of a subscriber is nil: look for yourself at what happened before.", changesNilFirst},
		{"Everybody", "Each message reaches all that are subscribed, equal messages included.", changesEverybody},
		{"InOrder", "The messages of one publisher come in their order, each once.", changesOrder},
		{"AnyBytes", "Messages are any bytes.", changesAnyBytes},
		{"EmptyDoesNotArrive", "An empty message does not arrive, and is not an error.", changesEmpty},
		{"CopiesWhatItTakes", "A bus does not keep the caller's slice.", changesTaken},
		{"KeepsWhatItGave", "A message stays as it is for a subscriber that keeps it.", changesKept},
		{"OneCallAtATime", "A subscriber is called for one message after the other.", changesOneCall},
		{"EndsWithTheContext", "Subscribe ends with its context, returns the cause of the end, and does not disturb other subscribers.", changesEnds},
		{"NoCallAfterTheEnd", "There is no call after Subscribe has returned.", changesNoCallAfter},
		{"PublishFromWithin", "A subscriber may publish from within its call.", changesWithin},
		{"LateSubscriber", "A later subscriber gets what is published from then on, and nothing from before.", changesLate},
		{"ConcurrentPublishers", "The messages of each publisher come in their order, each once, however many publish.", changesPublishers},
		{"OneAfterTheOther", "A message that is published after the Publish of another has returned comes after that one.", changesTurns},
		{"ComeAndGo", "Subscribers that come and go do not disturb those that stay.", changesComeAndGo},
		{"SlowSubscriber", "A slow subscriber delays neither publishers nor others. It misses nothing, or gets nil as a sign that it did.", changesSlow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			tt.run(t, bus{t, open(t)})
		})
	}
}

// bus is a bus that fails the test if an operation returns an error that the interface does not
// allow. Its methods may be called in any goroutine.
type bus struct {
	t   testing.TB
	bus change.Bus
}

// publish publishes messages. It fails the test if that takes long, regardless of the subscribers.
func (b bus) publish(messages ...string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), late)
	defer cancel()
	for _, m := range messages {
		if err := b.bus.Publish(ctx, []byte(m)); err != nil {
			b.t.Errorf("Publish(%s): %v", brief(m), err)
		}
	}
}

// listener is one subscription. The goroutine of Subscribe appends to heard, counts nils, and
// closes news; mu guards them.
type listener struct {
	t    testing.TB
	stop context.CancelCauseFunc
	err  chan error // returned by Subscribe

	mu    sync.Mutex // guards all below
	heard []string   // messages without the nils
	nils  int
	news  chan struct{} // closed at the next call
}

// errStop is the cause for the end of a listener.
var errStop = errors.New("the listener has heard enough")

// subscribe waits until the subscription exists. If also is not nil, it is called for each message.
func (b bus) subscribe(also func(message []byte)) *listener {
	b.t.Helper()
	ctx, stop := context.WithCancelCause(b.t.Context())
	l := &listener{t: b.t, stop: stop, err: make(chan error, 1), news: make(chan struct{})}
	go func() {
		l.err <- b.bus.Subscribe(ctx, func(m []byte) {
			l.note(m)
			if also != nil {
				also(m)
			}
		})
	}()
	b.t.Cleanup(func() { stop(errStop) })
	l.until("the first call", func() bool { return l.nils > 0 })
	return l
}

func (l *listener) note(m []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m == nil:
		l.nils++
	case l.nils == 0:
		l.t.Errorf("%s came before nil", brief(string(m)))
	default:
		l.heard = append(l.heard, string(m))
	}
	close(l.news)
	l.news = make(chan struct{})
}

// all returns the messages so far.
func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

// times returns the number of calls with nil, which means that messages may be lost.
func (l *listener) times() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nils
}

// until waits until is returns true. It calls is with mu held.
func (l *listener) until(what string, is func() bool) {
	l.t.Helper()
	timeout := time.NewTimer(late)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		ok, news := is(), l.news
		heard := len(l.heard)
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-timeout.C:
			l.t.Fatalf("%s: not within %v, %d messages so far", what, late, heard)
		}
	}
}

// wants checks that the listener receives exactly these messages, in this order. It publishes a
// last message to know when to stop, and ignores the last messages for other listeners.
func (b bus) wants(l *listener, want ...string) {
	b.t.Helper()
	last := fmt.Sprintf("last for %p", l)
	b.publish(last)
	l.until(last, func() bool { return slices.Contains(l.heard, last) })
	heard := slices.DeleteFunc(l.all(), func(m string) bool { return strings.HasPrefix(m, "last for ") })
	if !slices.Equal(heard, want) {
		b.t.Errorf("heard %s, want %s", listing(heard), listing(want))
	}
	if n := l.times(); n != 1 {
		b.t.Errorf("%d times nil, though nothing was lost", n)
	}
}

func listing(messages []string) string {
	if len(messages) > 20 {
		return fmt.Sprintf("%d messages", len(messages))
	}
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = brief(m)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// ended ends the subscription and waits until Subscribe has returned.
func (l *listener) ended() {
	l.t.Helper()
	l.stop(errStop)
	timeout := time.NewTimer(late)
	defer timeout.Stop()
	select {
	case err := <-l.err:
		if !errors.Is(err, errStop) {
			l.t.Errorf("Subscribe: %v, want the cause of its context", err)
		}
	case <-timeout.C:
		l.t.Fatalf("Subscribe goes on %v after the end of its context", late)
	}
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

// chatter publishes continuously until end is called.
func (b bus) chatter() (end func()) {
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				b.publish("chatter")
			}
		}
	})
	return func() {
		close(done)
		all.Wait()
	}
}

func changesNobody(_ *testing.T, b bus) {
	b.publish("a", "", "b")
	l := b.subscribe(nil)
	b.wants(l) // receives nothing from before
}

func changesNilFirst(_ *testing.T, b bus) {
	defer b.chatter()()
	for range 20 {
		l := b.subscribe(nil)
		l.until("a message", func() bool { return len(l.heard) > 0 })
		l.ended()
	}
}

func changesEverybody(_ *testing.T, b bus) {
	listeners := make([]*listener, 8)
	for i := range listeners {
		listeners[i] = b.subscribe(nil)
	}
	b.publish("a", "b", "a")
	for _, l := range listeners {
		b.wants(l, "a", "b", "a")
	}
}

func changesOrder(_ *testing.T, b bus) {
	l, other := b.subscribe(nil), b.subscribe(nil)
	all := numbered("message ", 500)
	b.publish(all...)
	b.wants(l, all...)
	b.wants(other, all...)
}

func changesAnyBytes(_ *testing.T, b bus) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	messages := []string{string(all), "\x00", "\xff\xfe", "null", " ", "\n", "\r\n", `{"a":1}`, strings.Repeat(string(all), 256)}
	l := b.subscribe(nil)
	b.publish(messages...)
	b.wants(l, messages...)
}

func changesEmpty(t *testing.T, b bus) {
	l := b.subscribe(nil)
	b.publish("", "a", "")
	for _, empty := range [][]byte{nil, {}} {
		if err := b.bus.Publish(t.Context(), empty); err != nil {
			t.Errorf("Publish of nothing: %v", err)
		}
	}
	b.wants(l, "a")
}

func changesTaken(t *testing.T, b bus) {
	l := b.subscribe(nil)
	buffer := make([]byte, 0, 64)
	want := numbered("message ", 100)
	for _, m := range want {
		buffer = append(buffer[:0], m...)
		if err := b.bus.Publish(t.Context(), buffer); err != nil {
			t.Errorf("Publish: %v", err)
		}
		overwrite(buffer)
	}
	b.wants(l, want...)
}

// changesKept: a message is read-only, and a receiver may keep it.
func changesKept(t *testing.T, b bus) {
	type kept struct {
		message []byte
		was     string
	}
	var both [2][]kept
	listeners := make([]*listener, len(both))
	for i := range both {
		listeners[i] = b.subscribe(func(m []byte) {
			both[i] = append(both[i], kept{m, string(m)})
			_ = append(m, "######"...) // goes elsewhere
		})
	}
	all := numbered("message ", 300)
	b.publish(all...)
	b.wants(listeners[0], all...)
	b.wants(listeners[1], all...)
	for i, l := range listeners {
		l.ended()
		for _, k := range both[i] {
			if !bytes.Equal(k.message, []byte(k.was)) {
				t.Fatalf("%q has become %q", k.was, k.message)
			}
		}
	}
}

func changesOneCall(t *testing.T, b bus) {
	var inside atomic.Int64
	l := b.subscribe(func([]byte) {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d calls at a time", n)
		}
		time.Sleep(10 * time.Microsecond)
		inside.Add(-1)
	})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() { b.publish(numbered(fmt.Sprint(w, " "), 25)...) })
	}
	all.Wait()
	l.until("all messages", func() bool { return len(l.heard) == 100 })
}

func changesEnds(t *testing.T, b bus) {
	stays := b.subscribe(nil)
	for range 3 {
		b.subscribe(nil).ended()
	}
	b.publish("a")
	b.wants(stays, "a")
	over, end := context.WithCancelCause(t.Context())
	end(errStop)
	if err := b.bus.Subscribe(over, func([]byte) {}); !errors.Is(err, errStop) {
		t.Errorf("Subscribe with a context that has ended: %v", err)
	}
}

func changesNoCallAfter(t *testing.T, b bus) {
	defer b.chatter()()
	for range 20 {
		var over atomic.Bool
		l := b.subscribe(func([]byte) {
			if over.Load() {
				t.Error("a call after Subscribe has returned")
			}
		})
		l.until("a message", func() bool { return len(l.heard) > 0 })
		l.ended()
		over.Store(true)
	}
	time.Sleep(early)
}

// changesWithin: a receiver may publish another message.
func changesWithin(_ *testing.T, b bus) {
	l := b.subscribe(func(m []byte) {
		if n := len(m); n > 0 && n < 5 && m[0] == 'a' {
			b.publish(string(m) + "a")
		}
	})
	b.publish("a")
	l.until("the echoes", func() bool { return len(l.heard) == 5 })
	b.wants(l, "a", "aa", "aaa", "aaaa", "aaaaa")
}

func changesLate(_ *testing.T, b bus) {
	first := b.subscribe(nil)
	b.publish("a")
	first.until("a", func() bool { return len(first.heard) == 1 })
	second := b.subscribe(nil)
	b.publish("b")
	b.wants(second, "b")
	b.wants(first, "a", "b")
}
