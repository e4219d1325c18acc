package testkit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// forgetful starts what it never ends.
func forgetful(release <-chan struct{}) *framework.App {
	return framework.New("kit", "1").Add(framework.Tool("forget", func(context.Context, struct{}) (string, error) {
		go forgotten(release)
		return "", nil
	}))
}

func forgotten(release <-chan struct{}) { <-release }

func TestLeaks(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	body := func(opts ...testkit.Option) func(testing.TB) {
		return func(t testing.TB) { testkit.New(t, forgetful(release), opts...).CallRaw("forget", "").OK() }
	}
	mustFail{body(), []string{"a goroutine outlives the session", `of tools/call {"name":"forget"}`, "testkit_test.forgotten", "MayLeave"}}.once(t)
	if got := failures(t, body(testkit.MayLeave("testkit_test.forgotten"))); got != nil {
		t.Errorf("%q", got)
	}
	other := func(t testing.TB) {
		go forgotten(release) // the test's own
		testkit.New(t, newHandles().app()).CallRaw("whoami", "").OK()
		testkit.New(t, newHandles().app()).CallRaw("whoami", "").OK()
	}
	if got := failures(t, other); got != nil {
		t.Errorf("another session's: %q", got)
	}
}

// A goroutine keeps its label after its session has ended. A later session must not get the same
// label.
func TestLabelsAreNeverReused(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 20 {
		for range 10 {
			var label string
			ended(t, func(t testing.TB) { label = testkit.Label(testkit.New(t, empty())) })
			if label == "" || seen[label] {
				t.Fatalf("the label %q after %d sessions", label, len(seen))
			}
			seen[label] = true
		}
		runtime.GC()
	}
}

// What net/http's own client keeps open is no leak, what a transport of a handler does is.
func TestConnectionsLeftIdle(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "tea") }))
	t.Cleanup(web.Close)
	asks := func(of func() *http.Client) func(testing.TB) {
		ask := func(ctx context.Context, _ struct{}) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, http.NoBody)
			if err != nil {
				return "", err
			}
			res, err := of().Do(req)
			if err != nil {
				return "", err
			}
			defer func() { _ = res.Body.Close() }()
			text, err := io.ReadAll(res.Body)
			return string(text), err
		}
		return func(t testing.TB) {
			app := framework.New("kit", "1").Add(framework.Tool("ask", ask))
			testkit.New(t, app).CallRaw("ask", "").OK().Mentions("tea")
		}
	}
	if got := failures(t, asks(func() *http.Client { return &http.Client{Timeout: time.Minute} })); got != nil {
		t.Errorf("%q", got)
	}
	own := asks(func() *http.Client { return &http.Client{Transport: &http.Transport{}} })
	mustFail{own, []string{"outlive the session", `of tools/call {"name":"ask"}`, "net/http.(*persistConn).readLoop"}}.once(t)
}

// A test that fails shows what was sent and what came, and others show nothing.
func TestExchangeIsShown(t *testing.T) {
	t.Parallel()
	for _, carrier := range []string{"inmem", "stdio", "fiber", "nethttp"} {
		at := []testkit.Option{testkit.Over(carrier), testkit.Verbose(true)}
		f := ended(t, func(t testing.TB) { testkit.New(t, newHandles().app(), at...).CallRaw("whoami", "").OK() })
		if len(f.logged) != 0 || len(f.failed) != 0 {
			t.Errorf("%s: %q %q", carrier, f.logged, f.failed)
		}
		f = ended(t, func(t testing.TB) {
			s := testkit.New(t, newHandles().app(), at...)
			s.CallRaw("wait", `{"for":"1s"}`).IsError()
		})
		if len(f.logged) != 1 {
			t.Fatalf("%s: %q", carrier, f.logged)
		}
		rest := f.logged[0]
		for _, next := range []string{"over " + carrier, `-> {"jsonrpc":"2.0","id":1001,"method":"server/discover"`, `<- {"jsonrpc":"2.0","id":1001,"result":`, `"name":"wait","arguments":{"for":"1s"}`, `"method":"notifications/progress"`, `"waited":"1s"`} {
			_, after, ok := strings.Cut(rest, next)
			if !ok {
				t.Fatalf("%s: no %s after what came before it:\n%s", carrier, next, f.logged[0])
			}
			rest = after
		}
	}
	f := ended(t, func(t testing.TB) {
		s := testkit.New(t, newHandles().app(), testkit.Verbose(false))
		s.CallRaw("whoami", "").OK()
		s.CallRaw("wait", `{"for":"1s"}`).IsError()
	})
	if n := strings.Count(f.logged[0], "\n-> ") + strings.Count(f.logged[0], "\n<- "); n != 2 || !strings.Contains(f.logged[0], "frames before; go test -v shows more)") {
		t.Errorf("without -v, %d frames:\n%s", n, f.logged[0])
	}
}

// What is shown has an end.
func TestExchangeIsBounded(t *testing.T) {
	t.Parallel()
	f := ended(t, func(t testing.TB) {
		s := testkit.New(t, newHandles().app(), testkit.Verbose(true))
		for range 100 {
			s.CallRaw("whoami", `{"x":"`+strings.Repeat("x", 10_000)+`"}`)
		}
		t.Errorf("enough")
	})
	if len(f.logged) != 1 || len(f.logged[0]) > 100_000 || !strings.Contains(f.logged[0], "frames before)") || !strings.Contains(f.logged[0], "bytes more)") {
		t.Errorf("%d texts: %.300s", len(f.logged), f.logged)
	}
}

// TestTasksLeftRunning checks that a task that is still running when the test ends is cancelled.
// The error names a task that ignores the cancellation.
func TestTasksLeftRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		listens := framework.Tool("listens", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, framework.Task(framework.TaskOptional))
		deaf := framework.Tool("deaf", func(context.Context, struct{}) (string, error) {
			forgotten(release)
			return "", nil
		}, framework.Task(framework.TaskOptional))
		left := func(tool *framework.ToolOf[struct{}, string]) func(testing.TB) {
			return func(t testing.TB) {
				s := testkit.New(t, framework.New("kit", "1").Add(listens, deaf))
				testkit.Start(s, tool, struct{}{})
				synctest.Wait() // it runs
			}
		}
		start := time.Now()
		if got := failures(t, left(listens)); got != nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %q", time.Since(start), got)
		}
		mustFail{left(deaf), []string{"does not shut down", "still at work", "testkit_test.forgotten", "leaks_test.go:"}}.once(t)
		close(release)
	})
}

// A handler that does not heed its context holds up no test, and is named.
func TestHandlerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		app := framework.New("kit", "1").Add(framework.Tool("deaf", func(context.Context, struct{}) (string, error) {
			forgotten(release)
			return "", nil
		}))
		for _, carrier := range []string{"inmem", "stdio"} {
			got := failures(t, func(t testing.TB) {
				testkit.New(t, app, testkit.Over(carrier), testkit.Timeout(time.Second)).CallRaw("deaf", "")
			})
			if len(got) != 2 || !strings.Contains(got[0], "no answer within 1s\nsent: tools/call {\"name\":\"deaf\"}") ||
				!strings.Contains(got[1], "still at work") || !strings.Contains(got[1], "testkit_test.forgotten") {
				t.Errorf("%s: %q", carrier, got)
			}
		}
		close(release)
	})
}
