package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// changesPublishers: the messages of each publisher arrive in their order, each once.
func changesPublishers(t *testing.T, b bus) {
	const publishers, each = 8, 50
	listeners := []*listener{b.subscribe(nil), b.subscribe(nil), b.subscribe(nil)}
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() { b.publish(numbered(fmt.Sprint(p, " says "), each)...) })
	}
	all.Wait()
	for _, l := range listeners {
		l.until("all messages", func() bool { return len(l.heard) == publishers*each })
		var next [publishers]int
		for _, m := range l.all() {
			p, _ := strconv.Atoi(m[:1])
			if want := fmt.Sprint(p, " says ", next[p]); m != want {
				t.Fatalf("heard %q, want %q", m, want)
			}
			next[p]++
		}
	}
}

// changesTurns: a message that is published after another Publish has returned arrives after that
// message.
func changesTurns(_ *testing.T, b bus) {
	listeners := []*listener{b.subscribe(nil), b.subscribe(nil)}
	messages := numbered("message ", 200)
	turns := make(chan string, len(messages))
	for _, m := range messages {
		turns <- m
	}
	close(turns)
	var turn sync.Mutex // one goroutine publishes at a time, in random order
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				turn.Lock()
				m, more := <-turns
				if more {
					b.publish(m)
				}
				turn.Unlock()
				if !more {
					return
				}
			}
		})
	}
	all.Wait()
	for _, l := range listeners {
		b.wants(l, messages...)
	}
}

// changesComeAndGo: subscribers that come and go do not affect other subscribers.
func changesComeAndGo(_ *testing.T, b bus) {
	stays := b.subscribe(nil)
	messages := numbered("message ", 300)
	var all sync.WaitGroup
	all.Go(func() { b.publish(messages...) })
	for range 20 {
		one, other := b.subscribe(nil), b.subscribe(nil)
		one.ended()
		other.ended()
	}
	all.Wait()
	b.wants(stays, messages...)
}

// changesSlow: a slow subscriber delays neither publishers nor other subscribers. It misses no
// message without a nil.
func changesSlow(t *testing.T, b bus) {
	const many = 5000
	var once sync.Once
	stuck, release := make(chan struct{}), make(chan struct{})
	slow := b.subscribe(func(m []byte) {
		if m != nil {
			once.Do(func() {
				close(stuck)
				<-release
			})
		}
	})
	free := sync.OnceFunc(func() { close(release) })
	defer free() // also if the test fails
	quick := b.subscribe(nil)
	b.publish("begin")
	<-stuck
	pad := strings.Repeat(".", 2048)
	for i := range many {
		b.publish(fmt.Sprint(i, pad))
		if i%100 == 0 {
			quick.until("what the slow one does not hear", func() bool { return quick.nils > 1 || len(quick.heard) >= i })
		}
	}
	free()
	slow.until("all, or nil", func() bool { return slow.nils > 1 || len(slow.heard) == many+1 })
	for ended := false; !ended; { // it may have much to read, and may also lose this message
		nils := slow.times()
		b.publish("end")
		slow.until("the end", func() bool {
			ended = slices.Contains(slow.heard, "end")
			return ended || slow.nils > nils
		})
	}
	last, heard := -1, slices.DeleteFunc(slow.all()[1:], func(m string) bool { return m == "end" })
	for _, m := range heard {
		number, _ := strconv.Atoi(strings.TrimRight(m, "."))
		if number <= last {
			t.Fatalf("message %d came after %d", number, last)
		}
		last = number
	}
	t.Logf("it was told %d of %d, and %d times of a loss", len(heard), many, slow.times()-1)
}
