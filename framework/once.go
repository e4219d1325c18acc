package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// OnceOption configures Once. Sealed.
type OnceOption interface{ onceOption() }

type onceOption func(*onceSettings)

func (onceOption) onceOption() {}

type onceSettings struct{ atMostOnce bool }

// AtMostOnce ends with ErrUncertain if the effect may already have happened: an earlier
// execution began it and no result is known, or it returned an error, which does not tell
// whether it happened. That it was begun is remembered for 24 hours by the process that
// began it, as long as that lives: after a restart, or in another process, the effect may
// happen again. Processes that share a store remember it together (see [Store]). Inside the
// effect the client cannot be asked: the question would repeat what came before it.
func AtMostOnce() OnceOption { return onceOption(func(s *onceSettings) { s.atMostOnce = true }) }

// Once runs effect once per logical call and journals its result; after a crash in between
// it runs again with the same IdempotencyKey. A failed effect is not journaled. While a
// question is pending, no effect begins: the error is ErrPending. When effect returns, what
// it did must be final: what is rolled back later, as by a transaction of middleware, would
// be lost, since it is not done again.
//
// If the client is asked in rounds, the journal holds 64 KiB, or 1 MiB with a shared store,
// for answers and results of effects together; an effect whose result does not fit has
// happened, and Once returns an error. A task keeps 4 MiB, and fails with more. Elsewhere
// there is no bound.
//
// T must survive encoding/json, even if nothing is replayed: the result returned is the one
// read back. Effects without a result return struct{}. The key must differ from that of any
// other effect of the call, and must be neither empty nor contain NUL; effects of a tool
// that a model calls, and effects inside an effect (by its context), have a namespace of
// their own. If several goroutines come with the same key, the first runs the effect and
// the others wait for its result. Outside a handler the effect just runs.
func Once[T any](ctx context.Context, key string, effect func(context.Context) (T, error), opts ...OnceOption) (T, error) {
	var value T
	if key == "" || strings.Contains(key, reserved) {
		return value, errors.New("once: an effect needs a key, without the character NUL")
	}
	if effect == nil {
		return value, fmt.Errorf("once %q: the effect is nil", key)
	}
	var s onceSettings
	for _, o := range opts {
		if opt, ok := o.(onceOption); ok {
			opt(&s)
		}
	}
	raw, err := once(ctx, key, s, func(ctx context.Context) ([]byte, error) {
		value, err := effect(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("once %q: the result has no JSON form: %w", key, err)
		}
		return raw, nil
	})
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, fmt.Errorf("once %q: reading its result: %w", key, err)
	}
	return value, nil
}

// effect does what must happen once, and returns its result as JSON.
type effect = func(context.Context) ([]byte, error)

func once(ctx context.Context, key string, s onceSettings, do effect) ([]byte, error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return do(ctx)
	}
	full := h.fullKey(distinct(key))
	if mark := h.pageMark(); mark != "" {
		return h.onceSeen(ctx, full, effectlog.Effect{Mark: mark, Round: h.call.Round, Key: key}, h.performing(full, s, do))
	}
	return h.call.Once(ctx, full, h.performing(full, s, do))
}

// performing returns the effect with its own context.
func (h *handling) performing(full string, s onceSettings, do effect) effect {
	return func(ctx context.Context) ([]byte, error) {
		inside := h.within(ctx, full)
		inside.inner.effect = h.call.ID() + "/" + full
		if !s.atMostOnce {
			return do(inside)
		}
		inside.inner.muted = true
		return h.server.atMostOnce(inside, do)
	}
}

// pageMark returns the mark of a call of the page in this process, or "".
func (h *handling) pageMark() string {
	if !effectlog.Watched() {
		return ""
	}
	raw, _ := jsontext.Member(h.call.Meta.Raw, effectlog.Mark)
	mark, _ := jsontext.String(raw)
	return mark
}

// onceSeen is Once of the engine, and tells the page what became of the effect.
func (h *handling) onceSeen(ctx context.Context, full string, seen effectlog.Effect, do effect) ([]byte, error) {
	seen.How = effectlog.Journal
	began := time.Now()
	raw, err := h.call.Once(ctx, full, func(ctx context.Context) ([]byte, error) {
		seen.How = effectlog.Ran
		return do(ctx)
	})
	seen.Took = time.Since(began)
	switch {
	case errors.Is(err, ErrPending):
		return raw, err
	case errors.Is(err, ErrUncertain):
		seen.How = effectlog.Uncertain
	case err != nil:
		seen.How = effectlog.Failed
	}
	effectlog.Tell(seen)
	return raw, err
}

// distinct is the key as a part of a full key, whose parts are separated by slashes. A key that
// has slashes is written with its length: otherwise "a/b" would be the same as "b" inside of
// "a".
func distinct(key string) string {
	if !strings.Contains(key, "/") {
		return key
	}
	return "/" + strconv.Itoa(len(key)) + ":" + key
}

// IdempotencyKey is the key of the running Once effect; "" outside. It is the same whenever
// the effect runs again, and no other effect has it.
func IdempotencyKey(ctx context.Context) string {
	if h := handlingFrom(ctx); h != nil && h.inner != nil {
		return h.inner.effect
	}
	return ""
}

// onceLife is how long it is remembered that an AtMostOnce effect was begun.
const onceLife = 24 * time.Hour

// The value of a claim: a mark; after markDone follows the result.
const (
	markBegun = 'b'
	markDone  = 'd'
)

// atMostOnce records that the effect begins, runs it, and records its result. A repetition
// finds the result, or learns that the effect was begun and may have happened.
func (s *Server) atMostOnce(h *handling, do effect) ([]byte, error) {
	claim := "once/" + h.inner.effect
	begun := []byte{markBegun}
	held, mine, err := s.claims.Claim(h, claim, begun, onceLife)
	switch {
	case err != nil:
		return nil, fmt.Errorf("recording that an effect begins: %w", err)
	case !mine && len(held) > 1 && held[0] == markDone:
		return held[1:], nil
	case !mine:
		return nil, ErrUncertain
	}
	raw, err := do(h)
	if err != nil {
		return nil, err
	}
	done := append([]byte{markDone}, raw...)
	swapped, err := s.claims.Swap(context.WithoutCancel(h), claim, begun, done, onceLife)
	if err == nil && !swapped {
		err = errors.New("the record is gone")
	}
	if err != nil { // the effect has happened, and its result is in memory
		s.cfg.logger.Warn("the result of an effect was not recorded: a repetition of the call will not know it",
			zap.String("effect", h.inner.effect), zap.Error(err))
	}
	return raw, nil
}
