package engine

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
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/dialect"
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
// markRunning while an execution has the lease. settle replaces it by one of the other marks, or
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
	joinPause  = 50 * time.Millisecond // between two checks of an execution elsewhere
)

// record is the claim of one execution. timer renews the lease; keep sets it and stop clears it,
// under mu.
type record struct {
	x      *exchange
	key    string
	lease  []byte
	digest [32]byte

	mu    sync.Mutex // guards timer
	timer *time.Timer
}

// outcomeError is the recorded outcome of an earlier execution, as an error for exchange.answer.
type outcomeError struct {
	result []byte
	fault  *jsonrpc.Error
}

func (o *outcomeError) Error() string { return "engine: the outcome of an earlier execution" }

// claimRound makes this execution the only execution of its state. If the state was executed before
// with the same answers, claimRound returns the outcome as *outcomeError. For other answers it
// returns a fault. While another execution runs, it waits. If there is no claim store or it is full,
// the round runs without a claim.
func (x *exchange) claimRound(ctx context.Context, in *protocol.Inputs) error {
	claims := x.conn.e.cfg.Claims
	if claims == nil || in.State == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(*in.State))
	r := &record{x: x, key: "round/" + base64.RawURLEncoding.EncodeToString(sum[:]), digest: digestOf(in.Responses)}
	r.lease = append(append([]byte{markRunning}, r.digest[:]...), rand.Text()...)
	for {
		held, mine, err := claims.Claim(ctx, r.key, r.lease, leaseLife)
		switch {
		case errors.Is(err, claim.ErrFull):
			return nil // as without a store: a round that is sent again runs again
		case ctx.Err() != nil && err != nil:
			return err
		case err != nil:
			return storeerror.New("claiming a round", err)
		case mine:
			r.keep(ctx)
			x.record = r
			return nil
		case len(held) <= len(r.digest) || !bytes.Equal(held[1:1+len(r.digest)], r.digest[:]):
			return protocol.Faultf(protocol.FaultInvalidParams, "this requestState was answered before, with other inputResponses")
		case held[0] == markLarge:
			return protocol.Faultf(protocol.FaultInvalidParams, "this requestState was answered before, and its result was not kept: it is too large, or there was no room")
		case held[0] != markRunning:
			return outcomeOf(held[0], held[1+len(r.digest):])
		}
		if err := wait.Pause(ctx, joinPause); err != nil {
			return err
		}
	}
}

// unable returns a fault if the recorded result asks for something that this client has not declared.
// The client of the original request had declared it (2026-07-28 basic/patterns/mrtr: MUST NOT ask
// for it). If the result asks nothing, or the client can be asked, unable returns nil.
func (c *Call) unable(result []byte) error {
	decoded, _ := c.Dialect.DecodeResult(c.Params.Method(), result) // cannot fail: the engine has encoded it
	required, asks := decoded.(*protocol.InputRequiredResult)
	if !asks {
		return nil
	}
	var missing protocol.ClientCapabilities
	able := true
	for _, q := range required.Requests {
		if c.canAsk(q.Params) {
			continue
		}
		able = false
		switch p := q.Params.(type) {
		case *protocol.ElicitParams:
			missing.Elicitation, missing.ElicitURL = missing.Elicitation || p.URL == "", missing.ElicitURL || p.URL != ""
		case *protocol.CreateMessageParams:
			missing.Sampling, missing.SamplingTool = true, missing.SamplingTool || len(p.Tools) > 0
		case *protocol.ListRootsParams:
			missing.Roots = true
		}
	}
	if able {
		return nil
	}
	return &protocol.Fault{
		Kind: protocol.FaultMissingCapability, Message: "this client cannot be asked what the call asks", Required: &missing,
	}
}

func outcomeOf(mark byte, value []byte) error {
	if mark == markResult {
		return &outcomeError{result: value}
	}
	msg, fault := jsonrpc.Decode(value)
	if fault != nil {
		return fmt.Errorf("engine: the recorded outcome is unreadable: %s", fault.Reason)
	}
	return &outcomeError{fault: msg.Error}
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
func (r *record) keep(ctx context.Context) {
	ctx = r.after(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(leaseRenew, func() {
		held, err := r.store().Swap(ctx, r.key, r.lease, r.lease, leaseLife)
		r.mu.Lock()
		defer r.mu.Unlock()
		if (held || err != nil) && r.timer != nil {
			r.timer.Reset(leaseRenew)
		}
	})
}

func (r *record) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer.Stop()
	r.timer = nil
}

// after returns a context for work that may continue after the request has been answered.
func (r *record) after(ctx context.Context) context.Context {
	return r.x.outlive(ctx)
}

func (r *record) store() claim.Store { return r.x.conn.e.cfg.Claims }

// settle records the outcome. If outcome is nil, it releases the claim for another attempt. If the
// store is unavailable, a goroutine keeps trying, so that the answer does not have to wait. Meanwhile
// the claim is held, and a request that is sent again waits for it.
func (r *record) settle(ctx context.Context, mark byte, outcome []byte) {
	e, write := r.x.conn.e, r.writer(mark, outcome)
	held, err := write(context.WithoutCancel(ctx))
	switch {
	case err == nil && !held:
		e.failed(ctx, r.x.call, errors.New("engine: the lease of a round was lost while it ran"))
		fallthrough
	case err == nil:
		r.stop()
	case !e.running.Begin():
		r.stop()
		e.failed(ctx, r.x.call, err)
	default:
		ctx = r.after(ctx)
		go func() {
			defer e.running.Done()
			if err := e.insist(ctx, write); err != nil {
				e.failed(ctx, nil, fmt.Errorf("engine: recording the outcome of a round: %w", err))
			}
			r.stop()
		}()
	}
}

// writer returns a function that records the outcome, and may be called again after an error. held
// reports whether this execution still had the claim. After an error that is not certain: the attempt
// may have succeeded, and only the response of the store was lost.
func (r *record) writer(mark byte, outcome []byte) func(context.Context) (held bool, err error) {
	store, key, lease, life := r.store(), r.key, r.lease, r.x.conn.e.cfg.StateTTL
	if outcome == nil {
		return func(ctx context.Context) (bool, error) { return true, store.Delete(ctx, key, lease) }
	}
	if len(outcome) > maxOutcome {
		mark, outcome = markLarge, nil
	}
	value := append(append([]byte{mark}, r.digest[:]...), outcome...)
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
func (e *Engine) insist(ctx context.Context, write func(context.Context) (held bool, err error)) (err error) {
	begun := time.Now()
	for wait := storePause; time.Since(begun) < leaseLife; wait *= 2 {
		e.running.Pause(wait)
		if _, err = write(ctx); err == nil || e.running.Closed() {
			break
		}
	}
	return err
}

// settled records the answer of the exchange. It does not record an answer that another execution
// might not give: of a cancelled call, an internal error, a busy server (429 and 503), or a client
// without a capability.
func (x *exchange) settled(ctx context.Context, result []byte, wire *jsonrpc.Error) {
	r := x.record
	if r == nil {
		return
	}
	x.record = nil
	switch {
	case result != nil:
		r.settle(ctx, markResult, result)
	case wire.Code != jsonrpc.CodeInternal && wire.Code != http.StatusServiceUnavailable && dialect.HTTPStatus(wire.Code) == http.StatusOK:
		text := jsonrpc.AppendError(nil, jsonrpc.ID{}, wire, false)
		r.settle(ctx, markError, text)
	default:
		r.settle(ctx, 0, nil)
	}
}
