package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

var (
	sessionCreate = newScript("session_create")
	sessionUpdate = newScript("session_update")
	sessionTouch  = newScript("session_touch")
)

// sessions is the session.Store. There is a hash for each session, which Redis expires.
type sessions struct{ store *Store }

func sessionBinding(id, principal string) []byte { return binding("session", id, principal) }

// expiry returns the time of expiry as a stamp, and in milliseconds for Redis. Both are "" if t is
// zero, which means never.
func expiry(t time.Time) (exact, ms string) {
	if t.IsZero() {
		return "", ""
	}
	return stamp(t), strconv.FormatInt(max(unixMillis(t), 1), 10)
}

// Create copies the record.
func (s *sessions) Create(ctx context.Context, r session.Record) error {
	exact, ms := expiry(r.Expires)
	data := s.store.box.seal(r.Data, sessionBinding(r.ID, r.Principal))
	made, err := s.store.run(ctx, sessionCreate, []string{s.store.sessionKey(r.ID)}, r.Principal, exact, ms, data).Int()
	switch {
	case err != nil:
		return failedOrFull(session.ErrFull, "creating a session", err)
	case made == 0:
		return fmt.Errorf("redisstore: %w", session.ErrExists)
	}
	return nil
}

// Get reads the record atomically.
func (s *sessions) Get(ctx context.Context, id string) (session.Record, error) {
	const doing = "reading a session"
	if s.store.fault != nil {
		return session.Record{}, s.store.fault
	}
	fields, err := s.store.client.HMGet(ctx, s.store.sessionKey(id), "v", "p", "e", "d").Result()
	if err != nil {
		return session.Record{}, failed(doing, err)
	}
	version, ok := fields[0].(string)
	if !ok {
		return session.Record{}, fmt.Errorf("redisstore: %w", session.ErrNotFound)
	}
	r := session.Record{ID: id}
	r.Principal, _ = fields[1].(string)
	exact, _ := fields[2].(string)
	data, _ := fields[3].(string)
	if r.Version, err = strconv.ParseUint(version, 10, 64); err != nil {
		return session.Record{}, failed(doing, err)
	}
	if r.Expires, err = parseStamp(exact); err != nil {
		return session.Record{}, failed(doing, err)
	}
	if r.Data, err = s.store.box.open(data, sessionBinding(id, r.Principal)); err != nil {
		return session.Record{}, failed(doing, err)
	}
	return r, nil
}

// Update copies the record. The data is sealed for the principal given to Create. If r has another
// principal, the script refuses, and Update seals the data again for the stored one.
func (s *sessions) Update(ctx context.Context, r session.Record) error {
	reply, err := s.update(ctx, &r)
	if principal, ok := reply.([]any); ok && err == nil && len(principal) == 1 {
		r.Principal, _ = principal[0].(string)
		reply, err = s.update(ctx, &r)
	}
	switch {
	case err != nil:
		return failedOrFull(session.ErrFull, "changing a session", err)
	case reply == int64(0):
		return fmt.Errorf("redisstore: %w", session.ErrNotFound)
	case reply == int64(2):
		return fmt.Errorf("redisstore: %w", session.ErrConflict)
	}
	return nil
}

func (s *sessions) update(ctx context.Context, r *session.Record) (any, error) {
	exact, ms := expiry(r.Expires)
	data := s.store.box.seal(r.Data, sessionBinding(r.ID, r.Principal))
	return s.store.run(ctx, sessionUpdate, []string{s.store.sessionKey(r.ID)}, r.Version, r.Principal, exact, ms, data).Result()
}

// Touch does not change the data.
func (s *sessions) Touch(ctx context.Context, id string, expires time.Time) error {
	exact, ms := expiry(expires)
	found, err := s.store.run(ctx, sessionTouch, []string{s.store.sessionKey(id)}, exact, ms).Int()
	switch {
	case err != nil:
		return failed("touching a session", err)
	case found == 0:
		return fmt.Errorf("redisstore: %w", session.ErrNotFound)
	}
	return nil
}

// Delete deletes the session at once.
func (s *sessions) Delete(ctx context.Context, id string) error {
	if err := s.store.client.Del(ctx, s.store.sessionKey(id)).Err(); err != nil {
		return failed("deleting a session", err)
	}
	return nil
}
