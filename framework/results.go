package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Results of tools and resources.
type (
	// Image is an image block.
	Image = protocol.Image
	// Audio is an audio block.
	Audio = protocol.Audio
	// Embedded is a resource whose contents are part of the result.
	Embedded = protocol.Embedded
	// Link points to a resource.
	Link = protocol.Link
	// Contents is one item of a resource. A resource may return []Contents.
	Contents = protocol.Contents
	// Content is a result of several blocks, in order.
	Content []protocol.Block
	// Stream is a result that is produced block by block. An error ends it, and becomes the error
	// of the call.
	Stream = iter.Seq2[protocol.Block, error]
)

// Text returns a text block.
func Text(text string) protocol.Block { return protocol.Text{Text: text} }

// Rich is a typed value together with content blocks and _meta. The output schema is the schema of
// T.
//
// Set IsError if the tool failed, and the text of UserErrorf is not enough for the model. The error
// can then have images, links or structured content. A zero Value is left out of such a result, and
// another Value does not have to fit an OutputSchema (server/tools "Error Handling").
//
// An empty json.RawMessage is also left out, if there is no OutputSchema. A Rich[json.RawMessage] can
// therefore represent any result, for example in a proxy.
type Rich[T any] struct {
	Value   T
	Content Content       // if empty, derived from Value
	Meta    protocol.Meta // the _meta of the result; may be nil
	IsError bool
}

// rich is implemented by every Rich[T].
type rich interface {
	extras() (content Content, meta protocol.Meta, isError bool)
}

func (r Rich[T]) extras() (content Content, meta protocol.Meta, isError bool) {
	return r.Content, r.Meta, r.IsError
}

// shape is the form of a result that a Go type is written as.
type shape uint8

const (
	shapeValue shape = iota // JSON: structured, and as text
	shapeNone
	shapeText
	shapeBytes
	shapeBlock
	shapeContent
	shapeStream
	shapeRaw
	shapeRich
)

var (
	typeText   = reflect.TypeFor[string]()
	typeRaw    = reflect.TypeFor[json.RawMessage]()
	typeNone   = reflect.TypeFor[struct{}]()
	typeBlock  = reflect.TypeFor[protocol.Block]()
	typeBlocks = reflect.TypeFor[[]protocol.Block]()
	typeRich   = reflect.TypeFor[rich]()
)

// shapes are the shapes of types that are known by themselves.
var shapes = map[reflect.Type]shape{
	typeText: shapeText, typeRaw: shapeRaw, typeNone: shapeNone, typeBlocks: shapeContent,
	reflect.TypeFor[[]byte](): shapeBytes, reflect.TypeFor[Content](): shapeContent, reflect.TypeFor[Stream](): shapeStream,
}

func shapeOf(t reflect.Type) shape {
	if known, ok := shapes[t]; ok {
		return known
	}
	switch {
	case isRich(t):
		return shapeRich
	case isBlock(t):
		return shapeBlock
	}
	return shapeValue
}

// isRich reports whether t is a Rich. A struct that embeds a Rich does not count.
func isRich(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Implements(typeRich) && t.PkgPath() == typeRich.PkgPath()
}

