package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

// book is where audits go; each Write is a line.
type book struct {
	mu    sync.Mutex // guards all below
	lines []string
	err   error
}

func (b *book) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(line))
	return len(line), b.err
}

func (b *book) take(t testing.TB) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []map[string]any
	for _, l := range b.lines {
		var entry map[string]any
		if err := json.Unmarshal([]byte(l), &entry); err != nil || strings.Count(l, "\n") != 1 || !strings.HasSuffix(l, "}\n") {
			t.Errorf("%v: %q", err, l)
		}
		all = append(all, entry)
	}
	b.lines = nil
	return all
}

func TestAudit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		s := build(t, quiet().Use(middleware.Audit(b)).Add(doing(func(context.Context) error {
			time.Sleep(1500 * time.Microsecond)
			return &protocol.Error{Code: -7, Message: "no"}
		})))
		began := time.Now().UTC().Format(time.RFC3339Nano)
		call(as(from(t.Context(), "192.0.2.1:4711", map[string]string{"X-Forwarded-For": "203.0.113.9"}), "ann\nforged"), t, s, `{}`)
		got := b.take(t)
		if len(got) != 1 {
			t.Fatalf("%d lines", len(got))
		}
		id, _ := got[0]["call"].(string)
		delete(got[0], "call")
		want := map[string]any{
			"time": began, "issuer": "https://id.example", "subject": "ann\nforged", "address": "192.0.2.1:4711",
			"method": "tools/call", "name": "t", "outcome": "rejected", "code": -7.0, "durationMs": 1.5, "rounds": 1.0,
		}
		text, _ := json.Marshal(got[0])
		wanted, _ := json.Marshal(want)
		if string(text) != string(wanted) || id == "" {
			t.Errorf("wrote %s of call %q\nwant  %s", text, id, wanted)
		}
	})
}

func TestAuditOutcomes(t *testing.T) {
	t.Parallel()
	b := &book{}
	var result error
	s := build(t, quiet().Use(middleware.Audit(b)).Add(doing(func(context.Context) error { return result })))
	for want, err := range map[string]error{
		"ok": nil, "tool_error": framework.UserErrorf("no"), "failed": errors.New("EOF"), "declined": framework.ErrDeclined,
		"invalid_arguments": framework.InvalidArgumentf("a", "no"), "not_found": framework.ErrNotFound, "limited": protocol.TooMany(1, "no"),
		"timeout": framework.UserErrorf("%w", context.DeadlineExceeded),
	} {
		result = err
		call(t.Context(), t, s, `{}`)
		if got := b.take(t); len(got) != 1 || got[0]["outcome"] != want {
			t.Errorf("%v: %v, want %s", err, got, want)
		}
	}
	request(t.Context(), t, s, "tools/list", "", "")
	if got := b.take(t); len(got) != 1 || got[0]["method"] != "tools/list" || got[0]["name"] != nil {
		t.Errorf("a list: %v", got)
	}
}

// One line a logical call, with its last outcome; a resend is none.
func TestAuditRounds(t *testing.T) {
	t.Parallel()
	b := &book{}
	s := build(t, quiet().Use(middleware.Audit(b)).Add(asking(2)))
	one := call(t.Context(), t, s, `{}`)
	two := again(t.Context(), t, s, one, true)
	if got := b.take(t); len(got) > 0 {
		t.Errorf("before the call was over: %v", got)
	}
	again(t.Context(), t, s, two, true)
	again(t.Context(), t, s, two, true)
	again(t.Context(), t, s, one, true)
	if got := b.take(t); len(got) != 1 || got[0]["rounds"] != 3.0 || got[0]["outcome"] != "ok" {
		t.Errorf("wrote %v", got)
	}
}

func TestAuditSession(t *testing.T) {
	t.Parallel()
	b := &book{}
	var id string
	s := build(t, quiet().Use(middleware.Audit(b)).Add(doing(func(ctx context.Context) error {
		id = framework.Caller(ctx).Session
		return nil
	})))
	p := shake(t, s)
	p.call(t, `{}`)
	p.call(t, `{}`)
	got := b.take(t)
	if d, _ := got[0]["session"].(string); d == "" || strings.Contains(id, d) || got[1]["session"] != d {
		t.Errorf("the session %q is %v and %v", id, got[0]["session"], got[1]["session"])
	}
}

func TestAuditPanics(t *testing.T) {
	t.Parallel()
	b := &book{}
	s := build(t, quiet().Use(middleware.Audit(b), boom).Add(doing(nothing)))
	call(t.Context(), t, s, `{}`)
	if got := b.take(t); len(got) != 1 || got[0]["outcome"] != "panic" {
		t.Errorf("wrote %v", got)
	}
}

// What cannot be written is said, and the call is answered.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.Audit(&book{err: errors.New("disk full")})).Add(doing(nothing)))
	if got := call(t.Context(), t, s, `{}`); got.text() != "done" {
		t.Errorf("answered %s", got.raw)
	}
	if logs.Len() != 1 || !strings.Contains(logs.All()[0].Message, "audit") {
		t.Errorf("logged %v", logs.All())
	}
}

