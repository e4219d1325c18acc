package testkit_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/testkit"
)

type loginIn struct {
	Name     string `json:"name"`
	Password string `json:"password"`
	Pin      string `json:"pin"`
}

type loginOut struct {
	Token string `json:"token"`
	Text  string `json:"text"`
}

// door has what is another in each run, and what must not be kept.
func door(greeting string) *framework.App {
	return framework.New("door", "1").Add(
		framework.Tool("login", func(ctx context.Context, in loginIn) (loginOut, error) {
			framework.Progress(ctx, 1, 2, "knocking")
			why, err := framework.Elicit[string](ctx, "Why?")
			if err != nil {
				return loginOut{}, err
			}
			return loginOut{rand.Text(), greeting + " " + in.Name + ": " + why}, nil
		}, framework.Describe("d")),
		framework.Tool("later", func(ctx context.Context, _ struct{}) (string, error) {
			return framework.Elicit[string](ctx, "When?")
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)),
	)
}

// recorded is what a session at the door left.
func recorded(t *testing.T, opts ...testkit.Option) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "records", "door.jsonl")
	t.Run("record", func(t *testing.T) {
		s := testkit.New(t, door("Welcome"), append(opts, testkit.User("ann"), testkit.Redact("pin"))...)
		s.Record(path)
		s.OnElicit("Why?", "tea")
		s.CallRaw("login", `{"name":"Ann","password":"hunter2","pin":"1234"}`).OK()
		s.CallRaw("login", `{"name":7,"password":"hunter2","pin":"1234"}`).IsError()
		s.Raw(`{"jsonrpc":"2.0","id":1,"method":`)
	})
	return path
}

// The record of a test that fails is not kept, also where it fails for its script alone.
func TestRecordOfAFailure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "door.jsonl")
	got := failures(t, func(t testing.TB) {
		s := testkit.New(t, door("Welcome"))
		s.Record(path)
		s.OnElicit("Why?", "tea")
	})
	if len(got) != 1 || !strings.Contains(got[0], "did not ask") {
		t.Errorf("complaints: %q", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record was written: %v", err)
	}
}

// The frames of a session under Chaos belong to many servers, so that no replay can follow them.
func TestRecordUnderChaos(t *testing.T) {
	t.Parallel()
	app := func() *framework.App { return door("Welcome") }
	for name, start := range map[string]func(s *testkit.Session, path string){
		"before": func(s *testkit.Session, path string) { s.Chaos(); s.Record(path) },
		"after":  func(s *testkit.Session, path string) { s.Record(path); s.Chaos() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "door.jsonl")
			mustFail{func(t testing.TB) { start(testkit.New(t, app), path) }, []string{"Record", "Chaos"}}.once(t)
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the record was written: %v", err)
			}
		})
	}
}

// A carrier with faults repeats answers. A replay could not repeat them.
func TestRecordWithFaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "door.jsonl")
	mustFail{func(t testing.TB) {
		testkit.New(t, door("Welcome"), testkit.Faults(7)).Record(path)
	}, []string{"Record", "Faults"}}.once(t)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record was written: %v", err)
	}
}

// Who called is the same in the replay, as far as it is no secret.
func TestReplayOfAPrincipal(t *testing.T) { //nolint:tparallel // the subtest leaves what is replayed
	t.Parallel()
	app := framework.New("who", "1").Add(framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
		p := framework.Caller(ctx).Principal
		return fmt.Sprintf("%s at %s of %v may %v until %v", p.Subject, p.Issuer, p.Claims["tenant"], p.Scopes, p.Claims["level"]), nil
	}, framework.Describe("d")))
	path := filepath.Join(t.TempDir(), "who.jsonl")
	t.Run("record", func(t *testing.T) {
		s := testkit.New(t, app, testkit.Principal(framework.Principal{
			Subject: "ann", Issuer: "https://id.example", Scopes: []string{"read"},
			Claims: map[string]any{"tenant": "acme", "level": 3, "access_token": "hunter22", "Cookie": "crumbs22"},
		}))
		s.Record(path)
		s.CallRaw("who", "").OK().Mentions("ann at https://id.example of acme may [read] until 3")
	})
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "hunter22") || strings.Contains(string(text), "crumbs22") {
		t.Errorf("%v\n%s", err, text)
	}
	testkit.Replay(t, app, path)
}

