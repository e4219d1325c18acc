package testkit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type waitIn struct {
	For   time.Duration `json:"for" validate:"min=0"`
	Exact int64         `json:"exact,omitempty"`
}

type waitOut struct {
	Waited time.Duration `json:"waited"`
	Exact  int64         `json:"exact"`
	Names  []string      `json:"names"`
}

var errOutOfTea = framework.UserErrorf("out of tea")

// handles are a fresh set of components, so that tests may run in parallel.
type handles struct {
	wait  *framework.ToolOf[waitIn, waitOut]
	sum   *framework.ToolOf[struct{ Values []int64 }, int64]
	fail  *framework.ToolOf[struct{}, string]
	stray *framework.ToolOf[struct{}, string]
}

func newHandles() *handles {
	h := &handles{}
	h.wait = framework.Tool("wait", func(ctx context.Context, in waitIn) (waitOut, error) {
		for i := range 5 {
			framework.Progress(ctx, i+1, 5, "waiting")
		}
		framework.Notify(ctx, protocol.LevelInfo, "waited")
		return waitOut{Waited: in.For, Exact: in.Exact}, nil
	})
	h.sum = framework.Tool("sum", func(_ context.Context, in struct{ Values []int64 }) (int64, error) {
		var n int64
		for _, v := range in.Values {
			n += v
		}
		return n, nil
	})
	h.fail = framework.Tool("fail", func(context.Context, struct{}) (string, error) { return "", errOutOfTea })
	h.stray = framework.Tool("stray", func(context.Context, struct{}) (string, error) { return "", nil })
	return h
}

func (h *handles) app() *framework.App {
	return framework.New("kit", "1").Add(
		h.wait,
		framework.Group("math", h.sum),
		h.fail,
		framework.Tool("whoami", func(ctx context.Context, _ struct{}) (string, error) {
			if p := framework.Caller(ctx).Principal; p != nil {
				return p.Subject, nil
			}
			return "nobody", nil
		}),
		framework.Tool("secret", func(context.Context, struct{}) (string, error) { return "42", nil }, framework.Scopes("admin")),
		framework.Tool("greet", func(ctx context.Context, _ struct{}) (string, error) {
			a, err := framework.ElicitAnswer[string](ctx, "What is your name?")
			if err != nil {
				return "", err
			}
			return a.Action + " " + a.Value, nil
		}),
		framework.Tool("travel", func(ctx context.Context, _ struct{}) (string, error) {
			return framework.Elicit[string](ctx, "Which city?")
		}),
		framework.Tool("think", func(ctx context.Context, _ struct{}) (string, error) {
			g, err := framework.Generate(ctx, "Think of a number")
			if err != nil {
				return "", err
			}
			return g.Text(), nil
		}),
		framework.Tool("where", func(ctx context.Context, _ struct{}) (string, error) {
			roots, err := framework.Roots(ctx)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(roots), roots[0].URI), nil
		}),
		framework.Tool("rich", func(context.Context, struct{}) (framework.Rich[waitOut], error) {
			return framework.Rich[waitOut]{
				Value: waitOut{Exact: 1}, Content: framework.Content{framework.Text("own text")}, Meta: protocol.Meta{"k": "v"},
			}, nil
		}),
		framework.Resource("tea://menu", func(context.Context) (waitOut, error) {
			return waitOut{Waited: time.Minute, Names: []string{"sencha"}}, nil
		}),
		framework.Resource("tea://blob", func(context.Context) ([]byte, error) { return []byte{1, 2}, nil }),
		framework.ResourceTemplate("tea://cups/{name}", func(_ context.Context, p struct {
			Name string `uri:"name"`
		},
		) (string, error) {
			return "a cup of " + p.Name, nil
		}, framework.Complete("name", func(context.Context, string, map[string]string) ([]string, error) {
			return []string{"sencha", "gyokuro"}, nil
		})),
		framework.Prompt("brew", func(_ context.Context, in struct {
			Tea string `json:"tea"`
		},
		) (framework.Messages, error) {
			return framework.Messages{framework.User("Brew " + in.Tea)}, nil
		}, framework.Complete("tea", func(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
			return []string{prefix + "cha"}, nil
		})),
	)
}
