package roundstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// A round may be sent again unchanged: by a client that lost the answer, by a proxy, or by two users
// of one state. The first execution claims the state. The same answers then get its outcome, and
// other answers are refused (2026-07-28 basic/patterns/mrtr: the server must prevent what must not
// happen twice).
//
// The value of the claim is a mark, the digest of the answers, and the outcome. The mark is
// markRunning while an execution has the lease. Settle replaces it by one of the other marks, or
// deletes the claim.
const (
	markRunning = 'r'
	markResult  = 'R'
	markError   = 'E'
	markLarge   = 'L' // the result is not recorded, because it was too large or the store was full
)

// maxOutcome bounds a recorded outcome, in bytes, because the store is shared.
const maxOutcome = 64 << 10

const (
	leaseLife  = 30 * time.Second // of the lease of an execution, which renews it
	leaseRenew = leaseLife / 3
	joinPause  = 50 * time.Millisecond  // between two checks of an execution elsewhere
	storePause = 250 * time.Millisecond // before the second attempt to record an outcome; doubled for each
)

// Claim is the claim of one execution. timer renews the lease; keep sets it and stop clears it, under
// mu.
//
// The execution owns the claim until Settle, which is called once. While the timer is set, or its
// function (renew) runs, renewing counts it, and stop waits for that. So the store is not used after
// stop. mu is not held while the store is used. If the process dies, the lease expires after leaseLife,
// and another execution may claim the state.
type Claim struct {
	s      *Store
	key    string
	lease  []byte
	digest [32]byte

	mu       sync.Mutex  // guards timer
	timer    *time.Timer // nil after stop
	renewing sync.WaitGroup
}

// Outcome is the outcome of an execution. As an error, it is the recorded outcome of an earlier
// execution.
type Outcome struct {
	Result []byte
	Fault  *jsonrpc.Error // nil: the execution has a result
}

// Error returns a text that no client sees.
func (o *Outcome) Error() string { return "engine: the outcome of an earlier execution" }

// Claim makes this execution the only execution of its state. If the state was executed before with
// the same answers, Claim returns the outcome as *Outcome. For other answers it returns a fault. While
// another execution runs, it waits. If there is no claim store or it is full, the round runs without
// a claim, and Claim returns nil. lasting is a context that does not end with the request.
func (s *Store) Claim(ctx, lasting context.Context, state string, answers map[string]json.RawMessage) (*Claim, error) {
	if s.cfg.Claims == nil {
		return nil, nil
	}
	sum := sha256.Sum256([]byte(state))
	r := &Claim{s: s, key: "round/" + base64.RawURLEncoding.EncodeToString(sum[:]), digest: digestOf(answers)}
	r.lease = append(append([]byte{markRunning}, r.digest[:]...), rand.Text()...)
	for {
		held, mine, err := s.cfg.Claims.Claim(ctx, r.key, r.lease, leaseLife)
		switch {
		case errors.Is(err, claim.ErrFull):
			return nil, nil // as without a store: a round that is sent again runs again
		case ctx.Err() != nil && err != nil:
			return nil, err
		case err != nil:
			return nil, storeerror.New("claiming a round", err)
		case mine:
			r.keep(lasting)
			return r, nil
		case len(held) <= len(r.digest) || !bytes.Equal(held[1:1+len(r.digest)], r.digest[:]):
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "this requestState was answered before, with other inputResponses")
		case held[0] == markLarge:
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "this requestState was answered before, and its result was not kept: it is too large, or there was no room")
		case held[0] != markRunning:
			return nil, outcomeOf(held[0], held[1+len(r.digest):])
		}
		if err := wait.Pause(ctx, joinPause); err != nil {
			return nil, err
		}
	}
}

func outcomeOf(mark byte, value []byte) error {
	if mark == markResult {
		return &Outcome{Result: value}
	}
	msg, fault := jsonrpc.Decode(value)
	if fault != nil {
		return fmt.Errorf("engine: the recorded outcome is unreadable: %s", fault.Reason)
	}
	return &Outcome{Fault: msg.Error}
}

