package app

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
)

// triggers has components that are replaced by themselves. The lists stay the same, but each time
// clients are notified of a change.
type triggers struct {
	tool   framework.Component
	prompt framework.Component
}

func newTriggers() *triggers {
	return &triggers{
		tool: framework.Tool("test_dynamic_tool", simpleText,
			framework.Describe("Is registered anew by test_trigger_tool_change."), framework.ReadOnly()),
		prompt: framework.Prompt("test_dynamic_prompt", simplePrompt,
			framework.Describe("Is registered anew by test_trigger_prompt_change.")),
	}
}

func (t *triggers) tools() []framework.Component {
	return []framework.Component{
		framework.Tool("test_trigger_tool_change", t.toolChange,
			framework.Describe("Changes the list of tools."), framework.Destructive(false)),
		framework.Tool("test_trigger_prompt_change", t.promptChange,
			framework.Describe("Changes the list of prompts."), framework.Destructive(false)),
	}
}

func (t *triggers) toolChange(ctx context.Context, _ none) (string, error) {
	return "The list of tools changed.", renew(ctx, t.tool)
}

func (t *triggers) promptChange(ctx context.Context, _ none) (string, error) {
	return "The list of prompts changed.", renew(ctx, t.prompt)
}

func renew(ctx context.Context, c framework.Component) error {
	same := []framework.Component{c}
	return framework.ServerFrom(ctx).Replace(same, same)
}
