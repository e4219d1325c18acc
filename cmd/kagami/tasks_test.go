package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// taskSite returns a server over HTTP whose tools run as tasks. If it wants tokens, it uses every
// bearer token as the name of a principal.
func taskSite(t *testing.T, opts ...framework.AppOption) string {
	t.Helper()
	asTask := framework.Task(framework.TaskOptional, framework.PollInterval(50*time.Millisecond))
	type jobIn struct {
		MS int `json:"ms,omitempty"`
	}
	type agreement struct {
		Sure bool `json:"sure"`
	}
	ask := func(ctx context.Context, _ struct{}) (string, error) {
		a, err := framework.Elicit[agreement](ctx, "Sure?")
		return fmt.Sprint(a.Sure), err
	}
	app := framework.New("tasks", "1", append(opts, framework.WithLogger(zap.NewNop()))...).Add(
		framework.Tool("work", func(ctx context.Context, in jobIn) (string, error) {
			framework.Progress(ctx, 1, 2, "half-way")
			timer := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
				return "worked", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}, framework.Describe("d"), asTask),
		framework.Tool("ask", ask, framework.Describe("d"), asTask),
		framework.Tool("early", ask, framework.Describe("d")),
	)
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(nethttp.Handler(s))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // end running calls at once
		_ = s.Shutdown(ctx)
		site.Close()
	})
	return site.URL
}

type names struct{}

func (names) Authenticate(_ context.Context, h http.Header) (*transport.Principal, error) {
	return &transport.Principal{Subject: strings.TrimPrefix(h.Get("Authorization"), "Bearer ")}, nil
}

var handshakeAndNot = []string{"2025-11-25", "2026-07-28"}

func TestCallAsTask(t *testing.T) {
	t.Parallel()
	yes := answersFile(t, `{"":{"confirm":true}}`)
	type want struct {
		args []string
		code int
		out  string // all of stdout, or a part of it if it is JSON
		errs string // a pattern on stderr
	}
	tests := map[string]want{
		"completes":        {[]string{"slow_compute", "seconds=0", "label=x", "--task"}, 0, "Computed x in 0 s.\n", `^task \w+: \w+\n`},
		"waits":            {[]string{"slow_compute", "seconds=0.2", "label=x", "--task", "--wait", "--ttl", "1m"}, 0, "Computed x in 0.2 s.\n", `^task \w+: working\n`},
		"as JSON":          {[]string{"slow_compute", "seconds=0", "--task", "--json"}, 0, `"text": "Computed  in 0 s."`, ""},
		"fails":            {[]string{"failing_job", "--task"}, 5, "", `The job failed, as it was meant to\.\n$`},
		"fails as JSON":    {[]string{"failing_job", "--task", "--json"}, 5, `"isError": true`, ""},
		"breaks":           {[]string{"protocol_error_job", "--task"}, 1, "", `the task failed: .*the job broke the protocol`},
		"asks":             {[]string{"confirm_delete", "filename=x", "--task", "--answers", yes}, 0, "Deleted x.\n", "input_required"},
		"asks nobody":      {[]string{"confirm_delete", "filename=x", "--task"}, 1, "", ""},
		"must be a task":   {[]string{"failing_job"}, 1, "", "The tool runs only as a task: call it with --task\\."},
		"detached":         {[]string{"slow_compute", "seconds=0", "--task", "--detach"}, 0, "", `was started for this command, and its tasks end with it.*\n  kagami tasks get \S+everything \w+ --revision \S+\n`},
		"detached as JSON": {[]string{"slow_compute", "seconds=0", "--task", "--detach", "--json"}, 0, `"status": "working"`, ""},
	}
	for _, revision := range handshakeAndNot {
		for name, tt := range tests {
			t.Run(revision+" "+name, func(t *testing.T) {
				t.Parallel()
				out, errs, code := kagami(t, append([]string{"call", everything, "--revision", revision}, tt.args...)...)
				wants := tt.code
				if name == "asks nobody" && revision != "2026-07-28" { // on that revision the tool returns the error
					wants = 5
				}
				if code != wants || !strings.Contains(out, tt.out) || !regexp.MustCompile(tt.errs).MatchString(errs) {
					t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, out, errs)
				}
				if name == "detached" && !regexp.MustCompile(`^\w{26}\n$`).MatchString(out) {
					t.Errorf("stdout: %q", out)
				}
			})
		}
	}
}

