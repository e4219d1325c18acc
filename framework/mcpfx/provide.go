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
)

// provided is a provider with its sort key and its origin.
type provided struct {
	framework.Provider
	name string // of the type and of the constructor
	from string // the constructor
}

// Provide takes constructors of framework.Provider values. The values are also available by
// their own types. If a constructor has several results, those with components count;
// fx.New reports a constructor that has none. Instead of fx.Annotate, use parameters that
// embed fx.In.
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

// provide is one fx.Provide for all of them, since each call looks through the stack of its
// callers. It fails in a program without a Module, where nobody would serve the components.
// from is the call of Provide or the like.
func provide(from string, constructors []any) fx.Option {
	return fx.Options(fx.Provide(constructors...), fx.Invoke(fx.Annotate(func(s *sequence) error {
		if s == nil {
			return fmt.Errorf("%s: there is no mcpfx.Module in the program, which it needs", from)
		}
		return nil
	}, fx.ParamTags(`optional:"true"`))))
}

// contribution passes the value of that type on to the app.
func contribution(t reflect.Type, constructor any) any {
	from := callsite.Describe(constructor)
	name := strings.TrimPrefix(t.String(), "*") + " of " + from // two packages may have the same name
	return annotate(constructor, func(p framework.Provider) provided { return provided{p, name, from} },
		fx.From(reflect.New(t).Interface()), fx.ResultTags(`group:"kagami.providers"`))
}

// annotate is fx.Annotate for a function that stands for the program's constructor, which
// errors shall name. fx makes a function by reflection, and its field FuncPtr says which one to
// name in errors; without that it is reflect.makeFuncStub.
func annotate(constructor, fn any, as ...fx.Annotation) any {
	made := reflect.ValueOf(fx.Annotate(fn, as...))
	named := reflect.New(made.Type()).Elem()
	named.Set(made)
	if f := reflect.Indirect(named).FieldByName("FuncPtr"); f.Kind() == reflect.Uintptr {
		f.SetUint(uint64(reflect.ValueOf(constructor).Pointer()))
	}
	return named.Interface()
}

// Use wraps every component in middleware, in order. Several Use and UseProvided apply in
// their order, those in an fx.Module after those outside it.
func Use(mw ...framework.Middleware) fx.Option {
	from := "mcpfx.Use at " + callsite.Caller(1)
	var all []any
	for _, m := range mw {
		all = append(all, use(func() framework.Middleware { return m }, from)...)
	}
	return provide(from, all)
}

// UseProvided is Use for middleware made by constructors: func(deps...)
// framework.Middleware, or with an error as second result.
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

// step is a middleware with its place among the others.
type step struct {
	mw    framework.Middleware
	place int
	from  string
}

// sequence numbers what fx provides: fx calls the functions of a group in the order in which
// they were provided, but shuffles their results.
type sequence struct{ last int }

// use gives the constructor itself to fx, so that errors name it. A unique name distinguishes
// its result from others of the same type.
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

// resultsOf are the results of a constructor that are a T. There is at least one.
func resultsOf[T any](constructor any) (found []reflect.Type, err error) {
	v := reflect.ValueOf(constructor)
	if v.Kind() != reflect.Func || v.IsNil() {
		return nil, fmt.Errorf("a %T is no constructor", constructor)
	}
	for out := range v.Type().Outs() {
		if out.AssignableTo(reflect.TypeFor[T]()) {
			found = append(found, out)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is a %s: it returns no %s", callsite.Describe(constructor), v.Type(), reflect.TypeFor[T]())
	}
	return found, nil
}
