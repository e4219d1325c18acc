package roundstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

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

// spilled is the first byte of a state that contains only the name of a journal in the store. A
// journal never begins with it, but with its version, a small number.
const spilled = 0xff

// Seal returns the state that the client carries: the encrypted journal or, if it is large and
// there is a shared store, the encrypted name of the stored journal. Seal sets the time when the journal
// expires.
func (s *Store) Seal(ctx context.Context, j *rounds.Journal, binding []byte) (string, error) {
	j.Expires = s.cfg.Now().Add(s.cfg.TTL)
	plain := j.Append(nil)
	if limit := s.Limit(); len(plain) > limit {
		if answers := answerBytes(j); answers > limit/2 {
			return "", protocol.Faultf(protocol.FaultInvalidParams,
				"the call would keep %d bytes between its rounds, %d of them answers in inputResponses, and at most %d are kept: answer with less", len(plain), answers, limit)
		}
		return "", fmt.Errorf("engine: the journal of the call has %d bytes, at most %d are allowed", len(plain), limit)
	}
	if s.Shares() && len(plain) > spillAt {
		name := "state/" + rand.Text()
		if _, mine, err := s.cfg.Claims.Claim(ctx, name, plain, s.cfg.TTL); err != nil || !mine {
			return "", storeerror.New("keeping the journal of a call", err)
		}
		plain = append([]byte{spilled}, name...)
	}
	return s.sealer.Seal(plain, binding), nil
}

// answerBytes returns the size of the answers in a journal, which the client chose.
func answerBytes(j *rounds.Journal) (bytes int) {
	for _, a := range j.Answers {
		bytes += len(a.Value)
	}
	return bytes
}

// Open reverses Seal. If the state is invalid or expired, it returns a fault for the client. It
// also returns a fault if a newer version of the program has sealed the state. Another node may
// then be able to open it.
func (s *Store) Open(ctx context.Context, state string, binding []byte) (*rounds.Journal, error) {
	invalid := protocol.Faultf(protocol.FaultInvalidParams, "the requestState is not valid for this request")
	expired := protocol.Faultf(protocol.FaultInvalidParams, "the requestState has expired: start again without it")
	plain, err := s.sealer.Open(state, binding)
	if err != nil {
		return nil, invalid
	}
	if len(plain) > 0 && plain[0] == spilled && s.cfg.Claims != nil {
		plain, err = s.cfg.Claims.Get(ctx, string(plain[1:]))
		if errors.Is(err, claim.ErrNotFound) {
			return nil, expired
		}
		if err != nil {
			return nil, storeerror.New("reading the journal of a call", err)
		}
	}
	j, err := rounds.Parse(plain)
	if err != nil {
		return nil, protocol.Faultf(protocol.FaultInternal, "a newer version of the server has asked these questions: try again")
	}
	if s.cfg.Now().After(j.Expires) {
		return nil, expired
	}
	return j, nil
}