// A task that takes longer than --timeout continues, and its result can be read later.
func TestTaskTakesTooLong(t *testing.T) {
	t.Parallel()
	for _, revision := range handshakeAndNot {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			// The time limit also covers the start of the server, so a busy machine needs more.
			for _, timeout := range []string{"300ms", "2s", "10s", "30s"} {
				_, errs, code := kagami(t, "call", everything, "slow_compute", "seconds=60", "--task", "--timeout", timeout, "--revision", revision)
				if !strings.Contains(errs, "longer than "+timeout) {
					t.Fatalf("exit code %d\n%s", code, errs)
				}
				if !strings.HasPrefix(errs, "task ") { // the task, or even the connection, did not exist yet
					continue
				}
				if code != 1 {
					t.Errorf("exit code %d\n%s", code, errs)
				}
				if !regexp.MustCompile(`kagami tasks result (.|\n)*longer than `).MatchString(errs) {
					t.Errorf("it does not print how to continue:\n%s", errs)
				}
				return
			}
			t.Error("no task was made")
		})
	}
}

// If a server has no tasks, a call is answered as usual, and the commands for tasks report why they
// fail.
func TestNoTasks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		code int
		out  string
		errs string
	}{
		"old":           {[]string{"call", everything, "slow_compute", "seconds=0", "--task", "--detach", "--revision", "2025-06-18"}, 0, "Computed  in 0 s.\n", "answered at once, without a task (revision 2025-06-18)"},
		"no task tool":  {[]string{"call", everything, "greet", "name=Ann", "--task"}, 0, "Hello, Ann!\n", "answered at once"},
		"list":          {[]string{"tasks", "list", everything}, 1, "", "the server has no tasks to list, at revision 2026-07-28\nOnly 2025-11-25 has a list of tasks: try --revision 2025-11-25.\n"},
		"list, old":     {[]string{"tasks", "list", everything, "--revision", "2025-06-18"}, 1, "", "no tasks to list, at revision 2025-06-18"},
		"get, old":      {[]string{"tasks", "get", everything, "x", "--revision", "2025-06-18"}, 1, "", "the server has no tasks, at revision 2025-06-18"},
		"get unknown":   {[]string{"tasks", "get", everything, "x"}, 7, "", "the server has no such task"},
		"result":        {[]string{"tasks", "result", everything, "x"}, 7, "", "Tasks expire"},
		"cancel":        {[]string{"tasks", "cancel", everything, "x"}, 7, "", "no such task"},
		"no id":         {[]string{"tasks", "get", everything}, 2, "", "no ID given"},
		"no server":     {[]string{"tasks", "list"}, 2, "", "no server"},
		"no verb":       {[]string{"tasks"}, 0, "Wait for a task and print its result", ""},
		"unknown verb":  {[]string{"tasks", "lst"}, 2, "", `unknown command "tasks lst"`},
		"help":          {[]string{"call", "--help"}, 0, "Ctrl-C leaves the task running", ""},
		"without task":  {[]string{"call", everything, "x", "--detach"}, 2, "", "--ttl need --task"},
		"both":          {[]string{"call", everything, "x", "--task", "--wait", "--detach"}, 2, "", "exclude each other"},
		"negative life": {[]string{"call", everything, "x", "--task", "--ttl", "-1s"}, 2, "", "--ttl must be positive"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := kagami(t, tt.args...)
			if code != tt.code || !strings.Contains(out, tt.out) || tt.out == "" && out != "" || !strings.Contains(errs, tt.errs) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, out, errs)
			}
		})
	}
}

