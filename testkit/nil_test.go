package testkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// TestNilArguments are errors, wherever they are given: nothing crashes.
func TestNilArguments(t *testing.T) {
	t.Parallel()
	server, err := newHandles().app().Build()
	if err != nil {
		t.Fatal(err)
	}
	connect := func(to client.Target, opts ...client.Option) error {
		c, err := client.Connect(t.Context(), to, opts...)
		return errors.Join(err, closing(c))
	}
	calling := func(call func(*client.Client) error) error {
		c, err := client.Connect(t.Context(), client.InMemory(server))
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(call(c), c.Close())
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"transport":      {server.Serve(t.Context(), stdio.New(), nil), "framework: Serve: transport 2 of 2 is nil"},
		"effect":         {effect(framework.Once[int](t.Context(), "k", nil)), `once "k": the effect is nil`},
		"target":         {connect(nil), "client: connecting: the target is nil"},
		"dial":           {connect(client.Over(nil)), "client: connecting: the target is nil"},
		"command":        {connect(client.Command(nil)), "client: connecting: stdio: there is no command to start"},
		"server":         {connect(client.InMemory(nil)), "client: connecting: the server is nil"},
		"option":         {connect(client.InMemory(server), client.Name("c", "1"), nil), "client: connecting: an option is nil"},
		"option of HTTP": {connect(client.HTTP("http://localhost", nil)), "client: connecting: an option of HTTP is nil"},
		"option of CallTool": {calling(func(c *client.Client) error {
			_, err := c.CallTool(t.Context(), "ok", nil, nil)
			return err
		}), "client: an option of the call is nil"},
		"option of CallTask": {calling(func(c *client.Client) error {
			_, err := c.CallTask(t.Context(), "ok", nil, nil)
			return err
		}), "client: an option of the call is nil"},
		"option of Request": {calling(func(c *client.Client) error {
			_, err := c.Request(t.Context(), "x/y", nil, nil)
			return err
		}), "client: an option of the call is nil"},
	} {
		if test.err == nil || !strings.HasPrefix(test.err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, test.err, test.want)
		}
	}
	mustFail{func(t testing.TB) { testkit.New(t, newHandles().app(), testkit.Ordered(), nil) }, []string{"an Option is nil"}}.once(t)
}

// TestNilSources fail the test, and do not end all others with it.
func TestNilSources(t *testing.T) {
	t.Parallel()
	made := 0
	once := func() *framework.App { // then nil
		if made++; made > 1 {
			return nil
		}
		return newHandles().app()
	}
	for name, test := range map[string]mustFail{
		"app":                    {func(t testing.TB) { testkit.New(t, (*framework.App)(nil)) }, []string{"the app is nil"}},
		"function":               {func(t testing.TB) { testkit.New(t, (func() *framework.App)(nil)) }, []string{"that makes the app is nil"}},
		"function of TB":         {func(t testing.TB) { testkit.New(t, (func(testing.TB) *framework.App)(nil)) }, []string{"that makes the app is nil"}},
		"what it makes":          {func(t testing.TB) { testkit.New(t, func() *framework.App { return nil }) }, []string{"returned nil"}},
		"function of Serve":      {func(t testing.TB) { testkit.Serve(t, nil) }, []string{"that makes the app is nil"}},
		"what it makes of a URL": {func(t testing.TB) { testkit.Serve(t, func(string) *framework.App { return nil }) }, []string{"returned nil"}},
		"a later one": {func(t testing.TB) {
			s := testkit.New(t, once)
			s.Chaos()
			s.CallRaw("whoami", "")
		}, []string{"returned nil"}},
		"time":  {func(t testing.TB) { testkit.New(t, newHandles().app(), testkit.Timeout(0)) }, []string{"Timeout(0s)"}},
		"store": {func(t testing.TB) { testkit.New(t, newHandles().app(), testkit.Store((*memory.Store)(nil))) }, []string{"Store: the *memory.Store is nil"}},
		"condition": {func(t testing.TB) {
			testkit.New(t, newHandles().app()).Eventually("it is so", nil)
		}, []string{`Eventually("it is so"): the condition is nil`}},
		"answer": {func(t testing.TB) {
			s := testkit.New(t, door("Welcome"))
			s.OnElicit("Why", (func(testkit.Form) any)(nil))
			s.CallRaw("login", `{"name":"Ann","password":"","pin":""}`)
		}, []string{`the answer to "Why?": the function that answers is nil`}},
		"body": {func(t testing.TB) { testkit.Given(t, nil) }, []string{"the body is nil"}},
		"tool of Call": {func(t testing.TB) {
			_, _ = testkit.Call(testkit.New(t, newHandles().app()), (*framework.ToolOf[struct{}, string])(nil), struct{}{})
		}, []string{"the tool is nil"}},
		"tool of Start": {func(t testing.TB) {
			testkit.Start(testkit.New(t, newStudio().app()), (*framework.ToolOf[struct{}, string])(nil), struct{}{})
		}, []string{"the tool is nil"}},
		"tool of another handle": {func(t testing.TB) {
			other := framework.Tool("whoami", func(context.Context, struct{}) (string, error) { return "", nil })
			_, _ = testkit.Call(testkit.New(t, newHandles().app()), other, struct{}{})
		}, []string{`does not have the tool "whoami"`, "another call of framework.Tool", "CallAs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.once(t)
		})
	}
	if _, err := testkit.MistakesOf((*framework.ToolOf[struct{}, string])(nil)); err == nil || !strings.Contains(err.Error(), "the tool is nil") {
		t.Errorf("Mistakes: %v", err)
	}
}

func effect(_ int, err error) error { return err }

func closing(c *client.Client) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// TestOptionsCopyLists: a program may use its lists again after it made an option.
func TestOptionsCopyLists(t *testing.T) {
	t.Parallel()
	names := []string{"first"}
	options := []testkit.Option{testkit.Without(names...), testkit.MayLeave(names...), testkit.Redact(names...), testkit.User("ann", names...)}
	names[0] = "second"
	if got := testkit.Lists(options...); strings.Count(got, "first") != 4 || strings.Contains(got, "second") {
		t.Error(got)
	}
}
