package framework

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Encode returns in as the arguments that a client with the schema would send. Durations, sum types
// and exact numbers reach the handler unchanged.
func (t *ToolOf[In, Out]) Encode(in In) (json.RawMessage, error) {
	p, err := t.plan()
	if err != nil {
		return nil, err
	}
	raw, err := p.in.encode(reflect.ValueOf(&in).Elem())
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments of %s: %w", t.declaration.name, err)
	}
	return raw, nil
}

// Decode decodes a result of the tool into Out; see [DecodeResult]. The result must not have
// IsError set.
func (t *ToolOf[In, Out]) Decode(result *protocol.CallToolResult) (Out, error) {
	var out Out
	p, err := t.plan()
	if err != nil {
		return out, err
	}
	if err := p.out.read(result, reflect.ValueOf(&out).Elem()); err != nil {
		return out, fmt.Errorf("reading the result of %s: %w", t.declaration.name, err)
	}
	return out, nil
}

// DecodeResult decodes a tool result, for instance of a tool in another process, into the value
// that a function with the result type Out returned. If the result has no structured content, as
// before 2025-06-18, DecodeResult reads its text. A Rich with a text of its own then has a zero
// Value. Set Wrapped if the result came over a revision that wraps values that are not objects.
//
// Check IsError first: otherwise the text of a failed result is read as a value. DecodeResult
// returns an error if result is nil, if it does not fit Out, or if a tool cannot return Out. The
// value may share bytes with the result. Each call compiles the plan of Out again.
func DecodeResult[Out any](result *protocol.CallToolResult) (Out, error) {
	var out Out
	compiled, faults := compileOutput(reflect.TypeFor[Out](), &binding.Set{Options: binding.Options{AllowUnknown: true}})
	if compiled == nil {
		return out, errors.New(firstFault(faults))
	}
	err := compiled.read(result, reflect.ValueOf(&out).Elem())
	return out, err
}

// EncodeJSON encodes v as a tool does that returns v or has it in a result; nil becomes null. It
// returns an error for types that a tool cannot return, and for blocks, contents and a Rich, which
// have no JSON of their own. Each call compiles the plan of the type again.
func EncodeJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage("null"), nil
	}
	if err := ofProtocol(reflect.TypeOf(v)); err != nil {
		return nil, err
	}
	plan, faults := binding.Compile(reflect.TypeOf(v), binding.Output, binding.Options{Bar: ofProtocol})
	if plan == nil {
		return nil, errors.New(firstFault(faults))
	}
	return plan.Append(nil, reflect.ValueOf(v))
}

// DecodeJSON decodes JSON that [EncodeJSON] has written, or a resource of a type T that is sent as JSON.
// Unknown members are ignored. The value may share bytes with raw. Each call compiles the plan of T again.
func DecodeJSON[T any](raw json.RawMessage) (T, error) {
	var v T
	if err := ofProtocol(reflect.TypeFor[T]()); err != nil {
		return v, err
	}
	plan, faults := binding.Compile(reflect.TypeFor[T](), binding.Output, binding.Options{AllowUnknown: true})
	if plan == nil {
		return v, errors.New(firstFault(faults))
	}
	err := readJSON(plan, raw, reflect.ValueOf(&v).Elem())
	return v, err
}

// ofProtocol returns an error for types that the protocol encodes in a form of its own.
func ofProtocol(t reflect.Type) error {
	if what, _ := protocolType(t); what != "" {
		return fmt.Errorf("a %s stands for %s, which has no JSON of its own", t, what)
	}
	return nil
}

// read decodes a result into a value. It is the reverse of result.
func (o *output) read(result *protocol.CallToolResult, into reflect.Value) error {
	if result == nil {
		return errors.New("there is no result")
	}
	switch o.shape {
	case shapeRich:
		return o.readRich(result, into)
	case shapeValue, shapeRaw:
		return o.readStructured(result, into)
	default:
		return o.readBlocks(result.Content, into)
	}
}