func TestReplay(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, door("x"), func(t *testing.T, s *testkit.Session) {
		if testkit.Revision(s) < "2025-06-18" {
			return // which cannot ask
		}
		path := recorded(t, testkit.AtOf(s))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "1234"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%q is in the record:\n%s", secret, text)
			}
		}
		testkit.Replay(t, door("Welcome"), path)
		got := failures(t, func(t testing.TB) { testkit.ReplayIn(t, door("Go away"), path) })
		if len(got) != 1 {
			t.Fatalf("%d complaints: %q", len(got), got)
		}
		for _, want := range []string{"is another now", "/result/", "Welcome Ann: tea", "Go away Ann: tea", "sent: {", "door.jsonl", "line "} {
			if !strings.Contains(got[0], want) {
				t.Errorf("the message lacks %q:\n%s", want, got[0])
			}
		}
	})
}

// TestReplayOfRedactedWords checks a name in Redact, and a redacted value, that are also words of
// the protocol. The replay still calls the same tool at the same revision.
func TestReplayOfRedactedWords(t *testing.T) {
	t.Parallel()
	type in struct {
		Name string `json:"name"`
		Year string `json:"year"`
	}
	app := framework.New("reports", "1").Add(framework.Tool("report_2026", func(_ context.Context, in in) (string, error) {
		return "of " + in.Name, nil
	}, framework.Describe("d")))
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		path := filepath.Join(t.TempDir(), "report.jsonl")
		t.Run("record", func(t *testing.T) {
			s := testkit.New(t, app, testkit.AtOf(s), testkit.Redact("name", "year"))
			s.Record(path)
			s.CallRaw("report_2026", `{"name":"Annabel","year":"2026"}`).OK()
		})
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "Annabel") {
			t.Errorf("%v\n%s", err, text)
		}
		got := failures(t, func(t testing.TB) { testkit.ReplayIn(t, app, path) })
		if len(got) != 0 {
			t.Errorf("%q", got)
		}
	})
}

type card struct {
	Number string `json:"number"`
	CVV    int    `json:"cvv"`
}

type payIn struct {
	Card card `json:"card"`
}

type payOut struct {
	APIKey string    `json:"apiKey"`
	Secret string    `json:"secret"`
	Pins   []int     `json:"pins"`
	At     time.Time `json:"at"`
}

// till has secrets in objects and lists, as a part of one another, in a text before the
// member that says what they are, and in JSON that is a text.
func till() *framework.App {
	return framework.New("till", "1").Add(
		framework.Tool("pay", func(ctx context.Context, in payIn) (payOut, error) {
			framework.Log(ctx).Info("key K-12345-LONG for " + in.Card.Number)
			return payOut{"K-12345-LONG", "K-12345", []int{987, 654}, time.Now()}, nil
		}, framework.Describe("d")),
	)
}

// TestSecretsOfRecords: none is in the record, at whatever revision, and what was recorded
// is what the same server says again.
func TestSecretsOfRecords(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, till, func(t *testing.T, s *testkit.Session) {
		path := filepath.Join(t.TempDir(), "till.jsonl")
		t.Run("record", func(t *testing.T) {
			s := testkit.New(t, till, testkit.AtOf(s), testkit.Redact("Card", "pins"))
			s.Record(path)
			s.LogLevel("info")
			if len(s.Tools()) != 1 {
				t.Error("there is no tool")
			}
			s.CallRaw("pay", `{"card":{"number":"4111-1111-1111","cvv":321}}`).OK()
			s.Raw(`{"oh":"K-12345-LONG"`)
		})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"4111", "321", "12345", "LONG", "987", "654"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%q is in the record:\n%s", secret, text)
			}
		}
		if !strings.Contains(string(text), `"cvv":{`) {
			t.Errorf("the schema is not in the record:\n%s", text)
		}
	})
}

// TestReplayOfTimes: they are others in each run, also where JSON is a text.
func TestReplayOfTimes(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, till, func(t *testing.T, s *testkit.Session) {
		path := filepath.Join(t.TempDir(), "till.jsonl")
		t.Run("record", func(t *testing.T) {
			s := testkit.New(t, till, testkit.AtOf(s))
			s.Record(path)
			s.CallRaw("pay", `{"card":{"number":"4111-1111-1111","cvv":321}}`).OK()
		})
		testkit.Replay(t, till, path)
	})
}

