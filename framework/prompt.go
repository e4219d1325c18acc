package framework

import (
	"context"
	"fmt"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Prompt registers a prompt. Args is a struct whose fields have a text form, because prompt
// arguments are strings in the protocol. If the arguments are known only at run time, Args is
// map[string]string, together with [Arguments].
func Prompt[Args any](name string, fn func(context.Context, Args) (Messages, error), opts ...Option) *PromptOf[Args] {
	p := &PromptOf[Args]{fn: fn, declaration: declare(kindPrompt, name, fn, opts)}
	p.declaration.compile = p.compile
	return p
}

// PromptOf is the typed handle of a prompt.
type PromptOf[Args any] struct {
	fn          func(context.Context, Args) (Messages, error)
	declaration *declaration
}

func (*PromptOf[Args]) component() {}

func (p *PromptOf[Args]) declared() *declaration {
	if p == nil {
		return nil
	}
	return p.declaration
}

func (p *PromptOf[Args]) compile(b *builder, m *member) {
	args := b.arguments(m, reflect.TypeFor[Args]())
	if args == nil {
		return
	}
	m.handler.refuse = m.handler.refusePlain
	m.handler.mask = binding.MaskOf(args.plan)
	m.entry.Kind = catalog.Prompt
	m.entry.Complete = b.completion(m, args.plan, nil)
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		strings, err := stringMembers(call.Arguments)
		if err != nil {
			return nil, err
		}
		var in Args
		if err := args.decode(ctx, strings, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		messages, err := p.fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return messages.answer(m.options.description)
	}
	listed := protocol.Prompt{
		Name: m.listed, Title: titled(m.options.title, m.listed), Description: m.options.description,
		Arguments: m.options.arguments, Icons: m.options.icons, Meta: m.options.meta,
	}
	if !args.open {
		listed.Arguments = promptArguments(args.plan.Fields())
	}
	m.write(b, func(d *dialect.Dialect) ([]byte, error) { return d.AppendPrompt(nil, &listed) })
}

// arguments compiles the arguments of a prompt. It returns nil if the type has faults.
func (b *builder) arguments(m *member, t reflect.Type) *texts {
	given := m.options.arguments
	switch {
	case isTextMap(t) && given == nil:
		m.fault(b, "", fmt.Sprintf("%s does not name the arguments", t), "Name them with Arguments, or use a struct")
		return nil
	case !isTextMap(t) && given != nil:
		m.fault(b, "", fmt.Sprintf("got Arguments, but %s names the arguments already", t), "Use map[string]string, or leave Arguments out")
		return nil
	}
	names := make([]string, len(given))
	for i, a := range given {
		names[i] = a.Name
	}
	return b.texts(m, t, names, func(i int) bool { return !given[i].Required })
}

// promptArguments returns the listed arguments. Prompt arguments do not have a schema in the
// protocol, so the descriptions contain the rules in words.
func promptArguments(fields []binding.Field) []protocol.PromptArgument {
	var out []protocol.PromptArgument
	for _, f := range fields {
		out = append(out, protocol.PromptArgument{Name: f.Name, Title: f.Title, Description: f.InWords, Required: f.Required})
	}
	return out
}

// stringMembers decodes the arguments of a prompt. Middleware may have changed them, so it returns
// an error if a member is not a string.
func stringMembers(arguments []byte) (map[string]string, error) {
	out := make(map[string]string)
	for key, value := range jsontext.Members(arguments) {
		text, ok := jsontext.String(value)
		if !ok {
			return nil, fmt.Errorf("a middleware replaced the argument %q by a value that is not a string", key.String())
		}
		out[key.String()] = text
	}
	return out, nil
}

// Messages are the messages of a prompt. Each has one block. A message without a role gets the role
// user.
type Messages []protocol.Message

// answer builds the result of prompts/get. It returns an error if a message does not have exactly
// one block, or cannot be sent.
func (ms Messages) answer(description string) (*Result, error) {
	out := make([]protocol.Message, len(ms))
	for i, msg := range ms {
		if msg.Role == "" {
			msg.Role = protocol.RoleUser
		}
		if msg.Role != protocol.RoleUser && msg.Role != protocol.RoleAssistant {
			return nil, fmt.Errorf("message %d of the prompt has the role %q: want user or assistant", i, msg.Role)
		}
		if msg.Content == nil {
			return nil, fmt.Errorf("message %d of the prompt has no content", i)
		}
		if err := sendable(msg.Content); err != nil {
			return nil, fmt.Errorf("message %d of the prompt: %w", i, err)
		}
		if len(msg.More) > 0 {
			return nil, fmt.Errorf("message %d of the prompt has %d blocks, and no revision has more than one: make them messages", i, 1+len(msg.More))
		}
		out[i] = msg
	}
	return &Result{Body: &protocol.GetPromptResult{Description: description, Messages: out}}, nil
}

// User returns a text message with the role user. The text is not a format, because prompts often
// contain percent signs.
func User(text string) protocol.Message {
	return protocol.Message{Role: protocol.RoleUser, Content: protocol.Text{Text: text}}
}

// Userf returns a message like User, with a formatted text.
func Userf(format string, args ...any) protocol.Message { return User(fmt.Sprintf(format, args...)) }

// Assistant returns a text message with the role assistant.
func Assistant(text string) protocol.Message {
	return protocol.Message{Role: protocol.RoleAssistant, Content: protocol.Text{Text: text}}
}

// UserBlock returns a message with the role user and any block.
func UserBlock(b protocol.Block) protocol.Message {
	return protocol.Message{Role: protocol.RoleUser, Content: b}
}
