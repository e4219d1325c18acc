package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Tool registers fn as a tool.
//
// In is a struct or a pointer to one (never nil), struct{} for no arguments, a map with string
// keys, or json.RawMessage together with InputSchema. If In has a method Validate() error or
// Validate(context.Context) error, it is called after all rules of the tags hold.
//
// Out is one of the following. Any other JSON type is sent as structured content, and its JSON also
// as text. A nil pointer is null.
//
//   - string: one text block
//   - Image, Audio, Link, Embedded or a protocol.Block: one block
//   - Content or Stream: several blocks
//   - []byte: an embedded blob
//   - Rich[T]: a value together with blocks and _meta
//   - json.RawMessage: structured content, as it is
//   - struct{}: no content
func Tool[In, Out any](name string, fn func(context.Context, In) (Out, error), opts ...Option) *ToolOf[In, Out] {
	t := &ToolOf[In, Out]{fn: fn, declaration: declare(kindTool, name, fn, opts)}
	t.declaration.compile = t.compile
	return t
}

// ToolOf is the typed handle of a tool. It registers the tool, calls it in tests, and can be passed
// to WithTools. Its methods may be called concurrently, before and after Build. Schemas and checks
// reflect the app of the last Build. Before the first Build, they use the default options.
type ToolOf[In, Out any] struct {
	fn          func(context.Context, In) (Out, error)
	declaration *declaration
	latest      atomic.Pointer[toolPlan] // set by Build, or by plan before the first Build
}

func (*ToolOf[In, Out]) component() {}

func (t *ToolOf[In, Out]) declared() *declaration {
	if t == nil {
		return nil
	}
	return t.declaration
}

// compile sets the innermost step of the tool for one server.
func (t *ToolOf[In, Out]) compile(b *builder, m *member) {
	plan := b.tool(m, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	if plan == nil {
		return
	}
	t.latest.Store(plan)
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		v := new(values[In, Out])
		report, err := plan.in.decode(ctx, call.Arguments, reflect.ValueOf(&v.in).Elem())
		if err != nil {
			return nil, err
		}
		if v.out, err = t.fn(ctx, v.in); err != nil {
			return nil, err
		}
		result, err := plan.answer(ctx, m.handler, reflect.ValueOf(&v.out).Elem(), report, &v.answer)
		v.in, v.out = *new(In), *new(Out) // the result may be kept, for example by a cache, and would keep them in memory
		return result, err
	}
}

// values holds the input, the output and the result of one call, in one allocation.
type values[In, Out any] struct {
	in     In
	out    Out
	answer answer
}

// Name returns the name as registered, without group prefixes. It returns "" for a nil or empty
// handle.
func (t *ToolOf[In, Out]) Name() string { return t.declared().called() }

// plan returns the plan compiled by the last Build. Before the first Build, it compiles one from
// the declaration, without the app's options. It returns an error if the handle is empty or its
// types have faults.
func (t *ToolOf[In, Out]) plan() (*toolPlan, error) {
	if t.declared() == nil {
		return nil, errors.New("framework: the handle of a tool is made by Tool; this one is empty")
	}
	if p := t.latest.Load(); p != nil {
		return p, nil
	}
	p, faults := compileTool(reflect.TypeFor[In](), reflect.TypeFor[Out](), t.declaration.alone(), new(binding.Set))
	if p == nil {
		return nil, fmt.Errorf("tool %q: %s", t.declaration.name, firstFault(faults))
	}
	t.latest.CompareAndSwap(nil, p)
	return p, nil
}

// Call calls the function in this process. It encodes in, and decodes it with the defaults and the
// validation of a call from a client. Middleware does not run. Call returns the function's own
// error, unclassified, and an error if the tool is faulty or in is invalid. It turns a panic of the
// function into an error.
func (t *ToolOf[In, Out]) Call(ctx context.Context, in In) (Out, error) {
	var none Out
	p, err := t.plan()
	if err != nil {
		return none, err
	}
	if t.fn == nil {
		return none, fmt.Errorf("tool %q: %s", t.declaration.name, t.declaration.problem)
	}
	raw, err := t.Encode(in)
	if err != nil {
		return none, err
	}
	var decoded In
	if _, err := p.in.decode(ctx, raw, reflect.ValueOf(&decoded).Elem()); err != nil {
		return none, teaching(t.declaration.name, err)
	}
	return guarded(func() (Out, error) { return t.fn(ctx, decoded) })
}

// InputSchema returns the compiled input schema, or nil if the types have faults. WithProfile does
// not change it. The caller must not modify it.
func (t *ToolOf[In, Out]) InputSchema() json.RawMessage {
	if p, err := t.plan(); err == nil {
		return p.in.schema
	}
	return nil
}

// OutputSchema returns the listed output schema. It returns nil if results are text or blocks, have no
// content, or are json.RawMessage without the option OutputSchema. It also returns nil if the types
// have faults. The caller must not modify the schema.
func (t *ToolOf[In, Out]) OutputSchema() json.RawMessage {
	if p, err := t.plan(); err == nil {
		return p.out.schema
	}
	return nil
}

