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

// maxSwaps bounds the attempts to change a bucket that others change at the same time. Each
// failed attempt is an event that another call has taken.
const maxSwaps = 64

var (
	errContended  = errors.New("the bucket was changed by others too often")
	errUnreadable = errors.New("the bucket is unreadable")
	errAway       = errors.New("the store has failed just now")
)

// takeShared waits for its turn. If it returns an error, this process counts alone.
func (l *limiter) takeShared(ctx context.Context, store claim.Store, who caller) (after time.Duration, ok bool, err error) {
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
	after, ok, err = l.takeAt(ctx, store, key)
	if l.heard(ctx, err); err == nil && !ok {
		mine.empty = began.Add(after)
	}
	return after, ok, err
}

// takeAt changes a bucket in a store by the generic cell rate algorithm. The bucket is one
// number: the moment when it will be full again. An event moves that by an interval, but not
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

// move is when the bucket will be full after one more event, or, if there is no room for it,
// how long until there is. A moment later than any event can have set comes from a clock that
// was wrong: the bucket counts as empty then, and fills from now on.
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

// key is a hash: it hides the caller, and has one length.
func (l *limiter) key(what, who string, n int) string {
	sum := sha256.Sum256([]byte(what + "/" + strconv.Itoa(n) + "/" + strconv.Itoa(len(l.rate.Name)) + ":" + l.rate.Name + who))
	return "rate/" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// awayPause is how long a store that has failed is not asked, since each call would wait until
// it fails again.
const awayPause = time.Second

// asks says whether to ask the store. After a failure only one call in each awayPause does, to
// find out whether it answers again.
func (l *limiter) asks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.IsZero() {
		return true
	}
	now := time.Now()
	if now.Before(l.away) {
		return false
	}
	l.away = now.Add(awayPause)
	return true
}

// heard remembers whether the store answers. It does, too, if it has no room for a new bucket
// or has an unusable one. A call whose context has ended learns nothing.
func (l *limiter) heard(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
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
	last, now := l.warned.Load(), time.Now().UnixNano()
	if now-last < int64(warnInterval) || !l.warned.CompareAndSwap(last, now) {
		return
	}
	framework.ServerFrom(ctx).Logger().Warn("the store of a rate limit failed: this process counts alone",
		zap.String("limit", l.rate.Name), zap.Error(err))
}

// turns let the calls of one caller change its bucket one after the other. At the same time all
// but one of them would fail and try again, each with two round trips. When one is refused, so
// are those that wait behind it.
type turns struct {
	mu    sync.Mutex // guards byKey, and users of each turn
	byKey map[string]*turn
}

// turn is that of one bucket, as long as calls use it or wait for it.
type turn struct {
	bulkhead

	users int
	empty time.Time // the bucket is empty until then; guarded by having the turn
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

// forget drops a bucket's turn when nobody uses it.
func (t *turns) forget(key string, b *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(t.byKey, key)
	}
}
