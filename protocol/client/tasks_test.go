package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

type person struct {
	Name string `json:"name"`
}

type jobIn struct {
	MS int `json:"ms,omitempty"`
}

// jobs is a server of tools that run as tasks.
func jobs(t testing.TB, opts ...framework.AppOption) *framework.Server {
	t.Helper()
	asTask := framework.Task(framework.TaskOptional, framework.PollInterval(50*time.Millisecond), framework.ImmediateResponse("on its way"))
	describe := framework.Describe("d")
	app := framework.New("jobs", "1", append(opts, framework.WithLogger(zap.NewNop()))...).Add(
		framework.Tool("work", func(ctx context.Context, in jobIn) (string, error) {
			for i := range 3 {
				framework.Progress(ctx, float64(i+1), 3, fmt.Sprintf("step %d", i+1))
				timer := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return "", context.Cause(ctx)
				}
			}
			return "done", nil
		}, describe, asTask),
		framework.Tool("brief", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, describe, framework.Task(framework.TaskOptional, framework.TTL(time.Minute))),
		framework.Tool("fail", func(context.Context, struct{}) (string, error) {
			return "", framework.UserErrorf("no luck")
		}, describe, asTask),
		framework.Tool("broken", func(context.Context, struct{}) (string, error) {
			return "", &protocol.Error{Code: protocol.CodeInvalidParams, Message: "broken"}
		}, describe, asTask),
		framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			a, b, err := framework.Gather2(ctx,
				framework.Ask[person]("First?", framework.Key("first")), framework.Ask[person]("Second?", framework.Key("second")))
			if err != nil {
				return "", err
			}
			last, err := framework.Elicit[person](ctx, "Last?", framework.Key("last"))
			return a.Name + b.Name + last.Name, err
		}, describe, asTask),
		framework.Tool("detach", func(ctx context.Context, _ struct{}) (string, error) {
			a, err := framework.Elicit[person](ctx, "First?", framework.Key("first"))
			if err != nil {
				return "", err
			}
			if err := framework.Detach(ctx); err != nil {
				return "", err
			}
			return a.Name, nil
		}, describe, framework.Task(framework.TaskRequired, framework.AfterDetach())),
		framework.Tool("plain", func(context.Context, struct{}) (string, error) { return "at once", nil }, describe),
	)
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return s
}

// users answers forms by the first letter of the question, and counts.
type users struct {
	mu    sync.Mutex
	asked []string
}

func (u *users) option() client.Option {
	return client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.asked = append(u.asked, q.Message)
		return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"name": q.Message[:1]}}, nil
	})
}

func (u *users) questions() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(slices.Values(u.asked))
}

func inMemory(t testing.TB, s *framework.Server, opts ...client.Option) *client.Client {
	t.Helper()
	return reach(t, client.InMemory(s), opts...)
}

func reach(t testing.TB, to client.Target, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), to, opts...)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// inEras runs a test in a bubble for each design of tasks.
func inEras(t *testing.T, test func(t *testing.T, revision string)) {
	t.Helper()
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, revision) })
		})
	}
}

func callTask(t testing.TB, c *client.Client, name string, args any, opts ...client.CallOption) *client.Task {
	t.Helper()
	task, err := c.CallTask(t.Context(), name, args, opts...)
	if err != nil {
		t.Fatalf("CallTask %s: %v", name, err)
	}
	return task
}

func textIn(t testing.TB, r *protocol.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(protocol.Text).Text
}

func TestTaskCompletes(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		synctest.Wait() // until the server has taken notifications/initialized: before that it tells nothing unasked
		var states, progress []string
		task := callTask(t, c, "work", jobIn{MS: 100},
			client.TaskTTL(10*time.Minute),
			client.OnProgress(func(p protocol.Progress) { progress = append(progress, p.Message) }),
			client.OnTask(func(s protocol.Task) { states = append(states, string(s.Status)+" "+s.Message) }))
		if s := task.State(); task.ID() == "" || s.ID != task.ID() || s.Status != protocol.TaskWorking {
			t.Errorf("created %+v", s)
		}
		if _, err := task.Result(t.Context()); !errors.Is(err, client.ErrTaskOpen) {
			t.Errorf("Result before the end: %v", err)
		}
		began := time.Now()
		r, err := task.Wait(t.Context())
		if text := textIn(t, r, err); text != "done" {
			t.Errorf("got %q", text)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if len(states) < 2 || !strings.HasPrefix(states[0], "working") || !strings.HasPrefix(states[len(states)-1], "completed") {
			t.Errorf("states %q", states)
		}
		old := revision == "2025-11-25"
		if old != (task.ImmediateResponse() == "on its way") || old != (*task.State().TTL == 600_000) || old && len(progress) != 3 {
			t.Errorf("immediate response %q, ttl %d, progress %q", task.ImmediateResponse(), *task.State().TTL, progress)
		}
		r, err = c.Task(task.ID()).Result(t.Context())
		if text := textIn(t, r, err); text != "done" {
			t.Errorf("by its id: %q", text)
		}
	})
}

