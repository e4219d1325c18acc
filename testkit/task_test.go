package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

type filmIn struct {
	Name string `json:"name"`
}

type filmOut struct {
	Text string        `json:"text"`
	Took time.Duration `json:"took"`
}

// studio counts what its tool does, over all servers that are made of it.
type studio struct {
	runs, effects atomic.Int32
	film          *framework.ToolOf[filmIn, filmOut]
	long          *framework.ToolOf[struct{}, string]
	fail          *framework.ToolOf[struct{}, string]
	careful       *framework.ToolOf[struct{}, string]
	cut           *framework.ToolOf[struct{}, string]
}

func newStudio() *studio {
	st := &studio{}
	asTask := framework.Task(framework.TaskOptional, framework.TTL(time.Hour))
	st.film = framework.Tool("film", func(ctx context.Context, in filmIn) (filmOut, error) {
		st.runs.Add(1)
		n, err := framework.Once(ctx, "shoot", func(context.Context) (int32, error) { return st.effects.Add(1), nil })
		if err != nil {
			return filmOut{}, err
		}
		framework.Progress(ctx, 1, 2, "shot")
		who, err := framework.Elicit[string](ctx, "Who directs?")
		if err != nil {
			return filmOut{}, err
		}
		return filmOut{Text: fmt.Sprintf("%s by %s, shot %d times", in.Name, who, n), Took: time.Minute}, nil
	}, framework.Describe("d"), asTask)
	st.long = framework.Tool("long", func(ctx context.Context, _ struct{}) (string, error) {
		run := st.runs.Add(1)
		timer := time.NewTimer(10 * time.Minute)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-timer.C:
			return fmt.Sprint("run ", run), nil
		}
	}, framework.Describe("d"), asTask)
	st.fail = framework.Tool("fail", func(context.Context, struct{}) (string, error) { return "", framework.UserErrorf("no luck") }, framework.Describe("d"), asTask)
	st.careful = framework.Tool("careful", func(ctx context.Context, _ struct{}) (string, error) {
		st.runs.Add(1)
		return framework.Once(ctx, "pay", func(ctx context.Context) (string, error) {
			if st.effects.Add(1) == 1 {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "paid twice", nil
		}, framework.AtMostOnce())
	}, framework.Describe("d"), asTask)
	st.cut = framework.Tool("cut", func(ctx context.Context, _ struct{}) (string, error) {
		where, err := framework.Elicit[string](ctx, "Where to cut?")
		if err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(10 * time.Minute):
			return "cut at " + where, nil
		}
	}, framework.Describe("d"), asTask)
	return st
}

func (st *studio) app() *framework.App {
	return framework.New("studio", "1").Add(st.film, st.long, st.fail, st.careful, st.cut)
}

// inBubbles runs body in a bubble at both designs of tasks.
func inBubbles(t *testing.T, body func(*testing.T, testkit.Option)) {
	t.Helper()
	for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { body(t, testkit.At(rev)) })
		})
	}
}

func TestTaskIsAwaited(t *testing.T) {
	t.Parallel()
	st := newStudio()
	n := int32(0)
	testkit.BothEras(t, st.app(), func(t *testing.T, s *testkit.Session) {
		n++
		s.OnElicit("Who directs", "Kurosawa")
		out, err := testkit.Start(s, st.film, filmIn{"Ran"}).Await()
		if want := (filmOut{fmt.Sprintf("Ran by Kurosawa, shot %d times", n), time.Minute}); err != nil || out != want {
			t.Errorf("%+v, %v", out, err)
		}
		_, err = testkit.Start(s, st.fail, struct{}{}).Await()
		if refused, ok := errors.AsType[*testkit.Error](err); !ok || refused.Text != "no luck" {
			t.Errorf("%v", err)
		}
	})
}

// A worker that dies leaves what it has kept, and nothing else.
func TestTaskSurvivesACrash(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, at testkit.Option) {
		st := newStudio()
		s := testkit.New(t, st.app, at)
		job := testkit.Start(s, st.film, filmIn{"Ran"})
		if got := job.Step(); got != "input_required" {
			t.Fatalf("it is %s", got)
		}
		job.Crash()
		if got := job.Status(); got != "input_required" {
			t.Errorf("after the crash it is %s", got)
		}
		job.Resume()
		s.OnElicit("Who directs", "Kurosawa")
		out, err := job.Await()
		if err != nil || out.Text != "Ran by Kurosawa, shot 1 times" || st.effects.Load() != 1 {
			t.Errorf("%+v, %v, %d effects", out, err, st.effects.Load())
		}
	})
}

func TestTaskIsTakenOver(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, at testkit.Option) {
		st := newStudio()
		s := testkit.New(t, st.app(), at, testkit.Timeout(time.Hour))
		job := testkit.Start(s, st.long, struct{}{})
		for run := int32(1); run <= 3; run++ {
			s.Advance(5 * time.Minute)
			if n := st.runs.Load(); n != run {
				t.Errorf("%d runs, want %d", n, run)
			}
			began := time.Now()
			job.Crash()
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("the handler was told to end after %v", took)
			}
			s.Advance(5 * time.Minute)
			if got := job.Status(); got != "working" || st.runs.Load() != run {
				t.Errorf("without a worker it is %s after %d runs", got, st.runs.Load())
			}
			job.Resume()
		}
		if out, err := job.Await(); err != nil || out != "run 4" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// What one worker must not do again the next one knows, where the store has claims.
