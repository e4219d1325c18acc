package main

import (
	"context"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

// other returns the server behind the proxy.
func other(t testing.TB) *framework.Server {
	t.Helper()
	type nameIn struct {
		Name string `uri:"name"`
	}
	s, err := framework.New("other", "1.0.0").Add(
		framework.Tool("count", func(ctx context.Context, _ struct{}) ([]string, error) {
			var counted []string
			for _, item := range framework.Track(ctx, []string{"one", "two"}, "counting") {
				counted = append(counted, item)
			}
			return counted, nil
		}, framework.Describe("Count."), framework.ReadOnly()),
		framework.Tool("say", func(context.Context, struct{}) (string, error) { return "hello", nil }),
		framework.Tool("fail", func(context.Context, struct{}) (string, error) { return "", framework.UserErrorf("out of tea") }),
		framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			name, err := framework.Elicit[string](ctx, "Your name?")
			if err != nil {
				return "", err
			}
			sure, err := framework.Elicit[bool](ctx, "Sure, "+name+"?")
			if err != nil || !sure {
				return "not sure", err
			}
			return "sure, " + name, nil
		}),
		framework.ResourceTemplate("notes://{name}", func(_ context.Context, in nameIn) (string, error) {
			if in.Name != "milk" {
				return "", framework.NotFoundf("no note %q", in.Name)
			}
			return "Buy milk.", nil
		}),
	).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

func TestProxy(t *testing.T) {
	testkit.AllRevisions(t, func(t testing.TB) *framework.App {
		app, err := NewApp(t.Context(), client.InMemory(other(t)))
		if err != nil {
			t.Fatal(err)
		}
		return app
	}, func(t *testing.T, s *testkit.Session) {
		counted, err := testkit.CallAs[[]string](s, "other_count", nil)
		if err != nil || !slices.Equal(counted, []string{"one", "two"}) || len(s.Progress()) == 0 {
			t.Errorf("%q, %v, %+v", counted, err, s.Progress())
		}
		s.CallRaw("other_say", "").OK().Mentions("hello")
		s.CallRaw("other_fail", "").IsError().Mentions("out of tea")
		s.Read("notes://milk").OK().Mentions("Buy milk.")
		s.Read("notes://mlik").IsError().Mentions("no note")
	})
}

// A server without resources may refuse to list them.
func TestProxyWithoutResources(t *testing.T) {
	testkit.BothEras(t, func(t testing.TB) *framework.App {
		s, err := framework.New("other", "1.0.0").Add(
			framework.Tool("say", func(context.Context, struct{}) (string, error) { return "hello", nil }),
		).Build()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
		app, err := NewApp(t.Context(), client.InMemory(s))
		if err != nil {
			t.Fatal(err)
		}
		return app
	}, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("other_say", "").OK().Mentions("hello")
	})
}

// A question of the other server goes to the user of the call.
func TestQuestions(t *testing.T) {
	testkit.BothEras(t, func(t testing.TB) *framework.App {
		app, err := NewApp(t.Context(), client.InMemory(other(t)))
		if err != nil {
			t.Fatal(err)
		}
		return app
	}, func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("Your name?", "Ada")
		s.OnElicit("Sure, Ada?", true)
		s.CallRaw("other_ask", "").OK().Mentions("sure, Ada")
		s.OnElicit("Your name?", testkit.Decline)
		s.CallRaw("other_ask", "").IsError().Mentions("declined")
	})
}