func TestTaskFails(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		if r, err := callTask(t, c, "fail", nil).Wait(t.Context()); err != nil || !r.IsError || textIn(t, r, err) != "no luck" {
			t.Errorf("an error result: %+v, %v", r, err)
		}
		task := callTask(t, c, "broken", nil)
		_, err := task.Wait(t.Context())
		refused, ok := errors.AsType[*protocol.Error](err)
		if !ok || refused.Code != protocol.CodeInvalidParams || refused.Message != "broken" || errors.Is(err, client.ErrTaskGone) {
			t.Errorf("a failed task: %v", err)
		}
		if _, again := task.Result(t.Context()); again == nil || !strings.Contains(again.Error(), "broken") {
			t.Errorf("Result of it: %v", again)
		}
	})
}

func TestTaskAsks(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		var u users
		c := inMemory(t, jobs(t), only(t, revision), u.option())
		r, err := callTask(t, c, "ask", nil).Wait(t.Context())
		if text := textIn(t, r, err); text != "FSL" {
			t.Errorf("got %q", text)
		}
		if got := u.questions(); !slices.Equal(got, []string{"First?", "Last?", "Second?"}) {
			t.Errorf("asked %q", got)
		}
		r, err = callTask(t, c, "detach", nil).Wait(t.Context())
		if text := textIn(t, r, err); text != "F" {
			t.Errorf("after rounds: %q", text)
		}
	})
}

// Two that wait for one task put each question to the user once.
func TestTaskIsWaitedForTwice(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		var u users
		c := inMemory(t, jobs(t), only(t, revision), u.option())
		task := callTask(t, c, "ask", nil)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if r, err := task.Wait(t.Context()); err != nil || textOf(r) != "FSL" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		both.Wait()
		got := u.questions()
		if revision == "2025-11-25" { // the later request takes an open question over, and the earlier one withdraws it
			slices.Sort(got)
			got = slices.Compact(got)
		}
		if len(got) != 3 {
			t.Errorf("asked %q", got)
		}
	})
}

func textOf(r *protocol.CallToolResult) string { return r.Content[0].(protocol.Text).Text }

// What a Wait could not answer the next one can.
func TestTaskQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := jobs(t)
		fails := true
		c := inMemory(t, s, only(t, "2026-07-28"), client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
			if fails && q.Message == "Last?" {
				return nil, errors.New("the user is out")
			}
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"name": q.Message[:1]}}, nil
		}))
		task := callTask(t, c, "ask", nil)
		if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the user is out") {
			t.Errorf("Wait: %v", err)
		}
		if now, err := task.Get(t.Context()); err != nil || now.Status != protocol.TaskInputRequired {
			t.Errorf("then %+v, %v", now, err)
		}
		mute := inMemory(t, s, only(t, "2026-07-28"))
		if _, err := mute.Task(task.ID()).Wait(t.Context()); !errors.Is(err, client.ErrInputRequired) {
			t.Errorf("without a handler: %v", err)
		}
		fails = false
		r, err := task.Wait(t.Context())
		if text := textIn(t, r, err); text != "FSL" {
			t.Errorf("got %q", text)
		}
	})
}

func TestTaskIsCancelled(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		task := callTask(t, c, "work", jobIn{MS: 3_600_000})
		waited := make(chan error)
		go func() {
			_, err := task.Wait(t.Context())
			waited <- err
		}()
		synctest.Wait()
		if err := c.Task(task.ID()).Cancel(t.Context()); err != nil {
			t.Fatalf("Cancel: %v", err)
		}
		if err := <-waited; !errors.Is(err, client.ErrTaskCancelled) {
			t.Errorf("Wait: %v", err)
		}
		if _, err := task.Result(t.Context()); !errors.Is(err, client.ErrTaskCancelled) {
			t.Errorf("Result: %v", err)
		}
		if err := task.Cancel(t.Context()); (err == nil) != (revision == "2026-07-28") {
			t.Errorf("Cancel again: %v", err)
		}
	})
}

// While the user thinks the task is cancelled: the question is withdrawn.
func TestTaskIsCancelledWhileItAsks(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		asked, withdrawn := make(chan struct{}, 2), make(chan struct{}, 2)
		c := inMemory(t, jobs(t), only(t, revision), client.NoTasks(),
			client.OnElicit(func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
				asked <- struct{}{}
				<-ctx.Done()
				withdrawn <- struct{}{}
				return nil, ctx.Err()
			}))
		task := callTask(t, c, "ask", nil)
		waited := make(chan error)
		go func() {
			_, err := task.Wait(t.Context())
			waited <- err
		}()
		<-asked
		<-asked
		if err := task.Cancel(t.Context()); err != nil {
			t.Fatalf("Cancel: %v", err)
		}
		if err := <-waited; !errors.Is(err, client.ErrTaskCancelled) {
			t.Errorf("Wait: %v", err)
		}
		<-withdrawn
		<-withdrawn
	})
}