// A completion is a call. What the protocol asks for itself is none, and passes no step.
func TestAuditOfCompletions(t *testing.T) {
	t.Parallel()
	type key struct {
		X string `uri:"x"`
	}
	b := &book{}
	s := build(t, quiet().Use(middleware.Audit(b)).Add(framework.ResourceTemplate("a://{x}",
		func(context.Context, key) (string, error) { return "", nil },
		framework.Complete("x", func(context.Context, string, map[string]string) ([]string, error) { return []string{"yes"}, nil }))))
	got := request(t.Context(), t, s, "completion/complete", "", `"ref":{"type":"ref/resource","uri":"a://{x}"},"argument":{"name":"x","value":""},`)
	if !strings.Contains(got.raw, `"yes"`) {
		t.Errorf("answered %s", got.raw)
	}
	request(t.Context(), t, s, "server/discover", "", "")
	lines := b.take(t)
	if len(lines) != 1 || lines[0]["method"] != "completion/complete" || lines[0]["name"] != "a://{x}" {
		t.Errorf("wrote %v, want the completion alone", lines)
	}
}

// torn is a writer that panics.
type torn struct{ whole bool }

func (w *torn) Write(line []byte) (int, error) {
	if !w.whole {
		panic("torn")
	}
	return len(line), nil
}

// A writer that panics fails the call that it was called for, and no other.
func TestAuditWriterPanics(t *testing.T) {
	t.Parallel()
	w := &torn{}
	s := build(t, quiet().Use(middleware.Audit(w)).Add(doing(nothing)))
	if got := call(t.Context(), t, s, `{}`); got.text() == "done" {
		t.Errorf("answered %s", got.raw)
	}
	w.whole = true
	answered := make(chan string, 1)
	go func() { answered <- call(t.Context(), t, s, `{}`).text() }()
	select {
	case got := <-answered:
		if got != "done" {
			t.Errorf("the next is answered %s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the next waits for good")
	}
}

// A task that runs again after an error of its own is one call: one line, one event.
func TestTaskIsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		runs := 0
		tool := framework.Tool("t", func(context.Context, struct{}) (string, error) {
			if runs++; runs < 3 {
				return "", errors.New("not yet")
			}
			return "done", nil
		}, framework.Task(framework.TaskOptional, framework.Retry(5)))
		s := build(t, quiet().Use(middleware.Audit(b), middleware.RateLimit(middleware.Rate{Events: 1, Per: 30 * time.Minute})).Add(tool))
		p := shake(t, s)
		if got := p.task(t); got.text() != "done" {
			t.Errorf("answered %s", got.raw)
		}
		if got := b.take(t); runs != 3 || len(got) != 1 || got[0]["outcome"] != "ok" || got[0]["task"] == nil {
			t.Errorf("%d runs, wrote %v", runs, got)
		}
		began := time.Now()
		if got := p.task(t); got.text() != "done" || time.Since(began) < 29*time.Minute {
			t.Errorf("the second, after %v: %s", time.Since(began), got.raw)
		}
	})
}

func TestAuditConcurrently(t *testing.T) {
	t.Parallel()
	b := &book{}
	s := build(t, quiet().Use(middleware.Audit(b)).Add(doing(nothing)))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				call(t.Context(), t, s, `{}`)
			}
		})
	}
	all.Wait()
	if got := b.take(t); len(got) != 160 {
		t.Errorf("%d lines", len(got))
	}
}

// TestTaskIDIsNotWritten: the ID of a task without an owner is all that is needed to read its result.
func TestTaskIDIsNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, id := &book{}, ""
		tool := framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			id = framework.CallerLite(ctx).Task
			return "done", nil
		}, framework.Task(framework.TaskOptional))
		shake(t, build(t, quiet().Use(middleware.Audit(b)).Add(tool))).task(t)
		got := b.take(t)
		if len(got) != 1 {
			t.Fatalf("%d lines", len(got))
		}
		if d, _ := got[0]["task"].(string); d == "" || id == "" || strings.Contains(id, d) {
			t.Errorf("the task %q is written as %q", id, d)
		}
	})
}

// TestAuditAfterHalfALine: a write that was cut off costs its own line, and not the next one.
func TestAuditAfterHalfALine(t *testing.T) {
	t.Parallel()
	w := &filling{room: []int{10, 0, 1}}
	s := build(t, quiet().Use(middleware.Audit(w)).Add(doing(func(context.Context) error { return nil })))
	for range 5 {
		call(t.Context(), t, s, `{}`)
	}
	whole := 0
	for line := range strings.Lines(w.String()) {
		if json.Valid([]byte(line)) {
			whole++
		}
	}
	if whole != 2 {
		t.Errorf("%d whole lines, want 2: %s", whole, w.String())
	}
}

// filling is a writer with little room at first, such as a file on a full disk.
type filling struct {
	strings.Builder
	room []int // of the next writes; unlimited after them
}

func (f *filling) Write(p []byte) (int, error) {
	if len(f.room) == 0 {
		return f.Builder.Write(p)
	}
	n := f.room[0]
	f.room = f.room[1:]
	f.Builder.Write(p[:n])
	return n, io.ErrShortWrite
}
