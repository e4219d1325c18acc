package framework

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// offer holds the tools of one generation.
type offer struct {
	listed []protocol.Tool
	tools  map[string]*componentHandler
}

// offer returns the tools of WithTools that the caller may use. It returns nil if components is
// empty.
func (s *Server) offer(h *callCtx, components []Component) (*offer, error) {
	if len(components) == 0 {
		return nil, nil
	}
	o := &offer{tools: make(map[string]*componentHandler)}
	who := transport.PrincipalFrom(h)
	for _, c := range components {
		tools, err := s.toolsOf(c)
		if err != nil {
			return nil, fmt.Errorf("preparing the tools of a generation: %w", err)
		}
		for _, e := range tools {
			b := e.Handler.(*componentHandler)
			if o.tools[b.info.Name] == b {
				continue
			}
			if o.tools[b.info.Name] != nil {
				return nil, fmt.Errorf("preparing the tools of a generation: two are named %q", b.info.Name)
			}
			if !e.VisibleTo(who) {
				continue
			}
			o.tools[b.info.Name] = b
			o.listed = append(o.listed, *b.tool)
		}
	}
	return o, nil
}

// toolsOf returns the tools of a component. If they are not registered, they are compiled at first
// use.
func (s *Server) toolsOf(c Component) ([]*catalog.Entry, error) {
	wanted := make(map[*declaration]bool)
	collect([]Component{c}, wanted)
	if len(wanted) == 0 {
		return nil, errors.New("a component is nil or an empty set")
	}
	for d := range wanted {
		if d.kind != kindTool {
			return nil, fmt.Errorf("the %s %q is not a tool", d.kind, d.name)
		}
	}
	entries := s.entriesOf([]Component{c})
	if len(entries) < len(wanted) {
		return s.unregistered(c)
	}
	return entries, nil
}

// unregistered compiles a component that is not in the catalog, and keeps the result in s.offered.
// Programs usually make a handle once and use it often.
func (s *Server) unregistered(c Component) ([]*catalog.Entry, error) {
	s.offering.Lock()
	defer s.offering.Unlock()
	if bound, ok := s.offered[c]; ok {
		return bound, nil
	}
	b := emptyBuilder(s)
	b.add(c, "")
	if err := b.verdict("The tools were not offered."); err != nil {
		return nil, err
	}
	if s.offered == nil {
		s.offered = make(map[Component][]*catalog.Entry)
	}
	if len(s.offered) >= maxOffered { // the program makes new handles in each call, so keeping them is useless
		clear(s.offered)
	}
	s.offered[c] = b.entries
	return b.entries, nil
}

// maxOffered limits the compiled components outside the catalog.
const maxOffered = 1024

// usesOf returns the tool calls that a model asks for.
func usesOf(content []protocol.Block) []protocol.ToolUse {
	var uses []protocol.ToolUse
	for _, b := range content {
		if use, ok := b.(protocol.ToolUse); ok {
			uses = append(uses, use)
		}
	}
	return uses
}

// maxToolUses limits the tools that a model may call in one turn, because each one runs and has its
// result in the journal. Further calls are not run; their tool results are errors.
const maxToolUses = 32

// use runs the tools that the model asks for, and returns their results in order. The message must
// not contain anything else (2025-11-25 client/sampling "Tool Result Messages"). Errors of tools
// are results for the model. An error that use returns ends the loop.
func (o *offer) use(ctx context.Context, h *callCtx, base string, turn int, uses []protocol.ToolUse) ([]protocol.Block, error) {
	results := make([]protocol.Block, len(uses))
	for i, use := range uses {
		if i >= maxToolUses {
			text := fmt.Sprintf("There are too many tools in one turn: the first %d were run, this one was not.", maxToolUses)
			results[i] = protocol.ToolResult{ToolUseID: use.ID, Content: toolError(text).Content, IsError: true}
			continue
		}
		// The prefix contains the index instead of the ID, because the client chooses the ID.
		prefix := base + "/tool/" + strconv.Itoa(turn) + "/" + strconv.Itoa(i) + "/"
		result, err := o.result(ctx, h, prefix, use)
		if err != nil {
			return nil, err
		}
		block := protocol.ToolResult{ToolUseID: use.ID, Content: result.Content, IsError: result.IsError}
		if isObject(result.Structured) { // the schema requires an object; other values are in the text
			block.Structured = result.Structured
		}
		results[i] = block
	}
	return results, nil
}