func TestTaskWaitIsGivenUp(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		task := callTask(t, c, "work", jobIn{MS: 1000})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := task.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait: %v", err)
		}
		r, err := task.Wait(t.Context())
		if text := textIn(t, r, err); text != "done" {
			t.Errorf("waited for again: %q", text)
		}
	})
}

func TestTaskExpires(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		task := callTask(t, c, "brief", nil, client.TaskTTL(time.Hour))
		if ttl := *task.State().TTL; (ttl == time.Hour.Milliseconds()) != (revision == "2025-11-25") {
			t.Errorf("granted %d ms", ttl)
		}
		if err := task.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		task = callTask(t, c, "brief", nil)
		began := time.Now()
		_, err := task.Wait(t.Context())
		if !errors.Is(err, client.ErrTaskGone) {
			t.Errorf("Wait: %v", err)
		}
		if took := time.Since(began).Round(time.Second); took != time.Minute {
			t.Errorf("after %v", took)
		}
		time.Sleep(time.Second) // the server ends the handler at the same moment
	})
}

func TestTaskIsUnknown(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		alice := transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "alice"})
		s := jobs(t)
		hers, err := client.Connect(alice, client.InMemory(s), only(t, revision))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = hers.Close() }()
		foreign := callTask(t, hers, "work", nil)
		c := inMemory(t, s, only(t, revision))
		for name, id := range map[string]string{"unknown": "nope", "foreign": foreign.ID(), "empty": ""} {
			task := c.Task(id)
			if _, err := task.Get(t.Context()); !errors.Is(err, client.ErrTaskGone) {
				t.Errorf("%s: Get: %v", name, err)
			}
			if _, err := task.Wait(t.Context()); !errors.Is(err, client.ErrTaskGone) {
				t.Errorf("%s: Wait: %v", name, err)
			}
			if _, err := task.Result(t.Context()); !errors.Is(err, client.ErrTaskGone) {
				t.Errorf("%s: Result: %v", name, err)
			}
			if err := task.Cancel(t.Context()); !errors.Is(err, client.ErrTaskGone) {
				t.Errorf("%s: Cancel: %v", name, err)
			}
		}
		if r, err := foreign.Wait(t.Context()); textIn(t, r, err) != "done" {
			t.Error("its owner's is spoilt")
		}
	})
}

// Calls that are answered at once are tasks that are over.
func TestTaskAtOnce(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, jobs(t), only(t, revision))
				name := "work"
				if revision == "2026-07-28" {
					name = "plain"
				}
				task := callTask(t, c, name, nil)
				r, err := task.Wait(t.Context())
				again, other := task.Result(t.Context())
				if task.ID() != "" || textIn(t, r, err) != textIn(t, again, other) || task.State().Status != protocol.TaskCompleted {
					t.Errorf("id %q, state %+v", task.ID(), task.State())
				}
				if now, err := task.Get(t.Context()); err != nil || now.Status != protocol.TaskCompleted {
					t.Errorf("Get: %+v, %v", now, err)
				}
				if err := task.Cancel(t.Context()); err != nil {
					t.Errorf("Cancel: %v", err)
				}
				raw, _ := task.WaitRaw(t.Context())
				clear(raw) // it is the caller's
				if later, err := task.Wait(t.Context()); textIn(t, later, err) != textIn(t, r, nil) {
					t.Error("who had the raw result has changed it")
				}
				if revision == "2026-07-28" {
					return
				}
				if _, err := c.Task("x").Get(t.Context()); !errors.Is(err, client.ErrNoTasks) {
					t.Errorf("Get by id: %v", err)
				}
				if err := c.Task("x").Cancel(t.Context()); !errors.Is(err, client.ErrNoTasks) {
					t.Errorf("Cancel by id: %v", err)
				}
			})
		})
	}
}

// An ordinary call declares no tasks, so that it never becomes one.
func TestCallToolIsNoTask(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		c := inMemory(t, jobs(t), only(t, revision))
		r, err := c.CallTool(t.Context(), "work", nil)
		if text := textIn(t, r, err); text != "done" {
			t.Errorf("got %q", text)
		}
		if _, err := c.CallTool(t.Context(), "detach", nil); err == nil {
			t.Error("a tool that must be a task ran in its request")
		}
		if _, err := c.CallTask(t.Context(), "plain", nil); (err == nil) != (revision == "2026-07-28") {
			t.Errorf("a tool without tasks: %v", err)
		}
	})
}

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	inEras(t, func(t *testing.T, revision string) {
		alice := transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "alice"})
		c, err := client.Connect(alice, client.InMemory(jobs(t)), only(t, revision))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		var want, got []string
		for range 60 {
			want = append(want, callTask(t, c, "work", nil).ID())
		}
		for task, err := range c.Tasks(t.Context()) {
			if err != nil {
				if revision != "2026-07-28" || !errors.Is(err, client.ErrNoTasks) {
					t.Errorf("Tasks: %v", err)
				}
				return
			}
			got = append(got, task.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %d of %d", len(got), len(want))
		}
	})
}
