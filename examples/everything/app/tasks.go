package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

const (
	taskPoll = 100 * time.Millisecond // short, because the suite waits only for a few seconds
	failTime = time.Second            // time until failing_job fails
)

// taskTools returns the tools for the suite's tests of tasks.
func taskTools() []framework.Component {
	optional := framework.Task(framework.TaskOptional, framework.PollInterval(taskPoll))
	required := framework.Task(framework.TaskRequired, framework.PollInterval(taskPoll))
	detached := framework.Task(framework.TaskRequired, framework.PollInterval(taskPoll), framework.AfterDetach())
	return []framework.Component{
		framework.Tool("greet", greet, framework.Describe("Greets, in the request."), framework.ReadOnly()),
		framework.Tool("slow_compute", slowCompute, framework.Describe("Takes its time."), framework.ReadOnly(), optional),
		framework.Tool("failing_job", failingJob, framework.Describe("Fails after a second, for a reason that the model sees."), framework.ReadOnly(), required),
		framework.Tool("protocol_error_job", protocolErrorJob, framework.Describe("Fails with a JSON-RPC error."), framework.ReadOnly(), optional),
		framework.Tool("confirm_delete", confirmDelete, framework.Describe("Asks before it deletes, which it does not."), optional),
		framework.Tool("multi_input", multiInput, framework.Describe("Asks two questions at once."), framework.ReadOnly(), optional),
		framework.Tool("test_tool_with_task", askThenWork, framework.Describe("Asks for a name, and goes on as a task."), framework.ReadOnly(), detached),
	}
}

func greet(_ context.Context, in named) (string, error) { return "Hello, " + in.Name + "!", nil }

type computeIn struct {
	Seconds float64 `json:"seconds" doc:"how long it takes" validate:"min=0,max=60"`
	Label   string  `json:"label,omitempty" doc:"what to call it"`
}

func slowCompute(ctx context.Context, in computeIn) (string, error) {
	if err := sleep(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return "", err
	}
	return fmt.Sprintf("Computed %s in %g s.", in.Label, in.Seconds), nil
}

func failingJob(ctx context.Context, _ none) (string, error) {
	if err := sleep(ctx, failTime); err != nil {
		return "", err
	}
	return "", framework.UserErrorf("The job failed, as it was meant to.")
}

func protocolErrorJob(context.Context, none) (string, error) {
	return "", &protocol.Error{Code: protocol.CodeInternal, Message: "the job broke the protocol, as it was meant to"}
}

type fileIn struct {
	Filename string `json:"filename" doc:"what to delete"`
}

type deletion struct {
	Confirm bool `json:"confirm" doc:"Really delete?"`
}

func confirmDelete(ctx context.Context, in fileIn) (string, error) {
	answer, err := framework.Elicit[deletion](ctx, "Delete "+in.Filename+"?", framework.Key("confirm"))
	switch {
	case errors.Is(err, framework.ErrDeclined), err == nil && !answer.Confirm:
		return "Kept " + in.Filename + ".", nil
	case err != nil:
		return "", err
	}
	return "Deleted " + in.Filename + ".", nil
}

// agreement has the members that the suite answers, because a form accepts no others.
type agreement struct {
	Name    string `json:"name"`
	Confirm bool   `json:"confirm"`
}

func multiInput(ctx context.Context, _ none) (string, error) {
	first, second, err := framework.Gather2(ctx,
		framework.Ask[agreement]("Who signs first?", framework.Key("first")),
		framework.Ask[agreement]("Who signs second?", framework.Key("second")),
	)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%t) and %s (%t).", first.Name, first.Confirm, second.Name, second.Confirm), nil
}

// askThenWork works in a task. On revisions with rounds, it asks before the task exists.
func askThenWork(ctx context.Context, _ none) (string, error) {
	user, err := framework.Elicit[named](ctx, "What is your name?", framework.Key("user_name"))
	if err != nil {
		return "", err
	}
	if err := framework.Detach(ctx); err != nil {
		return "", err
	}
	return "Hello, " + user.Name + "!", nil
}