// result runs one tool. Its key in the journal contains a digest of the call. If the question has
// changed and a turn is asked again, the model may call another tool, or use other input.
func (o *offer) result(ctx context.Context, h *callCtx, prefix string, use protocol.ToolUse) (*protocol.CallToolResult, error) {
	b := o.tools[use.Name]
	if b == nil {
		names := make([]string, len(o.listed))
		for i := range o.listed {
			names[i] = o.listed[i].Name
		}
		return toolError(fmt.Sprintf("There is no tool %q. %s", catalog.Clip(use.Name), didYouMean(use.Name, names))), nil
	}
	if len(use.Input) > 0 {
		if err := jsontext.Check(use.Input, jsontext.DefaultLimits()); err != nil {
			return toolError("The input is not JSON: " + binding.Sentence(err.Error())), nil
		}
	}
	digest := rounds.FingerprintOf(use.Name, jsontext.Canonical(nil, use.Input))
	return b.once(ctx, h, prefix+hex.EncodeToString(digest[:]), use.Input)
}

func toolError(text string) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: text}}, IsError: true}
}

// once runs a tool inside another call, once for each logical call. The journal holds its result,
// and the round that it began in.
func (b *componentHandler) once(ctx context.Context, h *callCtx, key string, input json.RawMessage) (*protocol.CallToolResult, error) {
	began, err := h.call.Once(ctx, key+"/round", func(context.Context) ([]byte, error) {
		return strconv.AppendInt(nil, int64(h.call.Round), 10), nil
	})
	if err != nil {
		return nil, err
	}
	first, _ := strconv.Atoi(string(began))
	journal := journalDialect()
	raw, err := h.call.Once(ctx, key, func(ctx context.Context) ([]byte, error) {
		result, err := b.nested(ctx, h, key, first, input)
		if err != nil {
			return nil, err
		}
		return journal.AppendResult(nil, result, nil)
	})
	if err != nil {
		return nil, err
	}
	result, fault := journal.DecodeResult(protocol.MethodCallTool, raw)
	if fault != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", b.info.Name, fault)
	}
	called, ok := result.(*protocol.CallToolResult)
	if !ok {
		return nil, fmt.Errorf("reading the result of %s: it is a %T", b.info.Name, result)
	}
	return called, nil
}

// nested runs a tool inside a call. It passes the chain of the tool, for the same principal, with
// its own id and rounds. first is the round of the call that the tool began in.
func (b *componentHandler) nested(ctx context.Context, h *callCtx, key string, first int, input json.RawMessage) (result protocol.Result, err error) {
	inside := &callCtx{
		Context: ctx, server: h.server, call: h.call, component: b,
		inner: &nestedCall{
			top: h.top(), outer: h, prefix: key + "/", id: h.call.ID() + "/" + key, round: h.call.Round - first,
			muted: h.muted(),
		},
	}
	result, err = b.serve(inside, b.info.Name, input)
	if tool, ok := result.(*protocol.CallToolResult); err == nil && ok && tool != nil && tool.IsError && ctx.Err() != nil {
		return nil, context.Cause(ctx) // it was stopped with the call: the journal must not keep this result
	}
	var fault *protocol.Fault
	var plain *protocol.Error
	switch {
	case err == nil:
		return result, nil
	case h.call.Pending():
		return nil, ErrPending
	case errors.As(err, &fault) && fault.Kind != protocol.FaultURLRequired:
		return toolError(fault.Message), nil
	case errors.As(err, &plain):
		return toolError(plain.Message), nil
	}
	return nil, err
}