// digestOf returns a digest of answers that does not depend on their order and spacing.
func digestOf(responses map[string]json.RawMessage) [32]byte {
	var text []byte
	for _, key := range slices.Sorted(maps.Keys(responses)) {
		text = append(append(text, key...), 0)
		text = append(jsontext.Canonical(text, responses[key]), 0)
	}
	return sha256.Sum256(text)
}

// keep renews the lease until stop is called, or another execution has the claim. After an error of
// the store it tries again, because the store may be available before the lease expires. The timer
// runs each renewal in a goroutine of its own.
func (r *Claim) keep(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewing.Add(1)
	r.timer = time.AfterFunc(leaseRenew, func() { r.renew(ctx) })
}

// renew renews the lease once, and sets the timer for the next time.
func (r *Claim) renew(ctx context.Context) {
	defer r.renewing.Done()
	held, err := r.s.cfg.Claims.Swap(ctx, r.key, r.lease, r.lease, leaseLife)
	r.mu.Lock()
	defer r.mu.Unlock()
	if (held || err != nil) && r.timer != nil {
		r.renewing.Add(1)
		r.timer.Reset(leaseRenew)
	}
}

// stop ends the renewal, and waits for one that is running.
func (r *Claim) stop() {
	r.mu.Lock()
	if r.timer.Stop() {
		r.renewing.Done()
	}
	r.timer = nil
	r.mu.Unlock()
	r.renewing.Wait()
}

// Settle records the outcome. If outcome is nil, it releases the claim for another attempt. If the
// store is unavailable, a goroutine keeps trying, so that the answer does not have to wait. Meanwhile
// the claim is held, and a request that is sent again waits for it. lasting is as in Store.Claim.
func (r *Claim) Settle(ctx, lasting context.Context, outcome *Outcome) error {
	write := r.writer(outcome)
	held, err := write(context.WithoutCancel(ctx))
	if err != nil && r.s.cfg.Running.Go(func() {
		if err := r.s.insist(lasting, write); err != nil {
			r.s.cfg.Failed(lasting, fmt.Errorf("engine: recording the outcome of a round: %w", err))
		}
		r.stop()
	}) {
		return nil
	}
	r.stop()
	if err == nil && !held {
		return errors.New("engine: the lease of a round was lost while it ran")
	}
	return err
}

// writer returns a function that records the outcome, and may be called again after an error. held
// reports whether this execution still had the claim. After an error that is not certain: the attempt
// may have succeeded, and only the response of the store was lost.
func (r *Claim) writer(outcome *Outcome) func(context.Context) (held bool, err error) {
	store, key, lease, life := r.s.cfg.Claims, r.key, r.lease, r.s.cfg.TTL
	if outcome == nil {
		return func(ctx context.Context) (bool, error) { return true, store.Delete(ctx, key, lease) }
	}
	mark, text := byte(markResult), outcome.Result
	if outcome.Fault != nil {
		mark, text = markError, jsonrpc.AppendError(nil, jsonrpc.ID{}, outcome.Fault, false)
	}
	if len(text) > maxOutcome {
		mark, text = markLarge, nil
	}
	value := append(append([]byte{mark}, r.digest[:]...), text...)
	return func(ctx context.Context) (bool, error) {
		held, err := store.Swap(ctx, key, lease, value, life)
		if !errors.Is(err, claim.ErrFull) {
			return held, err
		}
		// The mark and the digest take less room than the lease.
		return store.Swap(ctx, key, lease, append([]byte{markLarge}, r.digest[:]...), life)
	}
}

// insist calls write again until it succeeds, as long as the lease may be held and the engine is not
// closing.
func (s *Store) insist(ctx context.Context, write func(context.Context) (held bool, err error)) (err error) {
	begun := time.Now()
	for delay := storePause; time.Since(begun) < leaseLife; delay *= 2 {
		s.cfg.Running.Pause(delay)
		if _, err = write(ctx); err == nil || s.cfg.Running.Closed() {
			break
		}
	}
	return err
}
