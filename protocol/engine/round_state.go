package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

const (
	// maxCarried bounds a journal that the client carries. If the nodes share a store, a journal
	// larger than spillAt is stored there, and maxSpilled is its limit.
	maxCarried = 64 << 10
	spillAt    = 8 << 10
	maxSpilled = 1 << 20
)

const (
	defaultStateTTL  = time.Hour
	defaultMaxRounds = 32
)

// spilled is the first byte of a state that contains only the name of a journal in the store. A
// journal never begins with it, but with its version, a small number.
const spilled = 0xff

// states returns the default of Config.States: a sealer with a random secret.
func states() *rounds.Sealer {
	s, _ := rounds.NewSealer(rounds.RandomSecret()) // cannot fail: the secret has the right length
	return s
}

// stateLimit returns the limit of a call's journal, in bytes.
func (e *Engine) stateLimit() int {
	if e.sharesClaims() {
		return maxSpilled
	}
	return maxCarried
}

// sharesClaims reports whether the nodes that open states have the same store of claims.
func (e *Engine) sharesClaims() bool { return e.cfg.Claims != nil && e.cfg.SharedClaims }

// sealState returns the state that the client carries: the encrypted journal or, if it is large and
// there is a shared store, the encrypted name of the stored journal.
func (e *Engine) sealState(ctx context.Context, j *rounds.Journal, binding []byte) (string, error) {
	plain := j.Append(nil)
	if limit := e.stateLimit(); len(plain) > limit {
		if answers := answerBytes(j); answers > limit/2 {
			return "", protocol.Faultf(protocol.FaultInvalidParams,
				"the answers in inputResponses have %d bytes, and at most %d are kept between the rounds of a call: answer with less", answers, limit/2)
		}
		return "", fmt.Errorf("engine: the journal of the call has %d bytes, at most %d are kept", len(plain), limit)
	}
	if e.sharesClaims() && len(plain) > spillAt {
		name := "state/" + rand.Text()
		if _, mine, err := e.cfg.Claims.Claim(ctx, name, plain, e.cfg.StateTTL); err != nil || !mine {
			return "", storeerror.New("keeping the journal of a call", err)
		}
		plain = append([]byte{spilled}, name...)
	}
	return e.cfg.States.Seal(plain, binding), nil
}

// answerBytes returns the size of the answers in a journal, which the client chose.
func answerBytes(j *rounds.Journal) (bytes int) {
	for _, a := range j.Answers {
		bytes += len(a.Value)
	}
	return bytes
}

// openState reverses sealState. It returns a fault for the client if the state is invalid or expired.
func (e *Engine) openState(ctx context.Context, state string, binding []byte) (*rounds.Journal, error) {
	invalid := protocol.Faultf(protocol.FaultInvalidParams, "the requestState is not valid for this request")
	expired := protocol.Faultf(protocol.FaultInvalidParams, "the requestState has expired: start again without it")
	plain, err := e.cfg.States.Open(state, binding)
	if err != nil {
		return nil, invalid
	}
	if len(plain) > 0 && plain[0] == spilled && e.cfg.Claims != nil {
		plain, err = e.cfg.Claims.Get(ctx, string(plain[1:]))
		if errors.Is(err, claim.ErrNotFound) {
			return nil, expired
		}
		if err != nil {
			return nil, storeerror.New("reading the journal of a call", err)
		}
	}
	j, err := rounds.Parse(plain)
	if err != nil {
		return nil, invalid
	}
	if e.cfg.Now().After(j.Expires) {
		return nil, expired
	}
	return j, nil
}
