package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
)

// roundTools returns tools that ask in all ways that the suite tests on the revision with rounds.
// On other revisions the same handlers ask during the call.
func roundTools() []framework.Component {
	tool := func(name string, run func(context.Context, none) (string, error), text string) framework.Component {
		return framework.Tool("test_input_required_result_"+name, run, framework.Describe(text), framework.ReadOnly())
	}
	return []framework.Component{
		tool("elicitation", askName, "Asks the user for a name."),
		tool("sampling", askCapital, "Asks the client's model."),
		tool("list_roots", askRoots, "Asks for the client's roots."),
		tool("request_state", askConfirmation, "Asks the user to confirm."),
		tool("multiple_inputs", askAll, "Asks the user, the model and for roots, all at once."),
		tool("multi_round", askTwice, "Asks the user two questions, one after the other."),
		tool("tampered_state", askConfirmation, "Asks the user to confirm; a changed state is refused."),
		tool("capabilities", askWhoever, "Asks the user, or else the model."),
	}
}

type named struct {
	Name string `json:"name"`
}

func askName(ctx context.Context, _ none) (string, error) {
	user, err := framework.Elicit[named](ctx, "What is your name?", framework.Key("user_name"))
	if err != nil {
		return "", err
	}
	return "Hello, " + user.Name + "!", nil
}

func askCapital(ctx context.Context, _ none) (string, error) {
	said, err := framework.Generate(ctx, "What is the capital of France?",
		framework.MaxTokens(answerTokens), framework.Key("capital_question"))
	return said.Text(), err
}

func askRoots(ctx context.Context, _ none) (string, error) {
	roots, err := framework.Roots(ctx)
	if err != nil {
		return "", err
	}
	uris := make([]string, len(roots))
	for i, r := range roots {
		uris[i] = r.URI
	}
	return fmt.Sprintf("%d roots: %s", len(roots), strings.Join(uris, " ")), nil
}

type confirmation struct {
	OK bool `json:"ok"`
}

func askConfirmation(ctx context.Context, _ none) (string, error) {
	confirmed, err := framework.Elicit[confirmation](ctx, "Please confirm", framework.Key("confirm"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("state-ok: confirmed=%t", confirmed.OK), nil
}

// greetingTokens is the maximum length of a greeting.
const greetingTokens = 50

func askAll(ctx context.Context, _ none) (string, error) {
	user, greeting, roots, err := framework.Gather3(ctx,
		framework.Ask[named]("What is your name?", framework.Key("user_name")),
		framework.AskModel[framework.Generation]("Generate a greeting", framework.MaxTokens(greetingTokens), framework.Key("greeting")),
		framework.AskRoots(),
	)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s, of %d roots", greeting.Text(), user.Name, len(roots)), nil
}

type colored struct {
	Color string `json:"color"`
}

func askTwice(ctx context.Context, _ none) (string, error) {
	user, err := framework.Elicit[named](ctx, "Step 1: What is your name?", framework.Key("step1"))
	if err != nil {
		return "", err
	}
	favorite, err := framework.Elicit[colored](ctx, "Step 2: What is your favorite color?", framework.Key("step2"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s likes %s.", user.Name, favorite.Color), nil
}

// askWhoever asks the user, or the model if the client does not support questions to the user.
func askWhoever(ctx context.Context, _ none) (string, error) {
	user, err := framework.Elicit[named](ctx, "What is your name?")
	if !errors.Is(err, framework.ErrUnsupported) {
		return "The user is " + user.Name, err
	}
	said, err := framework.Generate(ctx, "Invent a name.")
	return "The model says " + said.Text(), err
}
