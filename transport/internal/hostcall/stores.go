package hostcall

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// Sessions returns a store that logs the errors of s. It does not log errors that describe the
// content of s, such as session.ErrNotFound. If s is a session.Exclusive, the result is one as
// well. If s is nil, the result is nil.
func (l *Log) Sessions(s session.Store) session.Store {
	logged := sessions{s, l}
	switch x := s.(type) {
	case nil:
		return nil
	case session.Exclusive:
		return exclusive{logged, x}
	}
	return logged
}

type sessions struct {
	session.Store
	log *Log
}

type exclusive struct {
	sessions
	of session.Exclusive
}

func (e exclusive) Opening() string { return e.of.Opening() }

func (s sessions) Create(ctx context.Context, r session.Record) error {
	return s.note(ctx, s.Store.Create(ctx, r))
}

func (s sessions) Get(ctx context.Context, id string) (session.Record, error) {
	r, err := s.Store.Get(ctx, id)
	return r, s.note(ctx, err)
}

func (s sessions) Update(ctx context.Context, r session.Record) error {
	return s.note(ctx, s.Store.Update(ctx, r))
}

func (s sessions) Touch(ctx context.Context, id string, expires time.Time) error {
	return s.note(ctx, s.Store.Touch(ctx, id, expires))
}

func (s sessions) Delete(ctx context.Context, id string) error {
	return s.note(ctx, s.Store.Delete(ctx, id))
}

// note returns err, and logs it if the store has failed.
func (s sessions) note(ctx context.Context, err error) error {
	if failed(ctx, err, session.ErrNotFound, session.ErrExists, session.ErrConflict) {
		s.log.Warn("sessions cannot be looked up or stored", err.Error())
	}
	return err
}

// Events returns an event store that logs the errors of s, except eventlog.ErrExpired. If s is nil,
// the result is nil.
func (l *Log) Events(s eventlog.Store) eventlog.Store {
	if s == nil {
		return nil
	}
	return events{s, l}
}

type events struct {
	eventlog.Store
	log *Log
}

func (e events) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	seq, err := e.Store.Append(ctx, stream, frame)
	return seq, e.note(ctx, err)
}

func (e events) After(ctx context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	found, err := e.Store.After(ctx, stream, seq)
	return found, e.note(ctx, err)
}

func (e events) Drop(ctx context.Context, stream string) error {
	return e.note(ctx, e.Store.Drop(ctx, stream))
}

// note returns err, and logs it if the store has failed.
func (e events) note(ctx context.Context, err error) error {
	if failed(ctx, err, eventlog.ErrExpired) {
		e.log.Warn("events of streams cannot be stored or read, so that clients cannot resume them", err.Error())
	}
	return err
}

// failed reports whether err means that a store does not work. If ctx was cancelled, the cause may
// be a client that has left or a server that stops, and failed returns false.
func failed(ctx context.Context, err error, answers ...error) bool {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	for _, answer := range answers {
		if errors.Is(err, answer) {
			return false
		}
	}
	return true
}