func TestTaskSharesItsStore(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, at testkit.Option) {
		for _, tt := range []struct {
			opts []testkit.Option
			want int32
		}{{nil, 2}, {[]testkit.Option{testkit.Store(memory.New())}, 1}} {
			st := newStudio()
			s := testkit.New(t, st.app, append(tt.opts, at)...)
			job := testkit.Start(s, st.careful, struct{}{})
			synctest.Wait()
			job.Crash()
			job.Resume()
			_, err := job.Await()
			if got := st.effects.Load(); got != tt.want || (err == nil) != (tt.want == 2) {
				t.Errorf("%d effects, %v", got, err)
			}
		}
	})
}

func TestTaskEnds(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, at testkit.Option) {
		st := newStudio()
		s := testkit.New(t, st.app(), at, testkit.Timeout(3*time.Hour))
		job := testkit.Start(s, st.film, filmIn{"Ran"})
		job.AwaitStatus("input_required")
		s.Advance(time.Hour - time.Second)
		job.AwaitStatus("input_required")
		s.Advance(time.Second)
		job.AwaitStatus(testkit.TaskGone)
		if _, err := job.Await(); !errors.Is(err, client.ErrTaskGone) {
			t.Errorf("%v", err)
		}
		job = testkit.Start(s, st.film, filmIn{"Ran"})
		job.Step()
		job.Cancel()
		job.AwaitStatus("cancelled")
		if _, err := job.Await(); !errors.Is(err, client.ErrTaskCancelled) {
			t.Errorf("%v", err)
		}
	})
}

// A question is answered, and then the task is left at its work: to cancel it, or to look.
func TestTaskIsAnswered(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(t *testing.T, at testkit.Option) {
		st := newStudio()
		s := testkit.New(t, st.app(), at)
		for _, cancel := range []bool{true, false} {
			job := testkit.Start(s, st.cut, struct{}{})
			s.OnElicit("Where to cut?", "the end")
			began := time.Now()
			job.Answer()
			if now := job.Status(); now != "working" || time.Since(began) > time.Minute {
				t.Errorf("%s after %v", now, time.Since(began))
			}
			if cancel {
				job.Cancel()
				if _, err := job.Await(); !errors.Is(err, client.ErrTaskCancelled) {
					t.Errorf("%v", err)
				}
				continue
			}
			s.Advance(10 * time.Minute)
			if text, err := job.Await(); err != nil || text != "cut at the end" {
				t.Errorf("%q, %v", text, err)
			}
		}
	})
}

// The store of the app stays, and no other worker can then take the place of its worker.
func TestTaskFailures(t *testing.T) {
	t.Parallel()
	start := func(t testing.TB, opts ...testkit.Option) *testkit.Task[filmOut] {
		st := newStudio()
		return testkit.Start(testkit.New(t, st.app(), opts...), st.film, filmIn{"Ran"})
	}
	for name, tt := range map[string]mustFail{
		"Start of the past": {func(t testing.TB) { start(t, testkit.At(protocol.Rev20250618)) }, []string{`Start("film") at 2025-06-18`, "no tasks"}},
		"Start without":     {func(t testing.TB) { start(t, testkit.Without("tasks")) }, []string{"without tasks"}},
		"Start of what has no": {func(t testing.TB) {
			h := newHandles()
			testkit.Start(testkit.New(t, h.app()), h.sum, struct{ Values []int64 }{})
		}, []string{"framework.Task"}},
		"Start of a stranger": {func(t testing.TB) { testkit.Start(testkit.New(t, newStudio().app()), newHandles().stray, struct{}{}) }, []string{"does not have the tool"}},
		"Answer of nothing":   {func(t testing.TB) { j := start(t); j.Cancel(); j.Answer() }, []string{`the task is "cancelled" and asks nothing`, `{"name":"film"`}},
		"Answer with nothing": {func(t testing.TB) { start(t).Answer() }, []string{"Who directs?", "OnElicit"}},
		"AwaitStatus":         {func(t testing.TB) { j := start(t); j.Cancel(); j.AwaitStatus("completed") }, []string{`"cancelled"`, `want "completed"`, `{"name":"film","arguments":{"name":"Ran"}}`}},
		"AwaitStatus of none": {func(t testing.TB) { start(t, testkit.Timeout(time.Hour)).AwaitStatus("inputrequired") }, []string{`"inputrequired"`, "no status of a task", "input_required"}},
		"AwaitStatus in vain": {func(t testing.TB) { start(t, testkit.Timeout(time.Second)).AwaitStatus("completed") }, []string{`want "completed" within 1s`}},
		"Await in vain": {func(t testing.TB) {
			st := newStudio()
			s := testkit.New(t, st.app(), testkit.Timeout(5*time.Second))
			job := testkit.Start(s, st.film, filmIn{"Ran"})
			job.Step()
			job.Crash()
			s.OnElicit("Who directs", "Kurosawa")
			_, _ = job.Await()
		}, []string{"the task is still working after 5s"}},
		"Cancel too late":  {func(t testing.TB) { j := start(t, testkit.At(protocol.Rev20251125)); j.Cancel(); j.Cancel() }, []string{"cancelling a task", "-32602"}},
		"Resume too early": {func(t testing.TB) { start(t).Resume() }, []string{"Resume without Crash"}},
		"Crash twice":      {func(t testing.TB) { j := start(t); j.Crash(); j.Crash() }, []string{"call Resume first"}},
		"Crash elsewhere": {func(t testing.TB) {
			st := newStudio()
			app := framework.New("studio", "1", framework.WithStore(memory.New())).Add(st.film)
			testkit.Start(testkit.New(t, app), st.film, filmIn{"Ran"}).Crash()
		}, []string{"the app has another", "Store(...)"}},
		"a question of a task": {func(t testing.TB) { _, _ = start(t).Await() }, []string{"Who directs?", "OnElicit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.once)
		})
	}
}
