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
	// slice is how long Redis is asked to wait. Close waits as long.
	slice = 500 * time.Millisecond
	// mostAtOnce bounds the turns that one read takes, and the waiting Takes it serves.
	mostAtOnce = 64
	// reapEvery is how often consumers of processes that are gone are looked for. They are
	// taken for gone when they were silent for goneAfter.
	reapEvery = 10 * time.Minute
	goneAfter = time.Hour
	// mostOver bounds the ended turns that are remembered.
	mostOver = 1024
)

// line is the queue of this store's waiting Takes. While there are any, one goroutine reads
// turns for all of them, never more than there are Takes; it ends with the last one.
type line struct {
	store    *Store
	consumer string
	life     time.Duration // of a lease
	every    time.Duration // how often leases that ran out are looked for

	mu      sync.Mutex // guards all below
	waiting []chan answer
	reading bool
	closed  bool
	ended   []string // entries of turns that have ended, oldest first

	// Used by the reader only.
	swept  time.Time // when all leases had been looked through
	cursor string    // where looking through them continues
	reaped time.Time
}

// answer is what a waiting Take gets.
type answer struct {
	turn turn
	err  error
}

func newLine(s *Store, o options) line {
	return line{store: s, consumer: rand.Text(), life: o.leaseLife, every: o.sweep, cursor: "0-0"}
}

// wait waits for one turn.
func (l *line) wait(ctx context.Context) (turn, error) {
	mine := make(chan answer, 1)
	if err := l.enter(ctx, mine); err != nil {
		return turn{}, err
	}
	select {
	case a := <-mine:
		return a.turn, a.err
	case <-ctx.Done():
	}
	if l.leave(mine) {
		return turn{}, ctx.Err()
	}
	a := <-mine // it arrived at the same moment, and must not be lost
	return a.turn, a.err
}

// enter adds a waiting Take, and starts the reader if there is none. The reader does not use
// the context of the first Take: it outlives it.
func (l *line) enter(ctx context.Context, mine chan answer) error {
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

// leave removes a Take, and says whether it was still waiting.
func (l *line) leave(mine chan answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, mine)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// close answers all waiting Takes. The reader ends with the store's context.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, w := range l.waiting {
		w <- answer{err: ErrClosed}
	}
	l.waiting = nil
}

// wanted is how many Takes wait. If it is 0, the reader counts as ended.
func (l *line) wanted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = len(l.waiting) > 0
	return min(len(l.waiting), mostAtOnce)
}

// read reads until no Take waits.
func (l *line) read(ctx context.Context) {
	for n := l.wanted(); n > 0; n = l.wanted() {
		turns, err := l.next(ctx, n)
		if noGroup(err) {
			turns, err = nil, l.makeGroup(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil: // by Close, which answers the waiting Takes only afterwards
			l.fail(ErrClosed)
			continue
		case err != nil:
			l.fail(fmt.Errorf("redisstore: taking a task: %w", err))
			continue
		}
		for _, t := range l.hand(turns) {
			l.giveBack(ctx, t)
		}
	}
}

// hand gives the turns to the Takes that have waited longest, and returns the turns for which
// there was none.
func (l *line) hand(turns []turn) []turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(turns), len(l.waiting))
	for i, w := range l.waiting[:n] {
		w <- answer{turn: turns[i]}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	return turns[n:]
}

// fail answers all waiting Takes with an error.
func (l *line) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w <- answer{err: err}
	}
	l.waiting = nil
}

// giveBack returns a turn for which no Take waits any more. If that fails, it comes back when
// its lease runs out.
func (l *line) giveBack(ctx context.Context, t turn) {
	tasks := &l.store.tasks
	_ = tasks.Release(context.WithoutCancel(ctx), tasks.lease(t))
}

// over remembers that a turn has ended. Only the latest are remembered; for others Redis must
// be asked.
func (l *line) over(entry string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ended) == mostOver {
		l.ended = slices.Delete(l.ended, 0, mostOver/2)
	}
	l.ended = append(l.ended, entry)
}

// isOver also forgets it: it is asked only once for a turn.
func (l *line) isOver(entry string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.ended, entry)
	if i < 0 {
		return false
	}
	l.ended = slices.Delete(l.ended, i, i+1)
	return true
}

// next reads up to n turns. If there are none, it waits a little.
func (l *line) next(ctx context.Context, n int) ([]turn, error) {
	turns, again, err := l.take(ctx, n)
	if err != nil || again || len(turns) > 0 {
		return turns, err
	}
	if err := l.reap(ctx); err != nil {
		return nil, err
	}
	return l.await(ctx, n)
}

// take does not wait. again says that there may be more turns.
func (l *line) take(ctx context.Context, n int) (turns []turn, again bool, err error) {
	idle := int64(0)
	if time.Since(l.swept) >= l.every {
		idle = millis(l.life)
	}
	reply, err := l.store.tasks.run(ctx, queueTake, l.store.lineKey(), l.consumer, n, idle, l.cursor).Slice()
	if err != nil {
		return nil, false, err
	}
	l.cursor, _ = text(reply[0])
	if done := l.cursor == "0-0"; idle > 0 && done {
		l.swept = time.Now()
	} else {
		again = !done
	}
	again = again || reply[1] == int64(1)
	for f := reply[2:]; len(f) >= 3; f = f[3:] {
		t := turn{}
		t.task, _ = text(f[0])
		t.entry, _ = text(f[1])
		t.count, _ = f[2].(int64)
		turns = append(turns, t)
	}
	return turns, again, nil
}

// await waits for new turns until it is time to look for leases that ran out. A turn may have
// ended when it is read.
func (l *line) await(ctx context.Context, n int) ([]turn, error) {
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
	var turns []turn
	for _, m := range streams[0].Messages {
		id, _ := m.Values["i"].(string)
		turns = append(turns, turn{task: id, entry: m.ID, count: 1})
	}
	return l.accept(ctx, turns)
}

// accept drops turns that have ended.
func (l *line) accept(ctx context.Context, turns []turn) ([]turn, error) {
	var args []any
	for _, t := range turns {
		args = append(args, t.task, t.entry)
	}
	ok, err := l.store.tasks.run(ctx, queueAccept, l.store.lineKey(), args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	var out []turn
	for i, t := range turns {
		if ok[i] == 1 {
			out = append(out, t)
		}
	}
	return out, nil
}

// makeGroup makes the consumer group, and the stream if there is none. The group begins at the
// first entry, because entries that are there already were accepted before.
func (l *line) makeGroup(ctx context.Context) error {
	err := once{l.store.client}.do(ctx, "xgroup", "create", l.store.lineKey(), group, "0", "mkstream").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return err
	}
	return nil
}

// reap deletes consumers of processes that are gone, now and then.
func (l *line) reap(ctx context.Context) error {
	if time.Since(l.reaped) < reapEvery {
		return nil
	}
	l.reaped = time.Now()
	return l.store.tasks.run(ctx, queueReap, l.store.lineKey(), millis(max(goneAfter, 10*l.life))).Err()
}
