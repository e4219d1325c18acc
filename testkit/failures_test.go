package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// fakeTB is a test that notes its failures, and ends before the real one.
type fakeTB struct {
	testing.TB
	mu       sync.Mutex
	failed   []string
	logged   []string
	skipped  bool
	cleanups []func()
}

func (f *fakeTB) Cleanup(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanups = append(f.cleanups, fn)
}

func (f *fakeTB) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.failed) > 0
}

func (f *fakeTB) FailNow() { runtime.Goexit() }

func (f *fakeTB) SkipNow() {
	f.mu.Lock()
	f.skipped = true
	f.mu.Unlock()
	runtime.Goexit()
}

func (f *fakeTB) Skipped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skipped
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = append(f.logged, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// failures runs body as a test of its own and returns what it complained about.
func failures(t *testing.T, body func(testing.TB)) []string {
	t.Helper()
	return ended(t, body).failed
}

// ended runs body as a test of its own to its end.
func ended(t *testing.T, body func(testing.TB)) *fakeTB {
	t.Helper()
	f := &fakeTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(f)
	}()
	<-done
	for _, fn := range slices.Backward(f.cleanups) {
		fn()
	}
	return f
}

// mustFail is what must fail once, with words that say why.
type mustFail struct {
	body func(testing.TB)
	want []string
}

func (f mustFail) once(t *testing.T) {
	t.Helper()
	got := failures(t, f.body)
	if len(got) != 1 {
		t.Fatalf("%d complaints, want 1: %q", len(got), got)
	}
	for _, w := range append(f.want, "testkit: ") {
		if !strings.Contains(got[0], w) {
			t.Errorf("the message lacks %q:\n%s", w, got[0])
		}
	}
}

// TestCallInCleanup checks that a call or a wait in t.Cleanup fails at once. The failure contains
// the reason: the context of the test has ended.
func TestCallInCleanup(t *testing.T) { //nolint:tparallel // it looks at what each subtest left
	t.Parallel()
	for name, use := range map[string]func(*testkit.Session){
		"call":         func(s *testkit.Session) { s.CallRaw("whoami", "") },
		"notification": func(s *testkit.Session) { s.AwaitNotification("example.com/x") },
		"condition":    func(s *testkit.Session) { s.Eventually("nothing", func() bool { return false }) },
	} {
		var got []string
		t.Run(name, func(t *testing.T) {
			f := &fakeTB{TB: t}
			s := testkit.New(f, newHandles().app(), testkit.Timeout(time.Minute))
			t.Cleanup(func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					use(s)
				}()
				<-done
				got = slices.Clone(f.failed)
				for _, fn := range slices.Backward(f.cleanups) {
					fn()
				}
			})
		})
		if len(got) != 1 || !strings.Contains(got[0], "t.Cleanup") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A test that is skipped has not come to the end of its script, and fails for nothing.
func TestSkipped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "skipped.jsonl")
	got := failures(t, func(t testing.TB) {
		s := testkit.New(t, newHandles().app())
		s.Record(path)
		s.OnElicit("name", "Ann")
		s.Rounds("greet", "").Tamper()
		t.SkipNow()
	})
	if len(got) != 0 {
		t.Errorf("complaints: %q", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record was written: %v", err)
	}
}