// isBlock reports whether t is a block or a pointer to one. A struct that embeds a block does not
// count.
func isBlock(t reflect.Type) bool {
	if !t.Implements(typeBlock) {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Interface || t.PkgPath() == typeBlock.PkgPath()
}

// output is a compiled result type.
type output struct {
	shape   shape
	inner   *output         // for shapeRich: the value
	plan    *binding.Plan   // for shapeValue
	check   *binding.Raw    // the OutputSchema option; nil without it
	schema  json.RawMessage // as listed; nil if there is none to list
	wrapped bool            // older revisions get the value as {"result": …}
}

// compileOutput compiles t and returns its faults. The output is nil if a fault is more than a
// warning.
func compileOutput(t reflect.Type, plans *binding.Set) (*output, []binding.Fault) {
	o := &output{shape: shapeOf(t)}
	switch o.shape {
	case shapeRich:
		field, _ := t.FieldByName("Value")
		inner, faults := compileOutput(field.Type, plans)
		if inner == nil {
			return nil, faults
		}
		if inner.shape == shapeRich || inner.shape == shapeStream {
			return nil, []binding.Fault{{Path: "Rich.Value", Problem: "a Rich cannot hold a " + field.Type.String(), Fix: "Use the value's own type"}}
		}
		o.inner, o.schema, o.wrapped = inner, inner.schema, inner.wrapped
		return o, faults
	case shapeBlock:
		if t.Kind() == reflect.Pointer {
			return nil, []binding.Fault{{Path: "Out", Problem: "the result is a pointer to a block", Fix: "Return " + t.Elem().String()}}
		}
	case shapeValue:
		if faults := notMeant(t); faults != nil {
			return nil, faults
		}
		plan, faults := plans.Compile(t, binding.Output)
		if plan == nil {
			return nil, faults
		}
		o.plan, o.schema = plan, plan.Schema()
		o.wrapped = dialect.WrapsOutput(o.schema)
		return o, faults
	default:
	}
	return o, nil
}

// withSchema returns a copy that lists raw as the schema and checks results against it.
func (o *output) withSchema(raw *binding.Raw) *output {
	c := *o
	c.check, c.schema = raw, raw.Schema()
	c.wrapped = dialect.WrapsOutput(c.schema)
	if c.inner != nil {
		c.inner = c.inner.withSchema(raw)
	}
	return &c
}

// structured reports whether results have a structured form.
func (o *output) structured() bool {
	if o.shape == shapeRich {
		return o.inner.structured()
	}
	return o.shape == shapeValue || o.shape == shapeRaw
}

// encode encodes v into memory borrowed from call (see answer). If call is nil or does not lend
// memory, encode allocates.
func (o *output) encode(v reflect.Value, call *engine.Call) ([]byte, error) {
	if call != nil {
		if room, ok := call.Lend(); ok {
			text, err := o.plan.Append(room, v)
			call.Lent(text)
			return text, err
		}
	}
	return o.plan.Encode(v)
}

// maxNesting limits the depth of JSON that a handler or a step returns. Clients refuse a whole
// answer that is nested too deeply.
const maxNesting = 1000

// json returns the JSON form of a structured value, checked against the OutputSchema.
func (o *output) json(v reflect.Value, call *engine.Call) (json.RawMessage, error) {
	var raw []byte
	if o.shape == shapeRaw {
		raw = v.Bytes()
		if len(raw) == 0 {
			raw = []byte("null")
		}
		if err := jsontext.Check(raw, jsontext.Limits{Depth: maxNesting}); err != nil {
			return nil, fmt.Errorf("the json.RawMessage is invalid JSON: %w", err)
		}
	} else {
		var err error
		if raw, err = o.encode(v, call); err != nil {
			return nil, err
		}
	}
	if o.check != nil {
		if err := o.check.Check(raw); err != nil {
			// An *Invalid would be reported as a fault of the arguments, so only its text is kept.
			return nil, errors.New("the result does not fit the OutputSchema: " + err.Error())
		}
	}
	return raw, nil
}

// answer holds the parts of a tool's result, so that they need one allocation.
type answer struct {
	result Result
	body   protocol.CallToolResult
	block  [1]protocol.Block
	call   *engine.Call // set if only the engine sees the result, which may then use memory borrowed with Call.Lend
}

// text returns content of one text block. It uses a.block.
func (a *answer) text(text string) []protocol.Block {
	a.block[0] = protocol.Text{Text: text}
	return a.block[:1:1]
}

// result builds the result of a tool from the value that its function returned. A structured result
// does not get content here. Clients that do not read structured content get it as text
// (server/tools "Structured Content": SHOULD also be a TextContent). toolPlan.answer or the dialect
// adds that text.
func (o *output) result(ctx context.Context, name string, v reflect.Value, a *answer) (err error) {
	switch {
	case o.shape == shapeRich:
		return o.richResult(ctx, name, v, a)
	case o.structured():
		a.body.Structured, err = o.json(v, a.call)
		a.body.Wrapped = o.wrapped
	case o.shape == shapeText:
		a.body.Content = a.text(v.String())
	default:
		a.body.Content, err = o.blocks(ctx, name, v)
	}
	return err
}

func (o *output) richResult(ctx context.Context, name string, v reflect.Value, a *answer) error {
	content, meta, isError := v.Interface().(rich).extras()
	inner := *o.inner
	if isError {
		inner.check = nil
	}
	value := v.FieldByName("Value")
	absent := isError && value.IsZero() || inner.shape == shapeRaw && inner.check == nil && value.Len() == 0
	if !absent {
		if err := inner.result(ctx, name, value, a); err != nil {
			return err
		}
	}
	if _, err := present(content); err != nil {
		return err
	}
	if len(content) > 0 {
		a.body.Content = content
	}
	a.body.Meta, a.body.IsError = meta, isError
	return nil
}

// blocks returns the content of a result that is neither structured nor a text.
func (o *output) blocks(ctx context.Context, name string, v reflect.Value) ([]protocol.Block, error) {
	switch o.shape {
	case shapeBytes:
		data := v.Bytes()
		if data == nil {
			data = []byte{}
		}
		return []protocol.Block{Embedded{Contents: Contents{URI: resultURI(name), Data: data}}}, nil
	case shapeBlock:
		block, _ := reflect.TypeAssert[protocol.Block](v)
		return present([]protocol.Block{block})
	case shapeContent:
		blocks, _ := reflect.TypeAssert[[]protocol.Block](v.Convert(typeBlocks))
		return present(blocks)
	case shapeStream:
		stream, _ := reflect.TypeAssert[Stream](v)
		return drain(ctx, stream)
	default:
		return nil, nil
	}
}

var errNilBlock = errors.New("the result holds a nil block")

func present(blocks []protocol.Block) ([]protocol.Block, error) {
	for _, b := range blocks {
		if err := sendable(b); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// sendable returns an error for nil and for a pointer, which implements protocol.Block like the block
// that it points to. The dialect refuses both, but only after the steps of the chain have seen the
// call succeed.
func sendable(b protocol.Block) error {
	switch {
	case b == nil:
		return errNilBlock
	case reflect.TypeOf(b).Kind() == reflect.Pointer:
		return fmt.Errorf("the result holds a %T, want the block itself", b)
	}
	return nil
}

// drain collects the blocks of a stream, because no revision has partial results of tools.
func drain(ctx context.Context, stream Stream) ([]protocol.Block, error) {
	if stream == nil {
		return nil, nil
	}
	var blocks []protocol.Block
	for block, err := range stream {
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		if err := sendable(block); err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// URL is an absolute URL that is a string in JSON. A url.URL of package net/url is refused, because
// encoding/json would encode it as a struct of eleven fields.
type URL = binding.URL
