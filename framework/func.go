package framework

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// Func registers any function as a tool. The first parameter may be a context, and the last result
// an error. The other parameters are one struct, a pointer to a struct, a map, or json.RawMessage with
// InputSchema; or values that Params names; or none. Results are encoded in the same way as results of
// Tool.
func Func(name string, fn any, opts ...Option) Component {
	d := declare(kindTool, name, fn, opts)
	d.also = kindFunc
	d.compile = func(b *builder, m *member) { compileFunc(reflect.ValueOf(fn), b, m) }
	return d
}

// signature describes how to call a function of Func.
type signature struct {
	fn         reflect.Value
	hasContext bool
	spread     bool // the fields of in are the parameters
	in         reflect.Type
	out        reflect.Type
	hasOut     bool
	hasError   bool
}

// compileFunc sets the innermost step of a tool. The types of its function are known only at run time.
func compileFunc(fn reflect.Value, b *builder, m *member) {
	sig, fault := signatureOf(fn, m.options.params)
	if fault != nil {
		fix := fault.Fix
		if fix == fixUnnamed && m.wayOut != "" { // Methods does not have the option Params
			fix = "Take one struct, or register it with Func and Params"
		}
		m.fault(b, fault.Path, fault.Problem, fix)
		return
	}
	before := len(b.faults)
	plan := b.tool(m, sig.in, sig.out)
	sig.namePaths(b.faults[before:], m.options.params)
	if plan == nil {
		return
	}
	m.handler.invoke = func(ctx context.Context, call *Call) (*Result, error) {
		in := reflect.New(sig.in).Elem()
		report, err := plan.in.decode(ctx, call.Arguments, in)
		if err != nil {
			return nil, err
		}
		out, err := sig.call(ctx, in)
		if err != nil {
			return nil, err
		}
		return plan.answer(ctx, m.handler, out, report, new(answer))
	}
}

const fixUnnamed = "Add Params, or take one struct"

// call calls the function with the arguments in. It returns the error of the function, or its
// result; without a result, the zero value of s.out.
func (s *signature) call(ctx context.Context, in reflect.Value) (reflect.Value, error) {
	var args []reflect.Value
	if s.hasContext {
		args = append(args, reflect.ValueOf(ctx))
	}
	switch {
	case s.spread:
		for _, field := range in.Fields() {
			args = append(args, field)
		}
	case s.fn.Type().NumIn() > len(args): // one parameter besides the context
		args = append(args, in)
	}
	results := s.fn.Call(args)
	if s.hasError {
		if failure, _ := reflect.TypeAssert[error](results[len(results)-1]); failure != nil {
			return reflect.Value{}, failure
		}
	}
	out := reflect.New(s.out).Elem()
	if s.hasOut {
		out.Set(results[0])
	}
	return out, nil
}

// signatureOf returns the signature of the function. names are the parameters of Params. A function
// that cannot be a tool is a fault.
func signatureOf(fn reflect.Value, names []string) (*signature, *binding.Fault) {
	t := fn.Type()
	if t.IsVariadic() {
		return nil, &binding.Fault{Problem: "the function is variadic", Fix: "Take a slice"}
	}
	s := &signature{fn: fn}
	var params []reflect.Type
	for p := range t.Ins() {
		params = append(params, p)
	}
	if len(params) > 0 && params[0] == typeContext {
		s.hasContext, params = true, params[1:]
	}
	if i := slices.Index(params, typeContext); i >= 0 {
		return nil, &binding.Fault{Problem: "the context is not the first parameter", Fix: "Put it first"}
	}
	if fault := s.results(t); fault != nil {
		return nil, fault
	}
	return s, s.parameters(params, names)
}

func (s *signature) results(t reflect.Type) *binding.Fault {
	results := t.NumOut()
	if results > 0 && t.Out(results-1) == typeError {
		s.hasError = true
		results--
	}
	switch {
	case results > 1:
		return &binding.Fault{Problem: fmt.Sprintf("the function has %d results", results), Fix: "Return one value, or one and an error"}
	case results == 1 && t.Out(0) == typeError:
		return &binding.Fault{Problem: "the function returns two errors", Fix: "Return one value, or one and an error"}
	case results == 1:
		s.hasOut, s.out = true, t.Out(0)
	default:
		s.out = typeNone
	}
	return nil
}

func (s *signature) parameters(params []reflect.Type, names []string) *binding.Fault {
	switch {
	case len(names) > 0 && len(names) != len(params):
		return &binding.Fault{
			Problem: fmt.Sprintf("Params names %s, the function has %d", count(len(names), "parameter"), len(params)),
			Fix:     "Name each parameter but the context",
		}
	case len(params) == 0:
		s.in = typeNone
	case len(names) > 0:
		return s.spreadOver(params, names)
	case len(params) == 1 && holdsMembers(params[0]):
		s.in = params[0]
	default:
		problem := "the parameter of the function has no name"
		if len(params) > 1 {
			problem = fmt.Sprintf("the %d parameters of the function have no names", len(params))
		}
		return &binding.Fault{Problem: problem, Fix: fixUnnamed}
	}
	return nil
}

// holdsMembers reports whether one value of the type holds all arguments. A time is one of them.
func holdsMembers(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() || t.Kind() == reflect.Map || t == typeRaw
}

// namePaths replaces the field name that spreadOver made by the parameter's name, at the start of
// the paths of faults.
func (s *signature) namePaths(faults []Fault, names []string) {
	if !s.spread {
		return
	}
	for i := range faults {
		first, rest, nested := strings.Cut(strings.TrimPrefix(faults[i].Path, "In."), ".")
		field, ok := s.in.FieldByName(first)
		if !ok {
			continue
		}
		faults[i].Path = names[field.Index[0]]
		if nested {
			faults[i].Path += "." + rest
		}
	}
}

// spreadOver makes a struct type for in whose fields are the parameters.
func (s *signature) spreadOver(params []reflect.Type, names []string) *binding.Fault {
	fields := make([]reflect.StructField, len(params))
	for i, name := range names {
		if !plainName(name) || name == "" || name == "-" { // "-" would leave the field out
			return &binding.Fault{Path: name, Problem: "a parameter cannot have this name", Fix: "Use letters, digits and _"}
		}
		if slices.Contains(names[:i], name) {
			return &binding.Fault{Path: name, Problem: "two parameters have this name", Fix: "Rename one"}
		}
		fields[i] = reflect.StructField{
			Name: "P" + strconv.Itoa(i),
			Type: params[i],
			Tag:  reflect.StructTag(`json:"` + name + `"`),
		}
	}
	s.in, s.spread = reflect.StructOf(fields), true
	return nil
}