// Every assertion can fail, once, with a message that says what was sent and what came back.
func TestAssertionsFail(t *testing.T) {
	t.Parallel()
	at := func(t testing.TB, opts ...testkit.Option) *testkit.Session {
		return testkit.New(t, newHandles().app(), append(opts, testkit.At(protocol.Rev20251125))...)
	}
	tests := map[string]mustFail{
		"OK":               {func(t testing.TB) { at(t).CallRaw("fail", `{}`).OK() }, []string{"want success", `{"name":"fail","arguments":{}}`, "out of tea"}},
		"OK of a refusal":  {func(t testing.TB) { at(t).CallRaw("none", `{}`).OK() }, []string{"want success", "-32602"}},
		"IsError":          {func(t testing.TB) { at(t).CallRaw("whoami", "").IsError() }, []string{"want an error", "tools/call", "nobody"}},
		"Code":             {func(t testing.TB) { at(t).CallRaw("none", "").Code(-32601) }, []string{"want JSON-RPC error -32601", "-32602"}},
		"Code of isError":  {func(t testing.TB) { at(t).CallRaw("fail", "").Code(-32602) }, []string{"want JSON-RPC error -32602"}},
		"Mentions":         {func(t testing.TB) { at(t).CallRaw("whoami", "").Mentions("nobody", "zebra") }, []string{`"zebra"`, "nobody"}},
		"Omits":            {func(t testing.TB) { at(t).CallRaw("whoami", "").Omits("zebra", "body") }, []string{`"body"`}},
		"JSON":             {func(t testing.TB) { at(t).CallRaw("whoami", "").JSON(new(int)) }, []string{"*int"}},
		"JSON of an error": {func(t testing.TB) { at(t).CallRaw("fail", "").JSON(new(int)) }, []string{"want success"}},
		"Blocks":           {func(t testing.TB) { at(t).Read("tea://menu").Blocks() }, []string{"result of a tool", "tea://menu"}},
		"Contents":         {func(t testing.TB) { at(t).Read("tea://none").Contents() }, []string{"contents of a resource", "tea://none"}},
		"Messages":         {func(t testing.TB) { at(t).CallRaw("whoami", "").Messages() }, []string{"messages of a prompt"}},
		"Meta":             {func(t testing.TB) { at(t).CallRaw("none", "").Meta() }, []string{"want a result"}},
		"CallRaw":          {func(t testing.TB) { at(t).CallRaw("whoami", "{") }, []string{"not JSON", "Raw"}},
		"Call of a stranger": {
			func(t testing.TB) { _, _ = testkit.Call(at(t), newHandles().stray, struct{}{}) },
			[]string{`does not have the tool "stray"`},
		},
		"Complete":            {func(t testing.TB) { at(t).Complete("none", "x", "", nil) }, []string{"completing x of none", "-32602"}},
		"Subscribe":           {func(t testing.TB) { at(t).Subscribe("tea://none") }, []string{"subscribing to tea://none"}},
		"LogLevel":            {func(t testing.TB) { at(t).LogLevel("loud") }, []string{`"loud"`}},
		"unanswered question": {func(t testing.TB) { s := at(t); s.OnElicit("age", 1); s.CallRaw("greet", "").IsError() }, []string{"What is your name?", "OnElicit", `scripted: "age"`, `"properties"`}},
		"unanswered in a round": {
			func(t testing.TB) {
				s := testkit.New(t, newHandles().app())
				s.OnElicit("age", 1)
				s.CallRaw("greet", "").IsError()
			},
			[]string{"What is your name?", "OnElicit", `scripted: "age"`},
		},
		"what does not pass the form": {
			func(t testing.TB) { s := testkit.New(t, newHandles().app()); s.OnElicit("", 7); s.CallRaw("greet", "") },
			[]string{`{"value":7} does not pass the form`, "value: must be a string", `"properties"`},
		},
		"an unmet question":     {func(t testing.TB) { at(t).OnElicit("age", 1) }, []string{"did not ask the user", `"age"`}},
		"an unmet sample":       {func(t testing.TB) { at(t).OnSample("age", "") }, []string{"did not ask the model", `"age"`}},
		"an unmet turn":         {func(t testing.TB) { at(t).OnSampleTools(testkit.Turn{}) }, []string{"1 more turns"}},
		"OnSampleTools without": {func(t testing.TB) { at(t, testkit.Without("sampling")).OnSampleTools() }, []string{"without sampling"}},
		"a handler that varies": {
			func(t testing.TB) { s := testkit.New(t, varying); s.OnElicit("", "x"); s.CallRaw("vary", "") },
			[]string{"tools/call vary", "- asks q1", "+ asks q1", "number 1", "number 2"},
		},
		"a question that changes": {
			func(t testing.TB) {
				city := "Oslo"
				s := testkit.New(t, framework.New("kit", "1").Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
					return framework.Elicit[string](ctx, city+"?")
				})))
				s.OnElicit("Oslo?", func(testkit.Form) any { city = "Rome"; return "x" })
				s.OnElicit("Rome?", "y")
				s.CallRaw("t", "").OK().Mentions("y")
			},
			[]string{"tools/call t", `"q1"`, "is not the one that was asked"},
		},
		"chaos of one app":          {func(t testing.TB) { testkit.New(t, newHandles().app()).Chaos() }, []string{"Chaos needs a function"}},
		"rounds of the past":        {func(t testing.TB) { at(t).Rounds("greet", "") }, []string{"Rounds at 2025-11-25"}},
		"an open call":              {func(t testing.TB) { rounds(t).Result() }, []string{"not done", "What is your name?", `sent: tools/call {"name":"greet"`}},
		"too many answers":          {func(t testing.TB) { rounds(t).Answer(1, 2) }, []string{"2 answers to 1 questions", "What is your name?", `sent: tools/call {"name":"greet"`}},
		"a wrong answer":            {func(t testing.TB) { rounds(t).Answer(1) }, []string{"does not pass the form", "q1", "sent: tools/call"}},
		"one answer more":           {func(t testing.TB) { rounds(t).Answer("x").Answer("y") }, []string{"the call is done", "accept x", "sent: tools/call"}},
		"dropped what is not there": {func(t testing.TB) { rounds(t).DropAnswer(1).Answer("x") }, []string{"DropAnswer(1) of 1", "sent: tools/call"}},
		"tampered too early":        {func(t testing.TB) { rounds(t).Tamper().Resend() }, []string{"neither a state nor answers"}},
		"tampered too late":         {func(t testing.TB) { rounds(t).Answer("x").Tamper().Result() }, []string{"Tamper", "the next request", "no request followed", "sent: tools/call"}},
		"tampered for nothing":      {func(t testing.TB) { rounds(t).OtherUser("eve") }, []string{"OtherUser", "no request followed", "sent: tools/call"}},
		"a function of another type": {func(t testing.TB) {
			s := at(t)
			s.OnElicit("", func() string { return "x" })
			s.CallRaw("greet", "")
		}, []string{"What is your name?", "func() string", "func(testkit.Form) any"}},
		"unencodable answer":         {func(t testing.TB) { s := at(t); s.OnElicit("", make(chan int)); s.CallRaw("greet", "") }, []string{"What is your name?", "chan int"}},
		"unanswered model":           {func(t testing.TB) { at(t).CallRaw("think", "").IsError() }, []string{"Think of a number", "OnSample"}},
		"OnElicit without":           {func(t testing.TB) { at(t, testkit.Without("elicitation")).OnElicit("x", 1) }, []string{"without elicitation"}},
		"OnSample without":           {func(t testing.TB) { at(t, testkit.Without("sampling")).OnSample("x", "y") }, []string{"without sampling"}},
		"Roots without":              {func(t testing.TB) { at(t, testkit.Without("roots")).Roots() }, []string{"without roots"}},
		"Without what":               {func(t testing.TB) { at(t, testkit.Without("flying")) }, []string{"flying", "elicitation"}},
		"At what":                    {func(t testing.TB) { testkit.New(t, newHandles().app(), testkit.At(protocol.Revision{})) }, []string{"published revision"}},
		"an app that does not build": {func(t testing.TB) { h := newHandles(); testkit.New(t, h.app().Add(h.wait)) }, []string{"does not build", "wait"}},
		"an app that does not start": {func(t testing.TB) {
			testkit.New(t, newHandles().app().OnStart(func(context.Context, *framework.Server) error { return errors.New("no database") }))
		}, []string{"does not start", "no database"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.once(t)
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got := failures(t, func(t testing.TB) { testkit.New(t, hanging()).CallRaw("hang", "") })
		if len(got) != 1 || !strings.Contains(got[0], "no answer") || !strings.Contains(got[0], `"hang"`) || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %q", time.Since(start), got)
		}
		start = time.Now()
		got = failures(t, func(t testing.TB) {
			testkit.New(t, newHandles().app(), testkit.Timeout(time.Second)).AwaitNotification("example.com/x")
		})
		if len(got) != 1 || !strings.Contains(got[0], "no example.com/x within 1s") || time.Since(start) != time.Second {
			t.Errorf("after %v: %q", time.Since(start), got)
		}
	})
}

