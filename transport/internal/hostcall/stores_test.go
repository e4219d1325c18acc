package hostcall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// port is a store of sessions and events. All of its operations return an error.
type port struct{ err error }

func (p port) Create(context.Context, session.Record) error            { return p.err }
func (p port) Get(context.Context, string) (r session.Record, _ error) { return r, p.err }
func (p port) Update(context.Context, session.Record) error            { return p.err }
func (p port) Touch(context.Context, string, time.Time) error          { return p.err }
func (p port) Delete(context.Context, string) error                    { return p.err }

func (p port) Append(context.Context, string, []byte) (uint64, error)          { return 0, p.err }
func (p port) After(context.Context, string, uint64) ([]eventlog.Event, error) { return nil, p.err }
func (p port) Drop(context.Context, string) error                              { return p.err }

// opened is a store for one process.
type opened struct{ port }

func (opened) Opening() string { return "first" }

// TestStores checks that each operation returns the store's error, and that only failures of the
// store are logged.
func TestStores(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	type row struct {
		ctx  context.Context
		err  error
		logs int
	}
	both := []row{{t.Context(), nil, 0}, {t.Context(), errors.New("away"), 1}, {late, context.DeadlineExceeded, 1}, {gone, context.Canceled, 0}}
	for kind, rows := range map[string][]row{
		"events": append(slices.Clip(both), row{t.Context(), eventlog.ErrExpired, 0}),
		"sessions": append(slices.Clip(both), row{t.Context(), fmt.Errorf("bolt: %w", session.ErrNotFound), 0},
			row{t.Context(), session.ErrExists, 0}, row{t.Context(), session.ErrConflict, 0}, row{t.Context(), session.ErrFull, 1}),
	} {
		for _, tt := range rows {
			for name, do := range operations(tt.ctx, port{tt.err})[kind] {
				var h host
				err := do(hostcall.NewLog(&h, time.Minute))
				if err != tt.err || len(h) != tt.logs || tt.logs > 0 && !strings.HasSuffix(h[0], ": "+tt.err.Error()) { //nolint:errorlint // the same error
					t.Errorf("%s with %v: %v, logged %q", name, tt.err, err, h)
				}
			}
		}
	}
}

// operations calls each method of both ports, on a store that is logged.
func operations(ctx context.Context, p port) map[string]map[string]func(log *hostcall.Log) error {
	sessions := func(do func(session.Store) error) func(*hostcall.Log) error {
		return func(log *hostcall.Log) error { return do(log.Sessions(opened{p})) }
	}
	events := func(do func(eventlog.Store) error) func(*hostcall.Log) error {
		return func(log *hostcall.Log) error { return do(log.Events(p)) }
	}
	return map[string]map[string]func(*hostcall.Log) error{
		"sessions": {
			"Create": sessions(func(s session.Store) error { return s.Create(ctx, session.Record{}) }),
			"Get":    sessions(func(s session.Store) error { _, err := s.Get(ctx, "x"); return err }),
			"Update": sessions(func(s session.Store) error { return s.Update(ctx, session.Record{}) }),
			"Touch":  sessions(func(s session.Store) error { return s.Touch(ctx, "x", time.Now()) }),
			"Delete": sessions(func(s session.Store) error { return s.Delete(ctx, "x") }),
		},
		"events": {
			"Append": events(func(s eventlog.Store) error { _, err := s.Append(ctx, "x", nil); return err }),
			"After":  events(func(s eventlog.Store) error { _, err := s.After(ctx, "x", 0); return err }),
			"Drop":   events(func(s eventlog.Store) error { return s.Drop(ctx, "x") }),
		},
	}
}

// TestPlainStores checks that a nil store stays nil, and that a store for one process stays a
// session.Exclusive.
func TestPlainStores(t *testing.T) {
	t.Parallel()
	log := hostcall.NewLog(new(host), time.Minute)
	if log.Sessions(nil) != nil || log.Events(nil) != nil {
		t.Error("there is a store")
	}
	if s, ok := log.Sessions(opened{}).(session.Exclusive); !ok || s.Opening() != "first" {
		t.Error("a store for one process is one for several")
	}
	if _, ok := log.Sessions(port{}).(session.Exclusive); ok {
		t.Error("a store for several processes is one for one")
	}
}
