package framework

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

// Component is a tool, a resource, a resource template, a prompt, a JSON-RPC method, or a set of
// them. Other packages cannot implement it.
type Component interface{ component() }

// Provider is a type that returns components. Package mcpfx registers the components of all
// providers that mcpfx.Provide takes.
type Provider interface{ Components() []Component }

// kind is the kind of a component, as a bit. Options and middleware have the set of kinds that they
// fit.
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

func (k kind) String() string { return cmp.Or(kindNames[k], "component") }

var kindNames = map[kind]string{
	kindTool: "tool", kindResource: "resource", kindTemplate: "template", kindPrompt: "prompt", kindMethod: "method",
	kindCompletion: "completion",
}

// leaf is a component that is not a set.
type leaf interface {
	Component
	declared() *declaration
}

// declaration holds the arguments of a registration function, without their types. It is immutable,
// because one handle may be built into many servers. It is itself the component of functions that
// return no typed handle.
type declaration struct {
	kind     kind
	also     kind   // a second kind, which only options use
	name     string // tool, prompt, method; URI; URI template
	opts     []Option
	where    string // file:line of the user's function; otherwise the same as made
	pkg      string // import path of the function's package; "" if unknown
	made     string // file:line of the registration
	function string // the function's name without the package
	problem  string // fault of the declaration itself, such as a nil function; "" if none
	fix      string
	wayOut   string // for a method in Methods: the Exclude option that leaves it out

	// compile checks the types and sets the innermost step of the chain.
	compile func(b *builder, m *member)
}

func (*declaration) component() {}

func (d *declaration) declared() *declaration { return d }

// called returns the name, or "" if d is nil.
func (d *declaration) called() string {
	if d == nil {
		return ""
	}
	return d.name
}

// declare makes the declaration of a component. It looks up where fn is declared. If fn is nil or
// is not a function, Build reports that at the line of the registration. declare must be called
// directly by the exported registration function, because made is the line of that function's
// caller.
func declare(k kind, name string, fn any, opts []Option) *declaration {
	d := &declaration{kind: k, name: name, opts: slices.Clone(opts), made: callsite.Caller(2)} // a copy: Build reads it later
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
		if d.where == "" { // for a method value only the compiler's wrapper is known, which has no position
			d.where = d.made
		}
	}
	return d
}

// functionPlace returns the file:line where the function is declared, and its name without the
// package. If the position is unknown, where is "".
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
