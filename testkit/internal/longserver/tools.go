package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// node is this process.
type node struct {
	name     string
	receiver string
}

const valueURI = "long://value"

func (n *node) components() []framework.Component {
	long := framework.Task(framework.TaskOptional, framework.PollInterval(100*time.Millisecond), framework.Retry(1000))
	return []framework.Component{
		framework.Tool("steps", n.steps, framework.Describe("Does so many steps, each once."), long),
		framework.Tool("ask", n.ask, framework.Describe("Asks the user between two steps."), long),
		framework.Tool("hold", n.hold, framework.Describe("Goes on until it is cancelled."), long),
		framework.Tool("ask_inline", n.ask, framework.Describe("Asks the user between two steps, in the request.")),
		framework.Tool("consult", n.consult, framework.Describe("Asks the model, in the request.")),
		framework.Tool("count", count, framework.Describe("Reports progress so many times.")),
		framework.Tool("where", n.where, framework.Describe("Names the process."), framework.ReadOnly()),
		framework.Tool("touch", touch, framework.Describe("Report that the resource has changed.")),
		framework.Resource(valueURI, n.who, framework.Name("value"), framework.Describe("The name of the process.")),
	}
}

type stepsIn struct {
	Label   string `json:"label"`
	Steps   int    `json:"steps"`
	PauseMS int    `json:"pause_ms" default:"0"`
	Padding string `json:"padding" default:""`
}

// steps pauses before each effect, for at most pause_ms.
func (n *node) steps(ctx context.Context, in stepsIn) (string, error) {
	if err := n.begins(ctx, in.Label); err != nil {
		return "", err
	}
	for step := range in.Steps {
		if err := pause(ctx, time.Duration(rand.IntN(in.PauseMS+1))*time.Millisecond); err != nil {
			return "", err
		}
		if err := n.effect(ctx, in.Label, fmt.Sprint("step ", step)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s: %d steps", in.Label, in.Steps), nil
}

type askIn struct {
	Label string `json:"label"`
}

// ask asks the user, and returns the answer. The question names the process that asked first.
func (n *node) ask(ctx context.Context, in askIn) (string, error) {
	if err := n.begins(ctx, in.Label); err != nil {
		return "", err
	}
	if err := n.effect(ctx, in.Label, "before"); err != nil {
		return "", err
	}
	asker, err := framework.Once(ctx, "asker", n.who) // another process may continue, and the question must not change
	if err != nil {
		return "", err
	}
	answer, err := framework.Elicit[string](ctx, "node "+asker+" asks for "+in.Label)
	if err != nil {
		return "", err
	}
	if err := n.effect(ctx, in.Label, "after"); err != nil {
		return "", err
	}
	return in.Label + ": " + answer, nil
}

// hold waits until its context ends, and sends the cause to the receiver.
func (n *node) hold(ctx context.Context, in askIn) (string, error) {
	if err := n.effect(ctx, in.Label, "held"); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "", n.post(context.WithoutCancel(ctx), "end of "+in.Label, in.Label, "cause: "+context.Cause(ctx).Error())
}

func (n *node) consult(ctx context.Context, in askIn) (string, error) {
	asker, err := framework.Once(ctx, "asker", n.who)
	if err != nil {
		return "", err
	}
	answer, err := framework.GenerateAs[string](ctx, "node "+asker+" asks for "+in.Label)
	return in.Label + ": " + answer, err
}

type countIn struct {
	N       int `json:"n"`
	PauseUS int `json:"pause_us" default:"0"`
}

func count(ctx context.Context, in countIn) (string, error) {
	for i := range in.N {
		framework.Progress(ctx, i+1, in.N, "")
		if err := pause(ctx, time.Duration(in.PauseUS)*time.Microsecond); err != nil {
			return "", err
		}
	}
	return fmt.Sprint(in.N), nil
}

func (n *node) where(context.Context, struct{}) (string, error) { return n.name, nil }

func (n *node) who(context.Context) (string, error) { return n.name, nil }

func touch(ctx context.Context, _ struct{}) (string, error) {
	framework.ServerFrom(ctx).ResourceUpdated(ctx, valueURI)
	return "touched", nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begins reports each run to the receiver, with the name of this process.
func (n *node) begins(ctx context.Context, label string) error {
	return n.post(ctx, "", label, "begins")
}

// effect sends an effect once; the receiver identifies it by its key.
func (n *node) effect(ctx context.Context, label, what string) error {
	_, err := framework.Once(ctx, what, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.post(ctx, framework.IdempotencyKey(ctx), label, what)
	})
	return err
}

func (n *node) post(ctx context.Context, key, label, what string) error {
	if n.receiver == "" {
		return nil
	}
	form := url.Values{"key": {key}, "label": {label}, "what": {what}, "node": {n.name}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.receiver, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("making the effect: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("making the effect: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the receiver says %s", resp.Status)
	}
	return nil
}
