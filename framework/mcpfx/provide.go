package mcpfx

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/transport"
)

// provided is a provider with its sort key and its origin.
type provided struct {
	framework.Provider
	name string // names of the type and of the constructor
	from string // position of the constructor
}

// Provide adds constructors of framework.Provider values. The values are also available by their
// own types. If a constructor has several results, Provide uses those that are providers. If it has
// none, fx.New reports an error. Instead of fx.Annotate, use parameters that embed fx.In.
func Provide(constructors ...any) fx.Option {
	all := slices.Clone(constructors)
	for _, c := range constructors {
		found, err := resultsOf[framework.Provider](c)
		if err != nil {
			return fx.Error(fmt.Errorf("mcpfx.Provide: %w (a provider has Components() []framework.Component)", err))
		}
		for _, t := range found {
			all = append(all, contribution(t, c))
		}
	}
	return provide("mcpfx.Provide at "+callsite.Caller(1), all)
}

// Auth adds the constructor of the server's authenticator. It may return a transport.Authenticator or a
// type that implements it. The value is also in the graph under its own type. Without Auth, the server
// uses an authenticator only if the graph has it as a transport.Authenticator. If the constructor lacks
// a dependency, or returns nil, fx.New reports an error.
func Auth(constructor any) fx.Option {
	return port[transport.Authenticator]("mcpfx.Auth", callsite.Caller(1), constructor)
}

// Store adds the constructor of the server's store. It may return a framework.Store or a type that
// implements it. The value is also in the graph under its own type. Without Store, the server uses a
// store only if the graph has it as a framework.Store. If the constructor lacks a dependency, or returns
// nil, fx.New reports an error.
func Store(constructor any) fx.Option {
	return port[framework.Store]("mcpfx.Store", callsite.Caller(1), constructor)
}

// port provides the result of a constructor under its own type and as a T. It also requires the value.
// The parameters of the app are optional: if the constructor of such a parameter lacks a dependency, fx
// treats the value as missing.
func port[T any](name, caller string, constructor any) fx.Option {
	found, err := resultsOf[T](constructor)
	if err != nil {
		return fx.Error(fmt.Errorf("%s: %w", name, err))
	}
	all := []any{constructor}
	for _, t := range found {
		if t != reflect.TypeFor[T]() {
			all = append(all, annotate(constructor, func(v T) T { return v }, fx.From(reflect.New(t).Interface())))
		}
	}
	from := name + " at " + caller
	return fx.Options(provide(from, all), fx.Invoke(func(made T) error {
		if isNil(made) {
			return fmt.Errorf("%s: the constructor has returned nil", from)
		}
		return nil
	}))
}

// isNil reports whether v is nil, or an interface that holds a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// provide makes one fx.Provide for all constructors, because each fx.Provide examines the stack of
// its callers. In a program without a Module the option fails, because the components would not be
// served. from is the call site of Provide or of a similar function.
func provide(from string, constructors []any) fx.Option {
	return fx.Options(fx.Provide(constructors...), fx.Invoke(fx.Annotate(func(s *sequence) error {
		if s == nil {
			return fmt.Errorf("%s: needs mcpfx.Module; add it to the program's options", from)
		}
		return nil
	}, fx.ParamTags(`optional:"true"`))))
}

// contribution returns a function for fx that passes the provider of type t to the app.
func contribution(t reflect.Type, constructor any) any {
	from := callsite.Describe(constructor)
	name := strings.TrimPrefix(t.String(), "*") + " of " + from // with the constructor, because two packages may have the same name
	return annotate(constructor, func(p framework.Provider) provided { return provided{p, name, from} },
		fx.From(reflect.New(t).Interface()), fx.ResultTags(`group:"kagami.providers"`))
}

// annotate is like fx.Annotate for fn, which stands for the program's constructor. Errors name the
// constructor instead of fn. fx makes a function by reflection, and the field FuncPtr says which
// function errors name; without it, they name reflect.makeFuncStub.
func annotate(constructor, fn any, as ...fx.Annotation) any {
	made := reflect.ValueOf(fx.Annotate(fn, as...))
	named := reflect.New(made.Type()).Elem()
	named.Set(made)
	if f := reflect.Indirect(named).FieldByName("FuncPtr"); f.Kind() == reflect.Uintptr {
		f.SetUint(uint64(reflect.ValueOf(constructor).Pointer()))
	}
	return named.Interface()
}

// Use wraps every component in middleware, in order. Several Use and UseProvided apply in their
// order. Those in an fx.Module come after those outside it.
func Use(mw ...framework.Middleware) fx.Option {
	from := "mcpfx.Use at " + callsite.Caller(1)
	var all []any
	for _, m := range mw {
		all = append(all, use(func() framework.Middleware { return m }, from)...)
	}
	return provide(from, all)
}

// UseProvided is like Use, for middleware made by constructors: func(deps...) framework.Middleware,
// or with an error as second result.
func UseProvided(constructors ...any) fx.Option {
	var all []any
	for _, c := range constructors {
		if _, err := resultsOf[framework.Middleware](c); err != nil {
			return fx.Error(fmt.Errorf("mcpfx.UseProvided: %w", err))
		}
		all = append(all, use(c, callsite.Describe(c))...)
	}
	return provide("mcpfx.UseProvided at "+callsite.Caller(1), all)
}

// step is a middleware with its number in the order of middleware.
type step struct {
	mw    framework.Middleware
	place int
	from  string
}

// sequence numbers the middleware. fx calls the functions of a group in the order they
// were provided, but passes their results on in random order.
type sequence struct{ last int }

// use passes the constructor itself to fx, so that errors name it. A unique name distinguishes its
// result from others of the same type.
func use(constructor any, from string) []any {
	unique := rand.Text()
	return []any{
		fx.Annotated{Name: unique, Target: constructor},
		annotate(constructor, func(s *sequence, mw framework.Middleware) step {
			s.last++
			return step{mw, s.last, from}
		}, fx.ParamTags(``, `name:"`+unique+`"`), fx.ResultTags(`group:"kagami.middleware"`)),
	}
}

// resultsOf returns the result types of a constructor that are assignable to T. Without such types,
// it returns an error.
func resultsOf[T any](constructor any) (found []reflect.Type, err error) {
	v := reflect.ValueOf(constructor)
	if v.Kind() != reflect.Func || v.IsNil() {
		return nil, fmt.Errorf("a %T is not a constructor", constructor)
	}
	for out := range v.Type().Outs() {
		if out.AssignableTo(reflect.TypeFor[T]()) {
			found = append(found, out)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: got a %s, want a constructor that returns a %s", callsite.Describe(constructor), v.Type(), reflect.TypeFor[T]())
	}
	return found, nil
}