// Check validates arguments. For invalid arguments it returns the error that the model would see.
// It also returns an error if arguments are not JSON, or if the tool is faulty.
func (t *ToolOf[In, Out]) Check(arguments json.RawMessage) error {
	p, err := t.plan()
	if err != nil {
		return err
	}
	if len(arguments) > 0 {
		if err := jsontext.Check(arguments, jsontext.DefaultLimits()); err != nil {
			return fmt.Errorf("reading the arguments of %s: %w", t.declaration.name, err)
		}
	}
	var in In
	_, err = p.in.decode(background(), arguments, reflect.ValueOf(&in).Elem())
	return teaching(t.declaration.name, err)
}

// teaching adds the name of the tool to an error about invalid arguments. It returns other errors
// as they are.
func teaching(name string, err error) error {
	if invalid, ok := errors.AsType[*binding.Invalid](err); ok {
		return invalidFault(protocol.FaultInvalidArguments, name, invalid)
	}
	return err
}

// toolPlan holds the compiled types of a tool.
type toolPlan struct {
	in    *input
	out   *output
	types binding.Options // the options that the plan was compiled with
}

// input is the compiled type of the arguments.
type input struct {
	plan   *binding.Plan // nil if In is json.RawMessage
	check  *binding.Raw  // the InputSchema option; nil without it
	schema json.RawMessage
}

// decode decodes arguments into into. The engine has already checked that the arguments are JSON.
func (in *input) decode(ctx context.Context, arguments []byte, into reflect.Value) (binding.Report, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if in.check != nil {
		if err := in.check.Check(arguments); err != nil {
			return binding.Report{}, in.discreet(err)
		}
	}
	if in.plan == nil {
		into.SetBytes(bytes.Clone(arguments))
		return binding.Report{}, nil
	}
	return in.plan.Decode(ctx, arguments, into)
}

// discreet returns an error of the InputSchema without the values that were sent, if In has a secret.
// The schema does not say where.
func (in *input) discreet(err error) error {
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok || in.plan == nil || !in.plan.Secretive {
		return err
	}
	for i := range invalid.Issues {
		if invalid.Issues[i].Got != "" {
			invalid.Issues[i].Got = "a value that is not shown"
		}
	}
	return invalid
}

func (in *input) encode(v reflect.Value) ([]byte, error) {
	if in.plan == nil {
		return v.Bytes(), jsontext.Check(v.Bytes(), jsontext.DefaultLimits())
	}
	return in.plan.Encode(v)
}

// answer builds the result in a. The _meta of the result lists the arguments that were repaired.
func (p *toolPlan) answer(ctx context.Context, b *componentHandler, out reflect.Value, report binding.Report, a *answer) (*Result, error) {
	body, h := &a.body, callCtxFrom(ctx)
	if h != nil && h.inner == nil && len(b.steps) == 0 {
		a.call = h.call
	}
	err := p.out.result(ctx, b.info.Name, out, a)
	a.call = nil // the result may be kept, and must not keep the whole call in memory
	if err != nil {
		return nil, err
	}
	if h != nil && len(body.Structured) > 0 {
		h.made.Store(&body.Structured[0])
	}
	if body.Content == nil && len(body.Structured) > 0 && len(b.steps) > 0 {
		// If there are no steps that could see the content, the dialect writes it from the same
		// bytes.
		body.Content = a.text(string(body.Structured))
	}
	repaired := report.Repaired
	if h.quoted() {
		repaired = append([]string{""}, repaired...)
	}
	if len(repaired) > 0 {
		meta := make(protocol.Meta, len(body.Meta)+1)
		maps.Copy(meta, body.Meta)
		meta["kagami/repaired"] = repaired
		body.Meta = meta
	}
	a.result.Body = body
	return &a.result, nil
}

// quoted reports whether the client sent all arguments of the call as one JSON string. h may be nil.
func (h *callCtx) quoted() bool {
	if h == nil || h.inner != nil {
		return false
	}
	p, ok := h.call.Params.(*protocol.CallToolParams)
	return ok && p.Quoted
}

// compileTool compiles both types. The plan is nil if a fault is more than a warning.
func compileTool(in, out reflect.Type, s *settings, plans *binding.Set) (*toolPlan, []binding.Fault) {
	compiledIn, faults := compileInput(in, s.inputSchema, plans)
	compiledOut, more := compileOutput(out, plans)
	faults = slices.Concat(faults, more)
	if compiledOut != nil && s.outputSchema != nil {
		raw, err := binding.CompileRaw(s.outputSchema)
		switch {
		case !compiledOut.structured():
			faults = append(faults, binding.Fault{Path: "OutputSchema", Problem: "the result " + out.String() + " is not structured", Fix: "Remove the option or return a JSON type"})
			compiledOut = nil
		case err != nil:
			faults = append(faults, binding.Fault{Path: "OutputSchema", Problem: err.Error(), Fix: "Correct the schema"})
			compiledOut = nil
		default:
			compiledOut = compiledOut.withSchema(raw)
		}
	}
	if compiledIn == nil || compiledOut == nil {
		return nil, faults
	}
	return &toolPlan{in: compiledIn, out: compiledOut, types: plans.Options}, faults
}

