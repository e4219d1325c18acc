//go:build unix

package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// flaky is a store of which one use in twenty fails, and one in a hundred takes two
// seconds first.
type flaky struct {
	*memory.Store
	on                     atomic.Bool
	still                  chan struct{} // calls wait until this is closed; nil: they do not wait
	uses, failures, stalls atomic.Int64
}

var errFlaky = errors.New("scripted: the store is away")

func (f *flaky) spoil(ctx context.Context) error {
	if !f.on.Load() {
		return nil
	}
	f.uses.Add(1)
	if f.still != nil {
		select {
		case <-f.still:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if rand.IntN(100) == 0 {
		f.stalls.Add(1)
		if !pauseFor(ctx, 2*time.Second) {
			return ctx.Err()
		}
	}
	if rand.IntN(20) == 0 {
		f.failures.Add(1)
		return errFlaky
	}
	return nil
}

// either is the result of do, or what spoils it.
func either[T any](f *flaky, ctx context.Context, do func() (T, error)) (T, error) { //nolint:revive // f comes first, as a receiver
	if err := f.spoil(ctx); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (f *flaky) Sessions() session.Store { return flakySessions{f.Store.Sessions(), f} }
func (f *flaky) Events() eventlog.Store  { return flakyEvents{f.Store.Events(), f} }
func (f *flaky) Changes() change.Bus     { return flakyChanges{f.Store.Changes(), f} }
func (f *flaky) Claims() claim.Store     { return flakyClaims{f.Store.Claims(), f} }
func (f *flaky) Tasks() task.Store {
	tasks := f.Store.Tasks()
	return flakyTasks{tasks, tasks.(task.Queue), f}
}

type flakySessions struct {
	session.Store
	f *flaky
}

func (s flakySessions) Create(ctx context.Context, r session.Record) error {
	return errors.Join(s.f.spoil(ctx), s.Store.Create(ctx, r))
}

func (s flakySessions) Get(ctx context.Context, id string) (session.Record, error) {
	return either(s.f, ctx, func() (session.Record, error) { return s.Store.Get(ctx, id) })
}

func (s flakySessions) Update(ctx context.Context, r session.Record) error {
	if err := s.f.spoil(ctx); err != nil {
		return err
	}
	return s.Store.Update(ctx, r)
}

func (s flakySessions) Touch(ctx context.Context, id string, expires time.Time) error {
	if err := s.f.spoil(ctx); err != nil {
		return err
	}
	return s.Store.Touch(ctx, id, expires)
}

type flakyEvents struct {
	eventlog.Store
	f *flaky
}

func (s flakyEvents) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	return either(s.f, ctx, func() (uint64, error) { return s.Store.Append(ctx, stream, frame) })
}

func (s flakyEvents) After(ctx context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	return either(s.f, ctx, func() ([]eventlog.Event, error) { return s.Store.After(ctx, stream, seq) })
}

type flakyChanges struct {
	change.Bus
	f *flaky
}

func (s flakyChanges) Publish(ctx context.Context, message []byte) error {
	if err := s.f.spoil(ctx); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, message)
}

type flakyClaims struct {
	claim.Store
	f *flaky
}

func (s flakyClaims) Get(ctx context.Context, key string) ([]byte, error) {
	return either(s.f, ctx, func() ([]byte, error) { return s.Store.Get(ctx, key) })
}

func (s flakyClaims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	return either(s.f, ctx, func() (bool, error) { return s.Store.Swap(ctx, key, old, value, life) })
}

type flakyTasks struct {
	task.Store
	task.Queue
	f *flaky
}

// Create may have happened where it fails.
func (s flakyTasks) Create(ctx context.Context, r task.Record) error {
	return errors.Join(s.Store.Create(ctx, r), s.f.spoil(ctx))
}

func (s flakyTasks) Get(ctx context.Context, id string) (task.Record, error) {
	return either(s.f, ctx, func() (task.Record, error) { return s.Store.Get(ctx, id) })
}

func (s flakyTasks) Update(ctx context.Context, r task.Record) error {
	if err := s.f.spoil(ctx); err != nil {
		return err
	}
	return s.Store.Update(ctx, r)
}

func (s flakyTasks) Take(ctx context.Context) (task.Lease, error) {
	return either(s.f, ctx, func() (task.Lease, error) { return s.Queue.Take(ctx) })
}

func (s flakyTasks) Renew(ctx context.Context, l task.Lease) error {
	if err := s.f.spoil(ctx); err != nil {
		return err
	}
	return s.Queue.Renew(ctx, l)
}

type workIn struct {
	Label string `json:"label"`
	Steps int    `json:"steps"`
}

// onFlaky serves an app on the store; effects counts each by its label and step.
func onFlaky(t *testing.T, f *flaky, effects *sync.Map) (url string) {
	t.Helper()
	app := framework.New("flaky", "1", framework.WithStore(f), framework.WithLogger(zap.NewNop())).Add(
		framework.Tool("where", func(context.Context, struct{}) (string, error) { return "here", nil }, framework.Describe("d")),
		framework.Tool("steps", func(ctx context.Context, in workIn) (string, error) {
			for step := range in.Steps {
				_, err := framework.Once(ctx, fmt.Sprint(step), func(ctx context.Context) (struct{}, error) {
					keys, _ := effects.LoadOrStore(fmt.Sprint(in.Label, step), new(sync.Map))
					keys.(*sync.Map).Store(framework.IdempotencyKey(ctx), true)
					return struct{}{}, pauseErr(ctx, 5*time.Millisecond)
				})
				if err != nil {
					return "", err
				}
			}
			return in.Label + " done", nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.PollInterval(50*time.Millisecond), framework.Retry(100))),
	)
	said, errs := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, app, []string{"--http", "127.0.0.1:0"}, serve.Streams(strings.NewReader(""), io.Discard, errs))
	}()
	line := make([]byte, 200)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the pipe
	t.Cleanup(func() {
		f.on.Store(false)
		stop()
		if err := within(t, ended); err != nil {
			t.Error(err)
		}
		_ = errs.Close()
	})
	_, addr, _ := strings.Cut(strings.TrimSpace(string(line[:n])), " on ")
	return "http://" + addr + "/mcp"
}