// A later command can find, read, answer and cancel a task.
func TestTaskIsLeft(t *testing.T) {
	t.Parallel()
	yes := answersFile(t, `{"":{"sure":true}}`)
	for _, revision := range handshakeAndNot {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var opts []framework.AppOption
			who := []string{"--revision", revision}
			if revision == "2025-11-25" {
				opts, who = append(opts, framework.WithAuth(names{})), append(who, "--bearer", "ann")
			}
			url := taskSite(t, opts...)
			do := func(args ...string) string {
				t.Helper()
				out, errs, code := kagami(t, append(args, who...)...)
				if code != 0 {
					t.Fatalf("%v: exit code %d\n%s%s", args, code, out, errs)
				}
				return out
			}
			id := strings.TrimSpace(do("call", url, "work", "ms=300", "--task", "--detach"))
			if out := do("tasks", "get", url, id); !strings.HasPrefix(out, "working") || !strings.Contains(out, ", expires ") {
				t.Errorf("get: %s", out)
			}
			if out := do("tasks", "result", url, id); out != "worked\n" {
				t.Errorf("result: %s", out)
			}
			var state struct{ TaskID, Status string }
			if err := json.Unmarshal([]byte(do("tasks", "get", url, id, "--json")), &state); err != nil || state.TaskID != id || state.Status != "completed" {
				t.Errorf("get --json: %+v, %v", state, err)
			}
			asking := strings.TrimSpace(do("call", url, "ask", "--task", "--detach", "--answers", yes))
			if out := do("tasks", "result", url, asking, "--answers", yes); out != "true\n" {
				t.Errorf("result of a task that asks: %s", out)
			}
			long := strings.TrimSpace(do("call", url, "work", "ms=60000", "--task", "--detach"))
			do("tasks", "cancel", url, long)
			if out, errs, code := kagami(t, append([]string{"tasks", "result", url, long}, who...)...); code != 1 || !strings.Contains(errs, "the task was cancelled") {
				t.Errorf("cancelled: exit code %d\n%s%s", code, out, errs)
			}
			if revision == "2025-11-25" {
				if out := do("tasks", "list", url); strings.Count(out, "\n") != 3 || !strings.Contains(out, id) {
					t.Errorf("list:\n%s", out)
				}
				if out := do("tasks", "list", url, "--json"); strings.Count(out, "taskId") != 3 {
					t.Errorf("list --json:\n%s", out)
				}
			}
		})
	}
}

// A later command answers the questions of a task, even if the first command has no terminal and no
// --answers. A question before the task exists gets no answer.
func TestTaskIsLeftWithAQuestion(t *testing.T) {
	t.Parallel()
	yes := answersFile(t, `{"":{"sure":true}}`)
	url := taskSite(t, framework.WithAuth(names{}))
	for _, revision := range handshakeAndNot {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			who := []string{"--revision", revision, "--bearer", "ann"}
			id, errs, code := kagami(t, append([]string{"call", url, "ask", "--task", "--detach"}, who...)...)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, errs)
			}
			out, errs, code := kagami(t, append([]string{"tasks", "result", url, strings.TrimSpace(id), "--answers", yes}, who...)...)
			if code != 0 || out != "true\n" || !strings.Contains(errs, "input_required") {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			if revision == "2025-11-25" { // this revision starts tasks only for tools that support them
				return
			}
			out, errs, code = kagami(t, append([]string{"call", url, "early", "--task", "--detach"}, who...)...)
			if code != 1 || out != "" || !strings.Contains(errs, `the server asks before the task exists: "Sure?"`) {
				t.Errorf("early: exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

// The message about a task that is left names who can find it.
func TestWhereaboutsOfTasks(t *testing.T) {
	t.Parallel()
	url := taskSite(t)
	for args, want := range map[string]string{
		"--revision 2025-11-25": "ends with the session of this command",
		"--revision 2026-07-28": "the task continues; ask for it with:\n  kagami tasks get " + url + " ",
		"--bearer x":            " (with the same --bearer and --header)",
	} {
		_, errs, code := kagami(t, append([]string{"call", url, "work", "--task", "--detach"}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
	_, errs, _ := kagami(t, "call", "slow_compute", "seconds=0", "--task", "--detach", "--", everything, "--stdio")
	if !regexp.MustCompile(`kagami tasks get \w+ -- \S+everything --stdio\n`).MatchString(errs) {
		t.Errorf("after dashes:\n%s", errs)
	}
}

func TestTaskInterrupted(t *testing.T) {
	t.Parallel()
	url := taskSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	errs := &cancelling{cancel: cancel} // the first line is the state
	a := &cli{out: &out, errs: errs}
	code := a.run(ctx, []string{"call", url, "work", "ms=500", "--task"})
	found := regexp.MustCompile(`ask for it with:\n  kagami tasks result (\S+) (\w+)\n`).FindStringSubmatch(errs.String())
	if code != 130 || out.Len() > 0 || found == nil {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	if out, errs, code := kagami(t, "tasks", "result", found[1], found[2]); code != 0 || out != "worked\n" || !strings.Contains(errs, "half-way") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
