package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// slice is how long a read waits at Redis for new entries. Close may have to wait as long.
	slice = 500 * time.Millisecond
	// mostAtOnce is the maximum number of entries that one read takes.
	mostAtOnce = 64
	// reapEvery is how often consumers of ended processes are removed. A consumer that
	// was silent for goneAfter counts as ended.
	reapEvery = 10 * time.Minute
	goneAfter = time.Hour
	// mostOver is the maximum number of ended entries that are remembered.
	mostOver = 1024
)

// takeQueue has this store's waiting Takes. While there are any, one goroutine (the reader)
// reads entries for all of them, never more than there are Takes.
//
// enter adds a Take and starts the reader if none runs (reading). wanted clears reading when no
// Take waits, and the reader then ends. Each Take receives exactly one answer, unless it leaves
// first. mu guards the fields below it, except the fields of the reader.
//
// mu is taken before Store.mu and is not held during a command. swept, cursor and reaped pass from
// one reader to the next: a reader stops using them before wanted clears reading under mu, and the
// next one starts after enter has set it under mu.
type takeQueue struct {
	store    *Store
	consumer string
	life     time.Duration // life of a lease
	every    time.Duration // interval of the search for expired leases

	mu      sync.Mutex // guards all below
	waiting []chan answer
	reading bool
	closed  bool
	ended   []string // stream entries of ended tasks, oldest first

	// Used by the reader only.
	swept  time.Time // end of the last complete search for expired leases
	cursor string    // position at which the search continues
	reaped time.Time
}

// answer is the result for a waiting Take.
type answer struct {
	delivery delivery
	err      error
}

// newTakeQueue returns a queue without a reader. Its consumer is new, so leases of an earlier Store
// of this process are not its own.
func newTakeQueue(s *Store, o options) takeQueue {
	return takeQueue{store: s, consumer: rand.Text(), life: o.leaseLife, every: o.sweep, cursor: "0-0"}
}

// wait waits until the reader answers with one delivery, or ctx ends.
//
// It may return a delivery even if ctx ends at the same moment. The caller must then release the
// delivery or run the task.
func (l *takeQueue) wait(ctx context.Context) (delivery, error) {
	mine := make(chan answer, 1)
	if err := l.enter(ctx, mine); err != nil {
		return delivery{}, err
	}
	select {
	case a := <-mine:
		return a.delivery, a.err
	case <-ctx.Done():
	}
	if l.leave(mine) {
		return delivery{}, ctx.Err()
	}
	a := <-mine // the answer arrived at the same moment, and must not be lost
	return a.delivery, a.err
}

// enter adds a waiting Take, and starts the reader if none runs. The reader does not use the
// cancellation of the first Take's context, because it runs longer than this Take.
//
// mine needs space for one answer. After an error mine is not in the queue.
func (l *takeQueue) enter(ctx context.Context, mine chan answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if !l.reading {
		ctx, end, err := l.store.begin(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		l.reading = true
		go func() {
			defer end()
			l.read(ctx)
		}()
	}
	l.waiting = append(l.waiting, mine)
	return nil
}

// leave removes a Take and reports whether it was still waiting.
func (l *takeQueue) leave(mine chan answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return taken(&l.waiting, mine)
}

// close answers all waiting Takes with ErrClosed. The reader ends with the store's context.
//
// It is called once contexts have ended, so that enter starts no reader any more. A Take that comes
// later gets ErrClosed from enter.
func (l *takeQueue) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.fail(ErrClosed)
}

// wanted returns how many entries to read, which is at most the number of waiting Takes. If it
// returns 0, the reader counts as ended and must return.
//
// Checking and clearing are one step under mu. A Take that comes afterwards therefore starts a new
// reader.
func (l *takeQueue) wanted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = len(l.waiting) > 0
	return min(len(l.waiting), mostAtOnce)
}

// read reads until no Take waits.
//
// It is the goroutine of the reader. An error ends all Takes that wait, not the reader; the Takes
// decide whether to come again.
func (l *takeQueue) read(ctx context.Context) {
	for n := l.wanted(); n > 0; n = l.wanted() {
		deliveries, err := l.next(ctx, n)
		if noGroup(err) {
			deliveries, err = nil, l.makeGroup(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil: // Close ended ctx, and answers the waiting Takes afterwards
			l.fail(ErrClosed)
			continue
		case err != nil:
			l.fail(fmt.Errorf("redisstore: taking a task: %w", err))
			continue
		}
		for _, t := range l.hand(deliveries) {
			l.giveBack(ctx, t)
		}
	}
}

// hand passes the entries to the Takes that have waited longest. It returns the entries without
// a Take.
//
// The sends do not block: each channel has space, and gets no second answer.
func (l *takeQueue) hand(deliveries []delivery) []delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(deliveries), len(l.waiting))
	for i, w := range l.waiting[:n] {
		w <- answer{delivery: deliveries[i]}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return deliveries[n:]
}