func compileInput(t reflect.Type, schema json.RawMessage, plans *binding.Set) (*input, []binding.Fault) {
	in, compile := &input{}, plans.Compile
	if schema != nil {
		raw, err := binding.CompileRaw(schema)
		if err != nil {
			return nil, []binding.Fault{{Path: "InputSchema", Problem: err.Error(), Fix: "Correct the schema"}}
		}
		if !isObjectSchema(raw.Schema()) {
			return nil, []binding.Fault{{Path: "InputSchema", Problem: "the root is not of type object", Fix: `Add "type":"object"`}}
		}
		in.check, in.schema = raw, raw.Schema()
		compile = plans.CompileLoose // the given schema decides which members are allowed
	}
	if t == typeRaw {
		if schema == nil {
			return nil, []binding.Fault{{Path: "In", Problem: "json.RawMessage does not describe its members", Fix: "Add InputSchema"}}
		}
		return in, nil
	}
	plan, faults := compile(t, binding.Input)
	if plan == nil {
		return nil, faults
	}
	in.plan = plan
	if schema == nil {
		in.schema = plan.Schema()
	}
	return in, faults
}

// tool compiles a tool's types and writes its listed form. It returns nil if the types have faults.
func (b *builder) tool(m *member, in, out reflect.Type) *toolPlan {
	plan, faults := compileTool(in, out, &m.options, &b.plans)
	m.adopt(b, faults)
	if plan == nil {
		m.failed = true
		return nil
	}
	m.handler.refuse = m.handler.refuseTool
	m.entry.Kind = catalog.Tool
	narrowing := b.server.cfg.narrowing
	narrowing.Texts = plan.in.check == nil && !b.server.cfg.plans.NoRepair
	listed := protocol.Tool{
		Name: m.listed, Title: titled(m.options.title, m.listed), Description: m.options.description,
		InputSchema: narrowing.Schema(plan.in.schema), OutputSchema: plan.out.schema, Annotations: m.options.hints,
		Icons: m.options.icons, Meta: m.options.meta, TaskSupport: m.options.task.support(),
	}
	m.handler.tool = &listed
	m.handler.mask = binding.MaskOf(plan.in.plan)
	m.handler.policy = m.taskPolicy(b, plan, in)
	m.entry.Tasks = m.handler.policy != nil
	m.write(b, func(d *dialect.Dialect) ([]byte, error) { return d.AppendTool(nil, &listed) })
	m.portable(b, plan.in.schema)
	if plan.in.check == nil {
		m.mirror(b, "In")
	} else {
		m.mirror(b, "InputSchema")
	}
	return plan
}

// mirror finds the arguments that HTTP clients repeat in header fields, in the schema as those
// clients see it. Most faults of a header tag are found at its field. mirror finds faults that only
// the whole schema shows, and faults of hand-written schemas.
func (m *member) mirror(b *builder, where string) {
	for _, d := range dialect.All() {
		wire := m.entry.Wire[d]
		if wire == nil || !d.MirrorHeaders() {
			continue
		}
		schema, _ := jsontext.Member(wire, "inputSchema")
		mirrors, err := dialect.Mirrors(schema)
		if err != nil {
			// 2026-07-28 server/tools "x-mcp-header": clients must drop a tool with such a fault.
			m.fault(b, where, strings.TrimPrefix(err.Error(), ": "),
				"Put x-mcp-header on a string, integer or boolean that cannot be null, reached through properties alone, with a header of its own")
			return
		}
		m.entry.Mirrors = mirrors
	}
}

// write encodes the listed form for every dialect.
func (m *member) write(b *builder, encode func(*dialect.Dialect) ([]byte, error)) {
	m.entry.Wire = make(map[*dialect.Dialect][]byte)
	for _, d := range dialect.All() {
		wire, err := encode(d)
		if err != nil {
			m.fault(b, "", "it cannot be listed for clients of "+d.String()+": "+err.Error(), "")
			return
		}
		m.entry.Wire[d] = kept(m.entry.Wire, wire)
	}
}

// kept returns the bytes of another dialect that equal wire, or a copy of wire without spare
// capacity.
func kept(of map[*dialect.Dialect][]byte, wire []byte) []byte {
	for _, same := range of {
		if bytes.Equal(same, wire) {
			return same
		}
	}
	return bytes.Clone(wire)
}

// isObjectSchema reports whether the root type is exactly "object". All revisions require it of an
// input schema.
func isObjectSchema(schema []byte) bool {
	raw, _ := jsontext.Member(schema, "type")
	name, _ := jsontext.String(raw)
	return name == "object"
}
