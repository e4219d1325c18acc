package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

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
