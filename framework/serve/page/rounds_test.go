package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
)

// buys has an effect before its question, and another one after it, which fails.
func buys() framework.Component {
	return framework.Tool("buy", func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := framework.Once(ctx, "charge", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		if _, err := framework.Elicit[yesNo](ctx, "Sure?"); err != nil {
			return "", err
		}
		_, err := framework.Once(ctx, "mail", func(context.Context) (int, error) { return 0, errors.New("no mail") })
		return "", err
	})
}

// TestRounds: a page of the server's own process sees what ran in each round; another one sees the rounds.
func TestRounds(t *testing.T) {
	t.Parallel()
	const (
		charge = `{"key":"charge","how":"ran"}`
		replay = `{"key":"charge","how":"journal"}`
		mail   = `{"key":"mail","how":"failed"}`
	)
	for name, c := range map[string]struct {
		inside   bool
		revision string
		want     string
	}{
		"inside":           {true, "2026-07-28", `[{"asks":1,"effects":[` + charge + `]},{"asks":0,"effects":[` + replay + `,` + mail + `]}]`},
		"inside, live":     {true, "2025-06-18", `[{"asks":0,"effects":[` + charge + `,` + mail + `]}]`},
		"elsewhere":        {false, "2026-07-28", `[{"asks":1,"effects":null},{"asks":0,"effects":null}]`},
		"elsewhere, live":  {false, "2025-06-18", `null`},
		"inside, declined": {true, "2026-07-28", `[{"asks":1,"effects":[` + charge + `]},{"asks":0,"effects":[` + replay + `]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := page.Options{Host: host(t, buys())}
			if c.inside {
				o.Inside = func() *surface.Inside { return &surface.Inside{} }
			}
			b := opened(t, o)
			b.ask(http.MethodPost, "/api/connect", `{"revision":"`+c.revision+`"}`, nil)
			id := b.start(`{"method":"tools/call","name":"buy"}`)
			answer := `{"action":"accept","content":{"sure":true}}`
			if name == "inside, declined" {
				answer = `{"action":"decline"}`
			}
			b.ask(http.MethodPost, "/api/questions/"+b.question().ID, answer, nil)
			b.end(id)
			var seen struct {
				Rounds []struct {
					Asks    int `json:"asks"`
					Effects []struct {
						Key string `json:"key"`
						How string `json:"how"`
					} `json:"effects"`
				}
			}
			b.ask(http.MethodGet, "/api/calls/"+id, "", &seen)
			if got, _ := json.Marshal(seen.Rounds); string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// passing is a step that does something, and then runs the rest of the chain.
func passing(name string, do func(run func())) framework.Middleware {
	return framework.Middleware{Name: name, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (result *framework.Result, err error) {
			do(func() { result, err = next(ctx, call) })
			return result, err
		}
	}}
}

// TestSteps: a page of the server's own process sees how long each step of the chain took by itself.
func TestSteps(t *testing.T) {
	t.Parallel()
	const pause = 20 * time.Millisecond
	twice := passing("twice", func(run func()) { run(); run() })
	sleeps := passing("sleeps", func(run func()) { time.Sleep(pause); run() })
	tool := framework.Tool("wait", func(context.Context, struct{}) (string, error) {
		time.Sleep(pause)
		return "done", nil
	}, framework.With(twice, sleeps))
	type seen struct {
		Rounds []struct {
			Steps []struct {
				Name    string
				Ms, Own float64
			}
		}
	}
	called := func(o page.Options) (s seen) {
		b := opened(t, o)
		id := b.start(`{"method":"tools/call","name":"wait"}`)
		b.end(id)
		b.ask(http.MethodGet, "/api/calls/"+id, "", &s)
		return s
	}
	if s := called(page.Options{Host: host(t, tool)}); len(s.Rounds) > 0 {
		t.Errorf("a page of another process sees %+v", s)
	}
	s := called(page.Options{Host: host(t, tool), Inside: func() *surface.Inside { return &surface.Inside{} }})
	if len(s.Rounds) != 1 || len(s.Rounds[0].Steps) != 3 {
		t.Fatalf("got %+v", s)
	}
	outer, sleeping, handler := s.Rounds[0].Steps[0], s.Rounds[0].Steps[1], s.Rounds[0].Steps[2]
	if outer.Name != "twice" || sleeping.Name != "sleeps" || handler.Name != "handler" {
		t.Errorf("the steps are %+v", s.Rounds[0].Steps)
	}
	both := 2 * float64(pause.Milliseconds())
	if outer.Ms < 2*both || math.Abs(outer.Own-(outer.Ms-sleeping.Ms)) > 0.01 || sleeping.Own < both || handler.Own < both {
		t.Errorf("the times are %+v", s.Rounds[0].Steps)
	}
}
