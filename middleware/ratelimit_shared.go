package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/claim"
)

// maxSwaps is the maximum number of attempts to change a bucket that other calls change at the same
// time. Each failed attempt means that another call has taken an event.
const maxSwaps = 64

var (
	errContended  = errors.New("the bucket was changed by others too often")
	errUnreadable = errors.New("the bucket is unreadable")
	errAway       = errors.New("the store has failed just now")
)

// takeShared takes one event from a bucket in the store. Calls of this process for the same bucket
// take turns. If takeShared returns an error, this process counts alone.
func (l *limiter) takeShared(ctx context.Context, store claim.Store, who caller) (after time.Duration, ok bool, err error) {
	if l.paused() { // the call that tries the store may have the turn of this caller, and no other call waits for it
		return 0, false, errAway
	}
	key := l.key("bucket", string(who.kind)+strconv.Itoa(len(who.a))+":"+who.a+who.b, 0)
	mine, err := l.turns.enter(ctx, key)
	if err != nil {
		return 0, false, err
	}
	defer l.turns.leave(key, mine)
	began := time.Now()
	if after := mine.empty.Sub(began); after > 0 {
		return after, false, nil
	}
	if !l.asks() {
		return 0, false, errAway
	}
	asking, cancel := patient(ctx)
	defer cancel()
	after, ok, err = l.takeAt(asking, store, key)
	if l.heard(ctx, err); err == nil && !ok {
		mine.empty = began.Add(after)
	}
	return after, ok, err
}

// takeAt changes a bucket in a store with the generic cell rate algorithm. The bucket is one
// number: the moment when it will be full again. An event moves this moment by an interval, but not
// beyond Burst intervals from now.
func (l *limiter) takeAt(ctx context.Context, store claim.Store, key string) (after time.Duration, ok bool, err error) {
	for range maxSwaps {
		now := time.Now()
		full := now.Add(l.interval)
		held, mine, err := store.Claim(ctx, key, moment(full), l.interval+time.Millisecond)
		if err != nil || mine {
			return 0, err == nil, err
		}
		nanos, err := strconv.ParseInt(string(held), 10, 64)
		if err != nil {
			return 0, false, errUnreadable
		}
		full, after = l.move(now, time.Unix(0, nanos))
		if after > 0 && full.UnixNano() == nanos {
			return after, false, nil
		}
		swapped, err := store.Swap(ctx, key, held, moment(full), full.Sub(now)+time.Millisecond)
		if err != nil || swapped {
			return after, err == nil && after <= 0, err
		}
	}
	return 0, false, errContended
}

// move returns the moment when the bucket will be full after one more event. If the bucket has no
// event left, it returns the unchanged moment and the time until an event is available. If full is
// later than any event can have set it, a clock was wrong. The bucket then counts as empty and
// fills from now on.
func (l *limiter) move(now, full time.Time) (moved time.Time, after time.Duration) {
	most := now.Add(time.Duration(l.rate.Burst) * l.interval)
	switch {
	case full.Before(now):
		full = now
	case full.After(most):
		full = most
	}
	if moved = full.Add(l.interval); moved.After(most) {
		return full, moved.Sub(most)
	}
	return moved, 0
}

func moment(t time.Time) []byte { return strconv.AppendInt(nil, t.UnixNano(), 10) }

// key returns the key in the store. It is a hash, which hides the caller and has a fixed length.
func (l *limiter) key(what, who string, n int) string {
	sum := sha256.Sum256([]byte(what + "/" + strconv.Itoa(n) + "/" + strconv.Itoa(len(l.rate.Name)) + ":" + l.rate.Name + who))
	return "rate/" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// awayPause is how long a store is not used after a failure. Without the pause, each call would
// wait until the store fails again.
const awayPause = time.Second

// paused reports whether the store has failed and must not be used yet.
func (l *limiter) paused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.away)
}

// asks reports whether to use the store. After a failure it returns true for one call at a time, which
// finds out whether the store answers again. heard ends its attempt.
func (l *limiter) asks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.away) {
		return false
	}
	if !l.away.IsZero() {
		l.away = now.Add(patience)
	}
	return true
}

// patience is how long a call waits for the store. It is longer than Redis takes to fail.
const patience = 2 * awayPause

// patient returns the context to use the store with. It does not end with the call: if the call has
// a shorter limit, or its client gives up, the error would show nothing about the store.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// heard records, from the error of a call to the store, whether the store answers. A store that is
// full or has an unusable bucket does answer.
func (l *limiter) heard(ctx context.Context, err error) {
	there := err == nil || errors.Is(err, errContended) || errors.Is(err, errUnreadable) || errors.Is(err, claim.ErrFull)
	l.mu.Lock()
	if l.away = (time.Time{}); !there {
		l.away = time.Now().Add(awayPause)
	}
	l.mu.Unlock()
	if err != nil {
		l.warn(ctx, err)
	}
}

func (l *limiter) warn(ctx context.Context, err error) {
	l.mu.Lock()
	now := time.Now() // keeps the monotonic reading, so that a clock that is set back does not hide failures
	due := l.warned.IsZero() || now.Sub(l.warned) >= warnInterval
	if due {
		l.warned = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	framework.ServerFrom(ctx).Logger().Warn("the store of a rate limit failed: this process counts alone",
		zap.String("limit", l.rate.Name), zap.Error(err))
}

// turns make the calls of one caller change its bucket one after the other. If they changed it at
// the same time, all but one would fail and try again, each with two round trips. If a call is
// refused, the calls that wait behind it are refused also, without using the store.
//
// enter creates the turn of a bucket or joins it, and waits in its bulkhead. leave wakes the next
// call. The last user removes the turn from byKey. mu is not held during the wait.
type turns struct {
	mu    sync.Mutex // guards byKey and the users field of each turn
	byKey map[string]*turn
}

// turn serializes the calls for one bucket. It exists while calls use it or wait for it.
type turn struct {
	bulkhead

	users int
	empty time.Time // the bucket is empty until then; only the call that entered the bulkhead uses it
}

func (t *turns) enter(ctx context.Context, key string) (*turn, error) {
	t.mu.Lock()
	b := t.byKey[key]
	if b == nil {
		if t.byKey == nil {
			t.byKey = make(map[string]*turn)
		}
		b = &turn{bulkhead: bulkhead{free: 1, room: math.MaxInt}}
		t.byKey[key] = b
	}
	b.users++
	t.mu.Unlock()
	if err := b.enter(ctx); err != nil {
		t.forget(key, b)
		return nil, err
	}
	return b, nil
}

func (t *turns) leave(key string, b *turn) {
	b.leave()
	t.forget(key, b)
}

// forget removes one user of a bucket's turn, and the turn after its last user.
func (t *turns) forget(key string, b *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(t.byKey, key)
	}
}
