package boltstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/internal/record"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// sessions is the session.Store. The ID is the key, and the stored record does not contain it.
type sessions struct {
	table   table
	opening string
}

var _ session.Exclusive = (*sessions)(nil)

// Opening returns a random text that stays the same while the store is open.
func (s *sessions) Opening() string { return s.opening }

// sessionKey returns the key of a session. It has a prefix, because an ID may be empty and a key
// may not.
func sessionKey(id string) []byte { return append([]byte{'s'}, id...) }

// Create returns after the session is on the disk.
func (s *sessions) Create(_ context.Context, r session.Record) error {
	if err := errors.Join(checkName("a session id", r.ID), checkName("a principal", r.Principal)); err != nil {
		return err
	}
	key := sessionKey(r.ID)
	r.Version = 1
	return s.table.write(func(rows *rows) error {
		if _, there := rows.find(key); there {
			return fmt.Errorf("boltstore: %w", session.ErrExists)
		}
		return putSession(rows, key, &r)
	})
}

// putSession stores r, without its ID, in a transaction. It changes r.
func putSession(rows *rows, key []byte, r *session.Record) error {
	r.ID = ""
	return rows.put(key, nanos(r.Expires), record.AppendSession(nil, r))
}

// Get reads a committed state.
func (s *sessions) Get(_ context.Context, id string) (r session.Record, err error) {
	err = s.table.file.view(func(t *txn) error {
		r, err = findSession(s.table.in(t), sessionKey(id))
		return err
	})
	if err != nil {
		return session.Record{}, err
	}
	r.ID = id
	return r, nil
}

// findSession returns the session with the key, without its ID. The error is ErrNotFound or
// ErrDamaged.
func findSession(rows *rows, key []byte) (session.Record, error) {
	value, there := rows.find(key)
	if !there {
		return session.Record{}, fmt.Errorf("boltstore: %w", session.ErrNotFound)
	}
	r, err := record.ParseSession(value)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return r, nil
}

// Update returns after the change is on the disk.
func (s *sessions) Update(_ context.Context, r session.Record) error {
	return s.change(r.ID, func(stored *session.Record) error {
		if r.Version != stored.Version {
			return fmt.Errorf("boltstore: %w: version %d, %d is stored", session.ErrConflict, r.Version, stored.Version)
		}
		stored.Version++
		stored.Expires, stored.Data = r.Expires, r.Data
		return nil
	})
}

// Touch returns after the change is on the disk.
func (s *sessions) Touch(_ context.Context, id string, expires time.Time) error {
	return s.change(id, func(stored *session.Record) error {
		stored.Expires = expires
		return nil
	})
}

// change applies how to the stored session in one transaction. how may be called twice, with a
// fresh copy each time; after its error nothing is stored.
func (s *sessions) change(id string, how func(stored *session.Record) error) error {
	key := sessionKey(id)
	return s.table.write(func(rows *rows) error {
		stored, err := findSession(rows, key)
		if err == nil {
			err = how(&stored)
		}
		if err != nil {
			return err
		}
		return putSession(rows, key, &stored)
	})
}

// Delete returns after the deletion is on the disk.
func (s *sessions) Delete(_ context.Context, id string) error {
	key := sessionKey(id)
	return s.table.write(func(rows *rows) error {
		rows.drop(key)
		return nil
	})
}
