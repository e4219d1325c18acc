package framework

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

// Methods registers every exported method of receiver as a tool, named by the
// method in snake_case (SearchOrders is search_orders, HTTPGet is http_get), in
// alphabetical order. Methods of embedded types count. It is meant for
// prototypes: a tool registered with Tool or Func can have a description. The methods' doc
// comments are descriptions if "kagami gen" has registered them.
//
// A method fits if Func would take it without Params: no parameter or one struct (or a
// pointer to one, or a map), with or without a context first, and at most one result, with
// or without an error last. Build reports a method that does not fit, unless Exclude leaves
// it out. The same goes for methods of the pointer if receiver is a value.
//
// Methods of well-known interfaces do not become tools: those of fmt.Stringer,
// fmt.GoStringer, fmt.Formatter, error, io.Closer, sync.Locker, Provider, of the
// (un)marshalers of encoding and encoding/json, of an embedded sync.Mutex or sync.RWMutex,
// and the Validate method of inputs. All others do, Start and Shutdown among them.
//
// Options apply to every tool, like those of Set.With. The tools share receiver
// and are called concurrently.
func Methods(receiver any, opts ...Option) Component {
	s := &Set{where: callsite.Caller(1)}
	v := reflect.ValueOf(receiver)
	s.head = "methods"
	if v.IsValid() {
		s.head = fmt.Sprintf("methods %q", v.Type())
	}
	excluded := s.take(opts)
	if fault := unusable(receiver, v); fault != nil {
		s.fault(fault.Problem, fault.Fix)
		return s
	}
	s.fill(v, excluded)
	return s
}

// Exclude leaves methods out of Methods. Names are those of the methods in Go; a
// name that the receiver does not have is a fault.
func Exclude(methods ...string) Option {
	methods = slices.Clone(methods)
	return option("Exclude", kindMethods, func(s *settings) { s.excluded = append(s.excluded, methods...) })
}

// unusable says why the receiver has no methods to make tools of.
func unusable(receiver any, v reflect.Value) *Fault {
	switch {
	case !v.IsValid(), v.Kind() == reflect.Pointer && v.IsNil():
		return &Fault{Problem: "the receiver is nil", Fix: "Give Methods a value"}
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Interface:
		return &Fault{Problem: "the receiver is a pointer to an interface, which has no methods", Fix: "Give Methods what the interface holds"}
	}
	if _, ok := receiver.(Component); ok {
		return &Fault{Problem: "the receiver is a component itself", Fix: "Add it as it is"}
	}
	return nil
}

// take keeps the options that are for every tool, and returns the names of Exclude.
func (s *Set) take(opts []Option) (excluded []string) {
	var own settings
	for _, o := range opts {
		opt, ok := o.(componentOption)
		switch {
		case !ok:
			s.fault("an option is nil", "Remove it")
		case opt.name == "Params":
			s.fault("the option Params does not fit: every method has parameters of its own", "Register the method with Func")
		case opt.fits&kindMethods != 0:
			opt.apply(&own)
		default:
			s.opts = append(s.opts, o)
		}
	}
	return own.excluded
}

// fill makes the tools.
func (s *Set) fill(v reflect.Value, excluded []string) {
	t := v.Type()
	known := methodNames(t)
	beyond := methodNames(reflect.PointerTo(t))
	if t.Kind() != reflect.Pointer {
		beyond = slices.DeleteFunc(beyond, func(name string) bool { return slices.Contains(known, name) })
	} else {
		beyond = nil // a pointer to a pointer has no methods
	}
	for _, name := range excluded {
		if !slices.Contains(known, name) && !slices.Contains(beyond, name) {
			s.fault(fmt.Sprintf("Exclude: %s has no exported method %q", t, name), meantMethod(name, slices.Concat(known, beyond)))
		}
	}
	left := func(name string) bool { return !slices.Contains(excluded, name) && !standard(t, name) }
	for _, name := range slices.DeleteFunc(beyond, func(name string) bool { return !left(name) }) {
		s.unreachable(t, name)
	}
	for _, name := range known {
		if left(name) {
			s.members = append(s.members, s.method(v, name))
		}
	}
	if len(s.members) > 0 || len(s.faults) > 0 {
		return
	}
	if len(excluded) > 0 {
		s.fault(fmt.Sprintf("every method of %s that could be a tool is excluded", t), "Exclude fewer, or remove Methods")
		return
	}
	s.fault(fmt.Sprintf("%s has no exported method that could be a tool", t), "Export a method, or remove Methods")
}