// TestReplayWithOptions checks that a replay uses the options that its session needed.
func TestReplayWithOptions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clean.jsonl")
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		app := framework.New("long", "1").UseStore(foreign{t}).Add(framework.Tool("clean", func(context.Context, struct{}) (string, error) {
			go forgotten(release)
			time.Sleep(3 * time.Hour)
			return "clean", nil
		}, framework.Describe("d")))
		opts := []testkit.Option{testkit.Timeout(24 * time.Hour), testkit.MayLeave("testkit_test.forgotten"), testkit.Store(memory.New())}
		if got := failures(t, func(t testing.TB) {
			s := testkit.New(t, app, opts...)
			s.Record(path)
			s.CallRaw("clean", "").OK()
		}); got != nil {
			t.Errorf("recording: %q", got)
		}
		if got := failures(t, func(t testing.TB) { testkit.ReplayIn(t, app, path, opts...) }); got != nil {
			t.Errorf("replaying: %q", got)
		}
		mustFail{func(t testing.TB) { testkit.ReplayIn(t, app, path, nil) }, []string{"an Option is nil"}}.once(t)
		mustFail{func(t testing.TB) { testkit.ReplayIn(t, app, path, testkit.Timeout(0)) }, []string{"Timeout(0s)"}}.once(t)
	})
}

// TestReplayOfManySecrets: a text with many takes no longer than another.
func TestReplayOfManySecrets(t *testing.T) {
	t.Parallel()
	want, got := strings.Repeat("<redacted>a", 40)+"b", strings.Repeat("xa", 2000)
	for text, fits := range map[string]bool{got + "b": true, got: false, "b": false} {
		if testkit.Matches(want, text) != fits {
			t.Errorf("a text of %d bytes fits: %v", len(text), !fits)
		}
	}
}

// TestReplayOfATask: the id of a task is another in each run.
func TestReplayOfATask(t *testing.T) { //nolint:tparallel // the replay reads what the subtest wrote
	t.Parallel()
	testkit.Replay(t, door(""), recordedTask(t))
}

// recordedTask is what a session with a task left.
func recordedTask(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "task.jsonl")
	t.Run("record", func(t *testing.T) {
		s := testkit.New(t, door(""))
		s.Record(path)
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		var task struct {
			ID string `json:"taskId"`
		}
		s.Raw(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"later",` + meta + `}}`).JSON(&task)
		s.Raw(`{"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"taskId":"` + task.ID + `",` + meta + `}}`).OK()
		s.Raw(`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"` + task.ID + `",` + meta + `}}`).OK().Mentions("cancelled")
	})
	return path
}

// pings are some with their answers.
func pings(from, to int) string {
	var all strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&all, `{"client":{"jsonrpc":"2.0","id":%d,"method":"ping"}}`+"\n"+`{"server":{"jsonrpc":"2.0","id":%d,"result":{}}}`+"\n", i, i)
	}
	return all.String()
}

func TestReplayFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const head = `{"testkit":1,"revision":"2025-11-25"}` + "\n"
	const ping = `{"client":{"jsonrpc":"2.0","id":1,"method":"ping"}}` + "\n"
	for name, tt := range map[string]struct {
		record string
		want   []string
	}{
		"no record":     {"{}\n", []string{"not a record of a session"}},
		"a newer one":   {"{\"testkit\":2,\"scopes\":7}\n{\"note\":\"x\"}\n", []string{"line 1", "newer version"}},
		"no line":       {head + "{}\n", []string{"line 2", "one frame"}},
		"no JSON":       {head + "{\n", []string{"line 2", "unexpected"}},
		"another one":   {head + ping + `{"server":{"jsonrpc":"2.0","id":1,"result":{"x":1}}}` + "\n", []string{"line 3 is another now", "/result/x is gone, want 1"}},
		"a member more": {head + ping + `{"server":{"jsonrpc":"2.0","id":1}}` + "\n", []string{"/result is new: {}"}},
		"more":          {head + ping + pings(2, 50), []string{"what the record does not have", `"id":1`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
			if err := os.WriteFile(path, []byte(tt.record), 0o600); err != nil {
				t.Fatal(err)
			}
			mustFail{func(t testing.TB) { testkit.ReplayIn(t, door(""), path) }, tt.want}.once(t)
		})
	}
	mustFail{func(t testing.TB) { testkit.ReplayIn(t, door(""), filepath.Join(dir, "nowhere")) }, []string{"reading a record"}}.once(t)
	mustFail{func(t testing.TB) {
		s := testkit.New(t, func() *framework.App { return door("") })
		s.Chaos()
		s.Record(filepath.Join(dir, "chaos"))
	}, []string{"under Chaos"}}.once(t)
}
