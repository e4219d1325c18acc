package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// books counts the effects of a studio.
type books struct {
	mu      sync.Mutex // guards the fields below
	charged map[string]int
	scenes  map[int]int
}

// studio renders without delay; before may delay a scene.
func (b *books) studio(before func(ctx context.Context, scene int) error) *Studio {
	b.charged, b.scenes = map[string]int{}, map[int]int{}
	return &Studio{
		Render: func(ctx context.Context, _ string, scene int) error {
			if err := before(ctx, scene); err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.scenes[scene]++
			return nil
		},
		Charge: func(_ context.Context, key, _ string) (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.charged[key]++
			return "no. 1", nil
		},
	}
}

func (b *books) check(t *testing.T, scenes int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.charged) != 1 || len(b.scenes) != scenes {
		t.Errorf("charged %v, rendered %v", b.charged, b.scenes)
	}
	for scene, n := range b.scenes {
		if n != 1 {
			t.Errorf("scene %d was rendered %d times", scene, n)
		}
	}
}

func atOnce(context.Context, int) error { return nil }

func serving(t *testing.T, app *framework.App) *framework.Server {
	t.Helper()
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	return server
}

// stop ends a server as a signal would, without waiting for running calls.
func stop(t *testing.T, server *framework.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func connect(t *testing.T, server *framework.Server, revision protocol.Revision) *client.Client {
	t.Helper()
	ctx := transport.WithPrincipal(t.Context(), &framework.Principal{Subject: "ada"})
	c, err := client.Connect(ctx, client.InMemory(server), client.Revisions(revision),
		client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": true}}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func film(t *testing.T, c *client.Client, scenes int) *client.Task {
	t.Helper()
	task, err := c.CallTask(t.Context(), "film", FilmIn{Title: "Ran", Scenes: scenes})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

const ready = `"Ran" is ready, receipt no. 1.`

func wait(t *testing.T, task *client.Task) {
	t.Helper()
	result, err := task.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := result.Content[0].(protocol.Text); !ok || text.Text != ready || result.IsError {
		t.Errorf("%+v", result)
	}
}

func TestFilmOnBothDesigns(t *testing.T) {
	t.Parallel()
	for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			t.Parallel()
			var b books
			c := connect(t, serving(t, NewApp(b.studio(atOnce))), revision)
			task := film(t, c, 3)
			if task.ID() == "" {
				t.Error("it is no task")
			}
			wait(t, task)
			b.check(t, 3)
		})
	}
}

// TestFilmSurvives stops the server in the middle of a task. Another server with the same file
// continues the task.
func TestFilmSurvives(t *testing.T) {
	t.Parallel()
	var b books
	reached := make(chan struct{})
	first, again := true, sync.Mutex{}
	studio := b.studio(func(ctx context.Context, scene int) error {
		again.Lock()
		stuck := first && scene == 2
		first = first && !stuck
		again.Unlock()
		if stuck {
			close(reached)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	path := filepath.Join(t.TempDir(), "studio.db")
	file, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	server := serving(t, NewApp(studio, framework.WithStore(file)))
	c := connect(t, server, protocol.Rev20260728)
	task := film(t, c, 4)
	waiting, cancel := context.WithCancel(t.Context())
	answering := make(chan struct{})
	go func() { // answers the question
		defer close(answering)
		_, _ = task.Wait(waiting)
	}()
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Fatal("the scene is not reached")
	}
	cancel()
	<-answering
	stop(t, server)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if file, err = boltstore.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	c = connect(t, serving(t, NewApp(studio, framework.WithStore(file))), protocol.Rev20260728)
	wait(t, c.Task(task.ID()))
	b.check(t, 4)
}

// The user is asked once, before the task, and the task renders.
func TestRemaster(t *testing.T) {
	testkit.BothEras(t, func() *framework.App {
		var b books
		return framework.New("studio", "1.0.0").Add(b.studio(atOnce).RemasterTool())
	}, func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("Replace \"Metropolis\"?", true) // used once
		s.CallRaw("remaster", `{"title":"Metropolis","scenes":2}`).OK().Mentions("is replaced")
	})
}