// unreachable reports a method that only a pointer to the receiver has.
func (s *Set) unreachable(t reflect.Type, name string) {
	f := Fault{
		Problem: fmt.Sprintf("%s is a method of *%s, and the receiver is a value", name, t),
		Fix:     "Give Methods a pointer. Or leave it out: " + wayOut(name),
	}
	if f.Where, f.Function = methodPlace(reflect.PointerTo(t), name); f.Where == "" {
		f.Where = s.where
	}
	s.report(f)
}

// method makes one tool.
func (s *Set) method(v reflect.Value, name string) Component {
	d := &declaration{kind: kindTool, name: snake(name), wayOut: wayOut(name)}
	if d.where, d.function = methodPlace(v.Type(), name); d.where == "" {
		d.where = s.where
	}
	d.pkg = deref(v.Type()).PkgPath()
	d.made = d.where // with several Methods, the line of the method says more than that of Methods
	f := &funcTool{declaration: d, fn: v.MethodByName(name)}
	d.compile = f.compile
	return f
}

func wayOut(name string) string { return fmt.Sprintf("Exclude(%q)", name) }

// meantMethod suggests a method for a misspelt name in Exclude.
func meantMethod(name string, names []string) string {
	for _, n := range names {
		if snake(n) == name || strings.EqualFold(n, name) {
			return fmt.Sprintf("Did you mean %q?", n)
		}
	}
	if meant := didYouMean(name, names); meant != "" {
		return meant
	}
	return "Remove it"
}

func methodNames(t reflect.Type) []string {
	var names []string
	for m := range t.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// standards are interfaces that a type implements for Go and not for models.
var standards = []reflect.Type{
	reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[fmt.GoStringer](), reflect.TypeFor[fmt.Formatter](),
	reflect.TypeFor[error](), reflect.TypeFor[io.Closer](), reflect.TypeFor[Provider](),
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.TextAppender](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.BinaryAppender](),
	reflect.TypeFor[sync.Locker](), reflect.TypeFor[tryLocker](), reflect.TypeFor[readLocker](),
	reflect.TypeFor[interface{ Validate() error }](), reflect.TypeFor[interface{ Validate(context.Context) error }](),
}

// tryLocker has the methods of an embedded sync.Mutex besides those of sync.Locker.
type tryLocker interface {
	sync.Locker
	TryLock() bool
}

// readLocker has those of an embedded sync.RWMutex besides.
type readLocker interface {
	RLock()
	RUnlock()
	RLocker() sync.Locker
	TryRLock() bool
}

// standard says that the type has this method because of a standard interface, on a value or a
// pointer.
func standard(t reflect.Type, name string) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return slices.ContainsFunc(standards, func(i reflect.Type) bool {
		_, has := i.MethodByName(name)
		return has && t.Implements(i)
	})
}

// methodPlace is where a method is declared, and its name. A method that comes
// from a value receiver or an embedded type is a wrapper of the compiler, which
// has no place: the declared one is below. The place is "" where there is none,
// as for the methods of an embedded interface.
func methodPlace(t reflect.Type, name string) (where, function string) {
	for _, holder := range holders(t) {
		m, ok := holder.MethodByName(name)
		if !ok {
			continue
		}
		if !m.Func.IsValid() { // an embedded interface: its value may change
			break
		}
		where, declared := functionPlace(m.Func)
		if function == "" || where != "" {
			function = declared
		}
		if where != "" {
			return where, function
		}
	}
	return "", function
}

// holders are the types that a method of t may be declared for, outer ones first.
func holders(t reflect.Type) []reflect.Type {
	all := []reflect.Type{t, deref(t)}
	if deref(t).Kind() != reflect.Struct {
		return all
	}
	embedded := slices.DeleteFunc(reflect.VisibleFields(deref(t)), func(f reflect.StructField) bool { return !f.Anonymous })
	slices.SortStableFunc(embedded, func(a, b reflect.StructField) int { return len(a.Index) - len(b.Index) })
	for _, f := range embedded {
		inner := deref(f.Type)
		all = append(all, reflect.PointerTo(inner), inner)
	}
	return all
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// snake turns a name into that of a tool. A word begins at each capital. A run of capitals is
// one word, up to the last one before a small letter (HTTPGet is http_get), and keeps the s of
// its plural (ListIDs is list_ids).
func snake(name string) string {
	runes := []rune(name)
	var out strings.Builder
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && beginsWord(runes, i) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// beginsWord says that the capital at i begins a word.
func beginsWord(runes []rune, i int) bool {
	switch {
	case runes[i-1] == '_':
		return false
	case !unicode.IsUpper(runes[i-1]):
		return true
	case i+1 == len(runes) || !unicode.IsLower(runes[i+1]):
		return false
	}
	plural := runes[i+1] == 's' && (i+2 == len(runes) || unicode.IsUpper(runes[i+2]))
	return !plural
}