func (o *output) readRich(result *protocol.CallToolResult, into reflect.Value) error {
	err := o.inner.read(result, into.FieldByName("Value"))
	if err != nil && (!o.inner.structured() || result.Structured != nil) {
		return err
	}
	into.FieldByName("Content").Set(reflect.ValueOf(Content(result.Content)))
	into.FieldByName("Meta").Set(reflect.ValueOf(ownMeta(result.Meta)))
	return nil
}

// ownMeta returns m without the members that the protocol itself has set.
func ownMeta(m protocol.Meta) protocol.Meta {
	own := maps.Clone(m)
	maps.DeleteFunc(own, func(k string, _ any) bool { return strings.HasPrefix(k, "io.modelcontextprotocol/") })
	if len(own) == 0 {
		return nil
	}
	return own
}

func (o *output) readStructured(result *protocol.CallToolResult, into reflect.Value) error {
	raw := result.Structured
	switch {
	case raw == nil:
		raw = json.RawMessage(dialect.TextOf(result.Content))
	case result.Wrapped && into.Kind() != reflect.Struct && into.Kind() != reflect.Map && // these are never null
		string(jsontext.Compact(nil, raw)) == `{"result":null}`: // a nil pointer to an object
		raw = json.RawMessage("null")
	case result.Wrapped && o.wrapped:
		inner, ok := jsontext.Member(raw, "result")
		if !ok {
			return errors.New(`the structured content has no member "result"`)
		}
		raw = inner
	}
	return readJSON(o.plan, raw, into)
}

// readJSON decodes raw with plan. If plan is nil, into is a json.RawMessage and gets raw itself.
func readJSON(plan *binding.Plan, raw json.RawMessage, into reflect.Value) error {
	if err := jsontext.Check(raw, jsontext.Limits{}); err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	if plan == nil {
		into.SetBytes(raw)
		return nil
	}
	_, err := plan.Decode(background(), raw, into)
	return err
}

// readBlocks decodes content blocks into a value. It is the reverse of blocks.
func (o *output) readBlocks(blocks []protocol.Block, into reflect.Value) error {
	switch o.shape {
	case shapeText:
		into.SetString(dialect.TextOf(blocks))
	case shapeBytes:
		return readBlob(blocks, into)
	case shapeBlock:
		if len(blocks) != 1 || blocks[0] == nil || !reflect.TypeOf(blocks[0]).AssignableTo(into.Type()) {
			return fmt.Errorf("got %s, want one %s", describeBlocks(blocks), into.Type())
		}
		into.Set(reflect.ValueOf(blocks[0]))
	case shapeContent:
		into.Set(reflect.ValueOf(blocks).Convert(into.Type()))
	case shapeStream:
		into.Set(reflect.ValueOf(Stream(func(yield func(protocol.Block, error) bool) {
			for _, b := range blocks {
				if !yield(b, nil) {
					return
				}
			}
		})))
	default:
	}
	return nil
}

func readBlob(blocks []protocol.Block, into reflect.Value) error {
	for _, b := range blocks {
		if e, ok := b.(protocol.Embedded); ok && e.Contents.Data != nil {
			into.SetBytes(e.Contents.Data)
			return nil
		}
	}
	return fmt.Errorf("got %s, want an embedded blob", describeBlocks(blocks))
}

func describeBlocks(blocks []protocol.Block) string {
	kinds := make([]string, len(blocks))
	for i, b := range blocks {
		kinds[i] = strings.Trim(strings.TrimPrefix(fmt.Sprintf("%T", b), "protocol."), "<>") // a nil block prints as <nil>
	}
	if len(kinds) == 0 {
		return "no block"
	}
	return strings.Join(kinds, ", ")
}

// NameOf returns the name that clients use for a component. For a tool or prompt, that is the name
// with the prefixes of its groups; for a resource or template, the URI. NameOf reports false if the
// server does not have the component.
func (s *Server) NameOf(c Component) (string, bool) {
	handle, ok := c.(leaf)
	if s == nil || s.registry == nil || !ok {
		return "", false
	}
	d := handle.declared()
	for _, e := range s.registry.Entries() {
		if e.Handler.(*componentHandler).declared == d {
			return e.Key, true
		}
	}
	return "", false
}
