package framework

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// mostCompletions is the largest number of values in an answer (server/utilities/completion).
const mostCompletions = 100

// entryCompleter is the type of catalog.Entry.Complete.
type entryCompleter = func(context.Context, *engine.Call, *protocol.CompleteParams) (*protocol.Completion, error)

// completion returns the function that completes the arguments of a prompt or the variables of a
// template. An argument with the option Complete is completed by the option's function; any other
// by the values that its type allows. takes reports whether the server accepts a value of an argument; it
// is nil if the server accepts all values.
func (b *builder) completion(m *member, plan *binding.Plan, takes func(argument, value string) bool) entryCompleter {
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
	completers := m.options.completers
	return func(ctx context.Context, _ *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error) {
		if !slices.Contains(names, p.Argument) {
			return nil, unknownArgument(p.Argument, names)
		}
		values := matching(enums[p.Argument], p.Value)
		if fn := completers[p.Argument]; fn != nil {
			var err error
			if values, err = fn(ctx, p.Value, p.Context); err != nil {
				return nil, err
			}
		}
		if takes != nil {
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !takes(p.Argument, v) })
		}
		return completed(values), nil
	}
}

// completing returns complete behind the middleware that completions pass. Completions must be
// limited as calls are (server/utilities/completion "Security").
func (m *member) completing(b *builder, complete entryCompleter) entryCompleter {
	steps := arranged(kindCompletion, b.server.chain, m.options.groupChain, m.options.ownChain)
	innermost := recovered(func(ctx context.Context, call *Call) (*Result, error) {
		h := callCtxFrom(ctx)
		if h == nil {
			return nil, errContext
		}
		p, err := asked(*h.call.Params.(*protocol.CompleteParams), call.Arguments)
		if err != nil {
			return nil, err
		}
		completion, err := complete(ctx, h.call, p)
		if err != nil {
			return nil, err
		}
		return &Result{Body: &protocol.CompleteResult{Completion: *completion}}, nil
	})
	run, bound := compose(innermost, steps, m.broken(b)), m.handler
	return func(ctx context.Context, c *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error) {
		if bound.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, bound.timeout, errTimeout)
			defer cancel()
		}
		h := &callCtx{Context: ctx, server: bound.server, call: c, component: bound}
		h.seen = Call{Method: protocol.MethodOf(p), Name: bound.info.Name, Arguments: given(p), ID: c.ID(), Component: bound.info}
		result, err := run(h, &h.seen)
		if err == nil && result.Body == nil {
			err = fmt.Errorf("a middleware of %s %q answered a completion without a body", bound.noun, bound.info.Name)
		}
		if err != nil {
			_, err = bound.refusePlain(h, c, err)
			return nil, err
		}
		return &result.Body.(*protocol.CompleteResult).Completion, nil
	}
}

// given returns the arguments that the user has entered so far, including the one to complete.
func given(p *protocol.CompleteParams) []byte {
	arguments := maps.Clone(p.Context)
	if arguments == nil {
		arguments = make(map[string]string, 1)
	}
	arguments[p.Argument] = p.Value
	return stringObject(arguments)
}

// asked is the reverse of given. It returns p with the arguments that the middleware has passed on.
func asked(p protocol.CompleteParams, arguments []byte) (*protocol.CompleteParams, error) {
	members, err := stringMembers(arguments)
	if err != nil {
		return nil, err
	}
	p.Value = members[p.Argument]
	delete(members, p.Argument)
	if p.Context != nil || len(members) > 0 {
		p.Context = members
	}
	return &p, nil
}

func isBool(plan *binding.Plan, field string) bool {
	properties, _ := jsontext.Member(plan.Schema(), "properties")
	property, _ := jsontext.Member(properties, field)
	kind, _ := jsontext.Member(property, "type")
	return string(kind) == `"boolean"`
}

func unknownArgument(name string, names []string) *protocol.Fault {
	text := fmt.Sprintf("no such argument: %q.", catalog.Clip(name))
	if hint := didYouMean(name, names); hint != "" {
		text += " " + hint
	}
	return &protocol.Fault{Kind: protocol.FaultInvalidParams, Message: text}
}

// matching returns the values that begin with prefix, ignoring case.
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