func pauseErr(ctx context.Context, d time.Duration) error {
	if pauseFor(ctx, d) {
		return nil
	}
	return context.Cause(ctx)
}

// TestClusterStoreErrors: a store that fails now and then fails what needs it, and
// nothing else; what it has taken ends well.
func TestClusterStoreErrors(t *testing.T) {
	t.Parallel()
	f := &flaky{Store: memory.New()}
	var effects sync.Map
	url := onFlaky(t, f, &effects)
	modern, _ := join(t, url, protocol.Rev20260728)
	old, _ := join(t, url, protocol.Rev20251125)
	ctx, n := bounded(t), rounds(60, 400)
	f.on.Store(true)
	var plain, inSession, refused, ended atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		fewAtOnce(10*n, 4, func(int) {
			if got, err := client.Call[string](ctx, modern, "where", nil); err != nil || got != "here" {
				t.Errorf("a call that needs no store: %q, %v", got, err)
			}
			plain.Add(1)
		})
	})
	all.Go(func() {
		fewAtOnce(n, 8, func(int) {
			if got, err := client.Call[string](ctx, old, "where", nil); err == nil && got != "here" {
				t.Errorf("a call of a session: %q", got)
			} else if err == nil {
				inSession.Add(1)
			}
		})
	})
	all.Go(func() {
		fewAtOnce(n, 24, func(i int) {
			label := fmt.Sprint("task ", i, " ")
			made, err := modern.CallTask(ctx, "steps", map[string]any{"label": label, "steps": 3})
			if err != nil {
				refused.Add(1)
				return
			}
			for err = errFlaky; err != nil && ctx.Err() == nil; {
				var result *protocol.CallToolResult
				if result, err = made.Wait(ctx); err == nil && text(result) != label+" done" {
					t.Errorf("%s: %q", label, text(result))
				}
				if state := made.State().Status; err != nil && (state == protocol.TaskFailed || state == protocol.TaskCancelled) {
					t.Errorf("%s is %s: %v", label, state, err)
					return
				}
			}
			ended.Add(1)
		})
	})
	all.Wait()
	effects.Range(func(label, keys any) bool {
		count := 0
		keys.(*sync.Map).Range(func(any, any) bool { count++; return true })
		if count != 1 {
			t.Errorf("%s happened with %d keys", label, count)
		}
		return true
	})
	t.Logf("%d uses of the store, %d failed, %d stalled: %d calls that need none, all right; %d of %d calls of a session; %d tasks ended, %d were refused",
		f.uses.Load(), f.failures.Load(), f.stalls.Load(), plain.Load(),
		inSession.Load(), n, ended.Load(), refused.Load())
	if f.failures.Load() == 0 || inSession.Load() == 0 || ended.Load() == 0 {
		t.Error("nothing was tried")
	}
}

// TestClusterStoreStandsStill: who needs no store waits for none that answers nothing.
func TestClusterStoreStandsStill(t *testing.T) {
	t.Parallel()
	f := &flaky{Store: memory.New(), still: make(chan struct{})}
	url := onFlaky(t, f, new(sync.Map))
	me, _ := join(t, url, protocol.Rev20260728)
	ctx := bounded(t)
	f.on.Store(true)
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		_, _ = me.CallTask(ctx, "steps", map[string]any{"label": "late", "steps": 1}) // it may be refused
	}()
	eventually(t, "the store to be asked", func() bool { return f.uses.Load() > 0 })
	for range 20 {
		if got, err := client.Call[string](ctx, me, "where", nil); err != nil || got != "here" {
			t.Errorf("a call that needs no store: %q, %v", got, err)
		}
	}
	close(f.still)
	within(t, waits)
}
