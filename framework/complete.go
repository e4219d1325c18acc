package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// mostCompletions is the specification's bound (server/utilities/completion).
const mostCompletions = 100

// completion completes the arguments of a prompt or the variables of a template:
// by their Complete option, else by the values that their type allows.
func (b *builder) completion(m *member, plan *binding.Plan) func(context.Context, *engine.Call, *protocol.CompleteParams) (*protocol.Completion, error) {
	enums := make(map[string][]string)
	var names []string
	for _, f := range plan.Fields() {
		enums[f.Name] = f.Enum
		if f.Enum == nil && isBool(plan, f.Name) {
			enums[f.Name] = []string{"true", "false"}
		}
		names = append(names, f.Name)
	}
	for argument := range m.options.completers {
		if !slices.Contains(names, argument) {
			m.fault(b, "", fmt.Sprintf("Complete: there is no argument %q", argument), didYouMean(argument, names))
		}
	}
	completers, bound := m.options.completers, m.bound
	return func(ctx context.Context, c *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error) {
		if !slices.Contains(names, p.Argument) {
			return nil, unknownArgument(p.Argument, names)
		}
		fn := completers[p.Argument]
		if fn == nil {
			return completed(matching(enums[p.Argument], p.Value)), nil
		}
		h := &handling{Context: ctx, server: bound.server, call: c, bound: bound}
		values, err := guarded(h, func(ctx context.Context, p *protocol.CompleteParams) ([]string, error) {
			return fn(ctx, p.Value, p.Context)
		}, p)
		if err != nil {
			_, err = bound.refusePlain(h, c, err)
			return nil, err
		}
		return completed(values), nil
	}
}

func isBool(plan *binding.Plan, field string) bool {
	properties, _ := jsontext.Member(plan.Schema(), "properties")
	property, _ := jsontext.Member(properties, field)
	kind, _ := jsontext.Member(property, "type")
	return string(kind) == `"boolean"`
}

func unknownArgument(name string, names []string) *protocol.Fault {
	text := fmt.Sprintf("no such argument: %q.", clip(name))
	if hint := didYouMean(name, names); hint != "" {
		text += " " + hint
	}
	return &protocol.Fault{Kind: protocol.FaultInvalidParams, Message: text}
}

// clip bounds what is echoed to the caller.
func clip(s string) string {
	const most = 128
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// matching are the values that begin like prefix, whatever the case.
func matching(values []string, prefix string) []string {
	prefix = strings.ToLower(prefix)
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
		return !strings.HasPrefix(strings.ToLower(v), prefix)
	})
}

func completed(values []string) *protocol.Completion {
	total := len(values)
	return &protocol.Completion{
		Values:  values[:min(total, mostCompletions)],
		Total:   total,
		HasMore: total > mostCompletions,
	}
}
