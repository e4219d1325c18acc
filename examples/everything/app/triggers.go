package app

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework"
)

// triggers replaces a tool and a prompt by others of the same name. Their descriptions differ each time, so
// clients are notified of a change.
type triggers struct {
	tools, prompts atomic.Int64 // changes
}

func changingTool(changes int64) framework.Component {
	return framework.Tool("test_dynamic_tool", simpleText, framework.ReadOnly(),
		framework.Describe("Changed by test_trigger_tool_change, "+strconv.FormatInt(changes, 10)+" times."))
}

func changingPrompt(changes int64) framework.Component {
	return framework.Prompt("test_dynamic_prompt", simplePrompt,
		framework.Describe("Changed by test_trigger_prompt_change, "+strconv.FormatInt(changes, 10)+" times."))
}

func (t *triggers) switches() []framework.Component {
	return []framework.Component{
		framework.Tool("test_trigger_tool_change", t.toolChange,
			framework.Describe("Changes the list of tools."), framework.Destructive(false)),
		framework.Tool("test_trigger_prompt_change", t.promptChange,
			framework.Describe("Changes the list of prompts."), framework.Destructive(false)),
	}
}

func (t *triggers) toolChange(ctx context.Context, _ none) (string, error) {
	return "The list of tools changed.", framework.ServerFrom(ctx).AddOrReplace(changingTool(t.tools.Add(1)))
}

func (t *triggers) promptChange(ctx context.Context, _ none) (string, error) {
	return "The list of prompts changed.", framework.ServerFrom(ctx).AddOrReplace(changingPrompt(t.prompts.Add(1)))
}