func rounds(t testing.TB) *testkit.Rounds {
	t.Helper()
	return testkit.New(t, newHandles().app()).Rounds("greet", "")
}

// varying asks something else each time that it runs.
func varying() *framework.App {
	n := 0
	return framework.New("kit", "1").Add(framework.Tool("vary", func(ctx context.Context, _ struct{}) (string, error) {
		if n++; n > 2 {
			return "done", nil
		}
		return framework.Elicit[string](ctx, fmt.Sprint("number ", n))
	}))
}

func hanging() *framework.App {
	return framework.New("kit", "1").Add(framework.Tool("hang", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}))
}

// A list that the server does not serve ends the test too.
func TestListsFail(t *testing.T) {
	t.Parallel()
	refuse := framework.OnList("refuse", func(context.Context, *framework.Call, framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
		return nil, framework.UserErrorf("closed today")
	})
	for name, list := range map[string]func(*testkit.Session){
		"tools/list":               func(s *testkit.Session) { s.Tools() },
		"resources/list":           func(s *testkit.Session) { s.Resources() },
		"resources/templates/list": func(s *testkit.Session) { s.Templates() },
		"prompts/list":             func(s *testkit.Session) { s.Prompts() },
	} {
		got := failures(t, func(t testing.TB) { list(testkit.New(t, newHandles().app().Use(refuse))) })
		if len(got) != 1 || !strings.Contains(got[0], name) || !strings.Contains(got[0], "closed today") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