// fail answers all waiting Takes with an error.
func (l *takeQueue) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w <- answer{err: err}
	}
	l.waiting = nil
}

// giveBack releases an entry if its Take does not wait any more. If that fails, the task comes back
// when its lease expires. So does a task that another worker had, because a release would forget
// that (Lease.Again).
func (l *takeQueue) giveBack(ctx context.Context, t delivery) {
	if t.count > 1 {
		return
	}
	tasks := &l.store.tasks
	_ = tasks.Release(context.WithoutCancel(ctx), tasks.lease(t))
}

// over records that an entry has ended. Only the latest are kept; for others, Release asks Redis.
func (l *takeQueue) over(entry string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ended) == mostOver {
		l.ended = slices.Delete(l.ended, 0, mostOver/2)
	}
	l.ended = append(l.ended, entry)
}

// isOver reports whether over recorded the entry, and forgets it, because it is asked only once per
// entry.
func (l *takeQueue) isOver(entry string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return taken(&l.ended, entry)
}

// taken removes v from list and reports whether it was there.
func taken[T comparable](list *[]T, v T) bool {
	i := slices.Index(*list, v)
	if i < 0 {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// next reads up to n entries. If there are none, it waits up to slice.
//
// Only the reader calls it. An empty result is not an error.
func (l *takeQueue) next(ctx context.Context, n int) ([]delivery, error) {
	deliveries, again, err := l.take(ctx, n)
	if err != nil || again || len(deliveries) > 0 {
		return deliveries, err
	}
	if err := l.reap(ctx); err != nil {
		return nil, err
	}
	return l.await(ctx, n)
}

// take reads entries without waiting. again reports that there may be more.
//
// After an error, cursor and swept are unchanged, and the search continues there.
func (l *takeQueue) take(ctx context.Context, n int) (deliveries []delivery, again bool, err error) {
	idle := int64(0)
	if time.Since(l.swept) >= l.every {
		idle = millis(l.life)
	}
	reply, err := l.store.tasks.run(ctx, queueTake, l.store.lineKey(), l.consumer, n, idle, l.cursor).Slice()
	if err != nil {
		return nil, false, err
	}
	l.cursor, _ = reply[0].(string)
	if done := l.cursor == "0-0"; idle > 0 && done {
		l.swept = time.Now()
	} else {
		again = !done
	}
	again = again || reply[1] == int64(1)
	for f := reply[2:]; len(f) >= 3; f = f[3:] {
		t := delivery{}
		t.task, _ = f[0].(string)
		t.entry, _ = f[1].(string)
		t.count, _ = f[2].(int64)
		deliveries = append(deliveries, t)
	}
	return deliveries, again, nil
}

// await waits for new entries, until the next search for expired leases is due. An entry may
// already have ended when it is read.
func (l *takeQueue) await(ctx context.Context, n int) ([]delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := min(slice, l.every-time.Since(l.swept))
	cmd := onceRead{redis.NewXStreamSliceCmd(ctx, "xreadgroup", "group", group, l.consumer, "count", n,
		"block", max(wait.Milliseconds(), 1), "streams", l.store.lineKey(), ">")}
	cmd.SetFirstKeyPos(9)
	_ = l.store.client.Process(ctx, cmd) // cmd has the error
	streams, err := cmd.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	case len(streams) == 0:
		return nil, nil
	}
	var deliveries []delivery
	for _, m := range streams[0].Messages {
		id, _ := m.Values["i"].(string)
		deliveries = append(deliveries, delivery{task: id, entry: m.ID, count: 1})
	}
	// Close may have ended ctx meanwhile. The entries belong to this store, which must give them back.
	return l.accept(context.WithoutCancel(ctx), deliveries)
}

// accept drops entries that have ended, or that another store has by now. The lease of the others
// begins again: this process may have stood still since it read them.
func (l *takeQueue) accept(ctx context.Context, deliveries []delivery) ([]delivery, error) {
	args := []any{l.consumer}
	for _, t := range deliveries {
		args = append(args, t.task, t.entry)
	}
	ok, err := l.store.tasks.run(ctx, queueAccept, l.store.lineKey(), args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	var out []delivery
	for i, t := range deliveries {
		if ok[i] == 1 {
			out = append(out, t)
		}
	}
	return out, nil
}

// makeGroup makes the consumer group, and the stream if it does not exist. The group begins at the
// first entry, because existing entries belong to tasks that were already accepted.
func (l *takeQueue) makeGroup(ctx context.Context) error {
	err := once{l.store.client}.do(ctx, "xgroup", "create", l.store.lineKey(), group, "0", "mkstream").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return err
	}
	return nil
}

// reap deletes consumers of ended processes, at most once per reapEvery.
func (l *takeQueue) reap(ctx context.Context) error {
	if time.Since(l.reaped) < reapEvery {
		return nil
	}
	l.reaped = time.Now()
	return l.store.tasks.run(ctx, queueReap, l.store.lineKey(), millis(max(goneAfter, 10*l.life))).Err()
}
