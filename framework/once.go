package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// OnceOption configures Once. Other packages cannot implement it.
type OnceOption interface{ onceOption() }

// atMostOnceOption is the only OnceOption.
type atMostOnceOption struct{}

func (atMostOnceOption) onceOption() {}

// AtMostOnce makes Once return ErrUncertain if the effect may already have happened. That is so if
// an earlier execution began it and no result is known. An error does not say whether the effect
// happened, so an effect that returned an error also counts as begun.
//
// The process that began the effect remembers that for 24 hours. After a restart, or in another
// process, the effect may happen again. Processes that share a store with claims remember it
// together (see [Store]). The effect must not ask the client, because the question would repeat
// everything before it.
func AtMostOnce() OnceOption { return atMostOnceOption{} }

// Once runs effect once per logical call and journals its result. After a crash in between, it runs
// effect again with the same IdempotencyKey. A failed effect is not journaled. While a question is
// pending, Once does not begin an effect and returns ErrPending. When effect returns, its changes
// must be final. If middleware rolls them back later, as with a transaction, they are lost, because
// the effect does not run again.
//
// If the client is asked in rounds, the journal holds 64 KiB for answers and results of effects
// together; with a shared store, 1 MiB. If a result does not fit, Once returns an error, although
// the effect has happened. A task keeps 4 MiB, and fails with more. Other calls do not have a
// limit.
//
// T must survive encoding/json, because Once always returns the result as decoded from its JSON.
// Effects without a result return struct{}.
//
// The key must differ from the keys of all other effects of the call. It must not be empty or
// contain NUL. Effects of a tool that a model calls have their own namespace. So do effects inside
// an effect, if they use its context. If several goroutines use the same key, the first runs the
// effect and the others wait for its result. Outside a handler, Once only runs the effect.
func Once[T any](ctx context.Context, key string, effect func(context.Context) (T, error), opts ...OnceOption) (T, error) {
	var value T
	if key == "" || strings.Contains(key, reserved) {
		return value, errors.New("once: want a key that is not empty and has no NUL")
	}
	if effect == nil {
		return value, fmt.Errorf("once %q: the effect is nil", key)
	}
	raw, err := once(ctx, key, slices.Contains(opts, AtMostOnce()), func(ctx context.Context) ([]byte, error) {
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

// effect runs an effect of Once and returns its result as JSON.
type effect = func(context.Context) ([]byte, error)

func once(ctx context.Context, key string, atMostOnce bool, do effect) ([]byte, error) {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil {
		return do(ctx)
	}
	full := h.fullKey(distinct(key))
	if mark := h.pageMark(); mark != "" {
		return h.onceSeen(ctx, full, effectlog.Effect{Mark: mark, Round: h.call.Round, Key: key}, h.performing(full, atMostOnce, do))
	}
	return h.call.Once(ctx, full, h.performing(full, atMostOnce, do))
}

// performing returns do with the context of an effect, and with the record of AtMostOnce if it is
// wanted.
func (h *callCtx) performing(full string, atMostOnce bool, do effect) effect {
	return func(ctx context.Context) ([]byte, error) {
		inside := h.within(ctx, full)
		inside.inner.effect = h.call.ID() + "/" + full
		if !atMostOnce {
			return do(inside)
		}
		inside.inner.muted = true
		return h.server.atMostOnce(inside, do)
	}
}

// pageMark returns the mark of a call that the inspector page has made in this process, or "".
func (h *callCtx) pageMark() string {
	if !effectlog.Watched() {
		return ""
	}
	raw, _ := jsontext.Member(h.call.Meta.Raw, effectlog.Mark)
	mark, _ := jsontext.String(raw)
	return mark
}

// onceSeen calls the engine's Once, and reports the outcome of the effect to the inspector page.
func (h *callCtx) onceSeen(ctx context.Context, full string, seen effectlog.Effect, do effect) ([]byte, error) {
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

// distinct returns the key as a part of a full key, whose parts are separated by slashes. A key
// that contains slashes is preceded by its length. Otherwise "a/b" would be the same as "b" inside
// "a".
func distinct(key string) string {
	if !strings.Contains(key, "/") {
		return key
	}
	return "/" + strconv.Itoa(len(key)) + ":" + key
}

// IdempotencyKey returns the key of the running Once effect, or "" outside an effect. The key is
// the same if the effect runs again, and different for every other effect.
func IdempotencyKey(ctx context.Context) string {
	if h := callCtxFrom(ctx); h != nil && h.inner != nil {
		return h.inner.effect
	}
	return ""
}

// onceLife is how long the server remembers that an AtMostOnce effect began.
const onceLife = 24 * time.Hour

// The first byte of a claim. After markDone follows the result of the effect.
const (
	markBegun = 'b'
	markDone  = 'd'
)

// atMostOnce claims the effect, runs it, and records its result in the claim. If the claim exists,
// atMostOnce returns the recorded result. If it has no result, the effect may have happened, and
// the error is ErrUncertain.
func (s *Server) atMostOnce(h *callCtx, do effect) ([]byte, error) {
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
		s.cfg.logger.Warn("the result of an effect was not recorded: a repeated call does not find it",
			zap.String("effect", h.inner.effect), zap.Error(err))
	}
	return raw, nil
}
