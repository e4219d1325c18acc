package storetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// A suite tests one value. The functions of this file combine two values into one, and call both in turn.
// The two values share their data, as the stores of two processes do.

// SessionNodes returns the open function of [Sessions] for a store that several processes share. open
// returns two values that share their data, each with connections and locks of its own.
func SessionNodes(open func(t testing.TB) (a, b session.Store)) func(t testing.TB) session.Store {
	return func(t testing.TB) session.Store { return sessionNodes{turnsOf(open(t))} }
}

// ClaimNodes is like [SessionNodes], for [Claims].
func ClaimNodes(open func(t testing.TB) (a, b claim.Store)) func(t testing.TB) claim.Store {
	return func(t testing.TB) claim.Store { return claimNodes{turnsOf(open(t))} }
}

// EventNodes is like [SessionNodes], for [Events].
func EventNodes(open func(t testing.TB) (a, b eventlog.Store)) func(t testing.TB) eventlog.Store {
	return func(t testing.TB) eventlog.Store { return eventNodes{turnsOf(open(t))} }
}

// TaskNodes is like [SessionNodes], for [Tasks]. [Queue] takes two values itself.
func TaskNodes(open func(t testing.TB) (a, b task.Store)) func(t testing.TB) task.Store {
	return func(t testing.TB) task.Store { return taskNodes{turnsOf(open(t))} }
}

// ChangeNodes is like [SessionNodes], for [Changes].
func ChangeNodes(open func(t testing.TB) (a, b change.Bus)) func(t testing.TB) change.Bus {
	return func(t testing.TB) change.Bus { return changeNodes{turnsOf(open(t))} }
}

// turns selects one of two values for each operation, in turn.
type turns[S any] struct {
	nodes [2]S
	calls atomic.Uint64
}

func turnsOf[S any](a, b S) *turns[S] { return &turns[S]{nodes: [2]S{a, b}} }

func (n *turns[S]) next() S { return n.nodes[n.calls.Add(1)%2] }

type sessionNodes struct{ *turns[session.Store] }

func (n sessionNodes) Create(ctx context.Context, r session.Record) error {
	return n.next().Create(ctx, r)
}

func (n sessionNodes) Get(ctx context.Context, id string) (session.Record, error) {
	return n.next().Get(ctx, id)
}

func (n sessionNodes) Update(ctx context.Context, r session.Record) error {
	return n.next().Update(ctx, r)
}

func (n sessionNodes) Touch(ctx context.Context, id string, expires time.Time) error {
	return n.next().Touch(ctx, id, expires)
}

func (n sessionNodes) Delete(ctx context.Context, id string) error { return n.next().Delete(ctx, id) }

type claimNodes struct{ *turns[claim.Store] }

func (n claimNodes) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	return n.next().Claim(ctx, key, value, life)
}

func (n claimNodes) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	return n.next().Swap(ctx, key, old, value, life)
}

func (n claimNodes) Get(ctx context.Context, key string) ([]byte, error) {
	return n.next().Get(ctx, key)
}

func (n claimNodes) Delete(ctx context.Context, key string, old []byte) error {
	return n.next().Delete(ctx, key, old)
}

func (n claimNodes) Add(ctx context.Context, key string, sum int64, life time.Duration) (int64, error) {
	return n.next().Add(ctx, key, sum, life)
}

type eventNodes struct{ *turns[eventlog.Store] }

func (n eventNodes) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	return n.next().Append(ctx, stream, frame)
}

func (n eventNodes) After(ctx context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	return n.next().After(ctx, stream, seq)
}

func (n eventNodes) Drop(ctx context.Context, stream string) error { return n.next().Drop(ctx, stream) }

type taskNodes struct{ *turns[task.Store] }

func (n taskNodes) Create(ctx context.Context, r task.Record) error { return n.next().Create(ctx, r) }

func (n taskNodes) Get(ctx context.Context, id string) (task.Record, error) {
	return n.next().Get(ctx, id)
}

func (n taskNodes) Update(ctx context.Context, r task.Record) error { return n.next().Update(ctx, r) }

func (n taskNodes) Delete(ctx context.Context, id string) error { return n.next().Delete(ctx, id) }

func (n taskNodes) List(ctx context.Context, owner, after string, limit int) ([]task.Record, error) {
	return n.next().List(ctx, owner, after, limit)
}

func (n taskNodes) Count(ctx context.Context, owner string) (int, error) {
	return n.next().Count(ctx, owner)
}

type changeNodes struct{ *turns[change.Bus] }

func (n changeNodes) Publish(ctx context.Context, message []byte) error {
	return n.next().Publish(ctx, message)
}

func (n changeNodes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	return n.next().Subscribe(ctx, fn)
}
