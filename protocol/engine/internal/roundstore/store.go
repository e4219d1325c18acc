package roundstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// Config configures a Store. Its fields have the meaning of the fields of engine.Config that they are
// set from. Only Claims and Sealer may be nil.
type Config struct {
	Sealer *rounds.Sealer // nil: a random secret
	Claims claim.Store    // nil: nothing is claimed
	Shared bool           // every process that has the secret also has Claims
	TTL    time.Duration
	Now    func() time.Time

	Running *wait.Group                          // counts the goroutines that record outcomes
	Failed  func(ctx context.Context, err error) // reports errors after the request has ended
}

// Store seals states and claims them. It is safe for concurrent use after Agree.
type Store struct {
	cfg    Config
	sealer *rounds.Sealer
	agrees bool   // Agree makes the nodes agree on the secret
	secret []byte // the secret that Keep stores; nil: none
}

// New returns a store.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, sealer: cfg.Sealer}
	if s.sealer == nil {
		s.agrees = s.Shares()
		s.sealer, _ = rounds.NewSealer(rounds.RandomSecret()) // cannot fail: the secret has the right length
	}
	return s
}

// Shares reports whether the nodes that open states have the same store of claims.
func (s *Store) Shares() bool { return s.cfg.Claims != nil && s.cfg.Shared }

// Sealer returns the sealer of the states, for other texts that clients carry.
func (s *Store) Sealer() *rounds.Sealer { return s.sealer }

// Limit returns the limit of a call's journal, in bytes.
func (s *Store) Limit() int {
	if s.Shares() {
		return maxSpilled
	}
	return maxCarried
}

const (
	secretKey  = "secret/states"
	secretLife = 400 * 24 * time.Hour // after the last start of a node
)

// Agree makes nodes that share claims use the same secret for states, so that they can open each
// other's states. Call it once, before the first request. If the program has set a sealer, Agree does
// nothing.
func (s *Store) Agree(ctx context.Context) error {
	if !s.agrees {
		return nil
	}
	secret, err := s.claimSecret(ctx, rounds.RandomSecret())
	if err != nil {
		return err
	}
	sealer, err := rounds.NewSealer(secret)
	if err != nil {
		return fmt.Errorf("engine: the secret of states: %w", err)
	}
	s.sealer, s.secret = sealer, secret
	return nil
}

// Keep stores the secret of Agree again if the store has lost its data, so that nodes which start later
// use it, too. If another node has stored another secret meanwhile, Keep reports that once. Keep is
// called by one goroutine, after Agree.
func (s *Store) Keep(ctx context.Context) error {
	if s.secret == nil {
		return nil
	}
	held, mine, err := s.cfg.Claims.Claim(ctx, secretKey, s.secret, secretLife) // a full store refuses Swap
	if err != nil {
		return err
	}
	if !mine && !bytes.Equal(held, s.secret) {
		s.secret = nil
		s.cfg.Failed(ctx, errors.New("engine: the store has lost the secret of states, and another process has set a new one: restart all processes, or set WithStateSecrets"))
	}
	return nil
}

// claimSecret stores the secret if the store has none, and returns the secret that is stored.
func (s *Store) claimSecret(ctx context.Context, secret []byte) ([]byte, error) {
	held, mine, err := s.cfg.Claims.Claim(ctx, secretKey, secret, secretLife)
	if err == nil && !mine {
		secret = held
		_, err = s.cfg.Claims.Swap(ctx, secretKey, held, held, secretLife)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: the secret of states: %w", err)
	}
	return secret, nil
}
