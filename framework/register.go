package framework

import (
	"context"
	"reflect"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

// Component is a tool, a resource, a template, a prompt or a set of them. Sealed.
type Component interface{ component() }

// Provider is what mcpfx.Provide looks for.
type Provider interface{ Components() []Component }

// kind is that of a component, as a bit: options and middleware say which kinds they fit.
type kind uint16

const (
	kindTool kind = 1 << iota
	kindResource
	kindTemplate
	kindPrompt
	kindMethod
	kindMethods // the set that Methods returns, for options
	kindFunc    // a tool that Func has made, for options
	kindList    // a list, for middleware
	kindCompletion

	kindsRead = kindResource | kindTemplate
	kindsAll  = kindTool | kindsRead | kindPrompt | kindMethod
)

func (k kind) String() string {
	switch k {
	case kindTool:
		return "tool"
	case kindResource:
		return "resource"
	case kindTemplate:
		return "template"
	case kindPrompt:
		return "prompt"
	case kindMethod:
		return "method"
	case kindCompletion:
		return "completion"
	default:
		return "component"
	}
}

// leaf is a component that is not a set.
type leaf interface {
	Component
	declared() *declaration
}

// declaration holds what a registration function was given, without its types. It is immutable:
// one handle may be built into many servers.
type declaration struct {
	kind     kind
	also     kind   // its kind for options, besides
	name     string // tool, prompt, method; URI; URI template
	opts     []Option
	where    string // file:line of the user's function
	pkg      string // the import path of its package; "" if it is not known
	made     string // file:line of the registration
	function string // the function's name without the package
	problem  string // what is wrong with the declaration itself, such as a nil function
	fix      string
	wayOut   string // for a method in Methods: the Exclude that leaves it out

	// compile checks the types and makes the innermost step of the chain.
	compile func(b *builder, m *member)
}

// called returns the name; "" if there is no declaration.
func (d *declaration) called() string {
	if d == nil {
		return ""
	}
	return d.name
}

// declare finds the place of the program's function. A nil function is a problem that Build
// reports at the line of the registration (skip callers above this one).
func declare(k kind, name string, fn any, opts []Option) *declaration {
	d := &declaration{kind: k, name: name, opts: opts, made: callsite.Caller(2)}
	v := reflect.ValueOf(fn)
	switch {
	case !v.IsValid() || v.Kind() == reflect.Func && v.IsNil():
		d.where = d.made
		d.problem, d.fix = "the function is nil", "Register a function"
	case v.Kind() != reflect.Func:
		d.where = d.made
		d.problem, d.fix = "got a value of type "+v.Type().String()+", not a function", "Register a function"
	default:
		d.where, d.function = functionPlace(v)
		d.pkg = callsite.Package(v)
		if d.where == "" { // of a method value only the wrapper is known, which has no place
			d.where = d.made
		}
	}
	return d
}

// functionPlace is where the function is declared, and its name without the package; the place
// is "" if it is not known.
func functionPlace(fn reflect.Value) (where, name string) {
	where, full := callsite.Func(fn)
	if _, after, ok := strings.Cut(full, "."); ok {
		return where, after
	}
	return where, full
}

var (
	typeContext = reflect.TypeFor[context.Context]()
	typeError   = reflect.TypeFor[error]()
)
