package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
)

// maxSwaps bounds the attempts at a value that others change at the same time. Each that
// is lost is an event that another has had.
const maxSwaps = 64

var (
	errContended  = errors.New("the bucket was changed by others too often")
	errUnreadable = errors.New("the bucket is unreadable")
)

// takeShared is a bucket as one number in a store, the generic cell rate algorithm: the
// moment at which the bucket will be full again. An event moves it by an interval, and
// must not move it beyond Burst intervals from now.
func (l *limiter) takeShared(ctx context.Context, store claim.Store, who caller) (after time.Duration, ok bool, err error) {
	key := l.key("bucket", string(who.kind)+strconv.Itoa(len(who.a))+":"+who.a+who.b, 0)
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
		if after > 0 {
			return after, false, nil
		}
		swapped, err := store.Swap(ctx, key, held, moment(full), full.Sub(now)+time.Millisecond)
		if err != nil || swapped {
			return 0, err == nil, err
		}
	}
	return 0, false, errContended
}

// move is when the bucket is full after one event more, or how long until there is room
// for it. A moment beyond what any event can have set is of a clock that is wrong.
func (l *limiter) move(now, full time.Time) (moved time.Time, after time.Duration) {
	most := time.Duration(l.rate.Burst) * l.interval
	if full.Before(now) {
		full = now
	}
	if full.Sub(now) > most {
		full = now.Add(most)
	}
	moved = full.Add(l.interval)
	return moved, moved.Sub(now) - most
}

func moment(t time.Time) []byte { return strconv.AppendInt(nil, t.UnixNano(), 10) }

// key hides who it is, and is of one length.
func (l *limiter) key(what, who string, n int) string {
	sum := sha256.Sum256([]byte(what + "/" + strconv.Itoa(n) + "/" + strconv.Itoa(len(l.rate.Name)) + ":" + l.rate.Name + who))
	return "rate/" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
