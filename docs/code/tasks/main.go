// Command tasks is the code of docs/tasks.md.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	_ "github.com/kagami-mcp/kagami/framework/store/boltstore"  // --store file:PATH
	_ "github.com/kagami-mcp/kagami/framework/store/redisstore" // --store redis://HOST:PORT/DB
)

// FilmIn is the input of the tools film and remaster.
type FilmIn struct {
	Title  string `json:"title" doc:"title of the film"`
	Scenes int    `json:"scenes,omitempty" doc:"how many scenes it has" default:"3" validate:"min=1,max=500"`
}

// Studio renders films.
type Studio struct {
	Render func(ctx context.Context, title string, scene int) error
	Charge func(ctx context.Context, key, title string) (receipt string, err error) // the same key charges only once
}

// Film may take long. It is the same plain function inside and outside of a task.
func (s *Studio) Film(ctx context.Context, in FilmIn) (string, error) {
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Render %d scenes of %q?", in.Scenes, in.Title))
	if err != nil {
		return "", err
	}
	if !sure {
		return "Nothing was rendered.", nil
	}
	receipt, err := framework.Once(ctx, "charge", func(ctx context.Context) (string, error) {
		return s.Charge(ctx, framework.IdempotencyKey(ctx), in.Title)
	})
	if err != nil {
		return "", err
	}
	for scene := range in.Scenes {
		_, err := framework.Once(ctx, fmt.Sprint("scene ", scene), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, s.Render(ctx, in.Title, scene)
		})
		if err != nil {
			return "", err
		}
		framework.Progress(ctx, scene+1, in.Scenes, fmt.Sprintf("scene %d of %d", scene+1, in.Scenes))
	}
	return fmt.Sprintf("%q is ready, receipt %s.", in.Title, receipt), nil
}

// NewApp returns the app. Tests also call it.
func NewApp(s *Studio, opts ...framework.AppOption) *framework.App {
	return framework.New("studio", "1.0.0", opts...).Add(
		framework.Tool("film", s.Film,
			framework.Describe("Render a film. Asks the user first."),
			framework.Task(framework.TaskOptional,
				framework.TTL(6*time.Hour),
				framework.PollInterval(2*time.Second),
				framework.TaskWhen(func(in FilmIn) bool { return in.Scenes > 1 }),
			)),
	)
}

// Remaster asks before the task exists, and then continues as a task.
func (s *Studio) Remaster(ctx context.Context, in FilmIn) (string, error) {
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Replace %q?", in.Title))
	if err != nil || !sure {
		return "Nothing was changed.", err
	}
	if err := framework.Detach(ctx); err != nil {
		return "", err // the handler runs again in the task, with the answer
	}
	for scene := range in.Scenes {
		if err := s.Render(ctx, in.Title, scene); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%q is replaced.", in.Title), nil
}

// RemasterTool returns a tool whose calls become tasks only after the user has agreed.
func (s *Studio) RemasterTool() framework.Component {
	return framework.Tool("remaster", s.Remaster, framework.Describe("Replace a film. Asks the user first."),
		framework.Task(framework.TaskOptional, framework.AfterDetach()))
}

func main() {
	s := &Studio{
		Render: func(ctx context.Context, _ string, _ int) error {
			select {
			case <-time.Tick(time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Charge: func(_ context.Context, key, _ string) (string, error) { return key, nil },
	}
	serve.Main(NewApp(s))
}
