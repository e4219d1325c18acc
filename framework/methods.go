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

// Methods registers every exported method of receiver as a tool, in alphabetical order. The names
// are the names of the methods in snake_case: SearchOrders is search_orders, HTTPGet is http_get.
// Methods of embedded types count. Methods is meant for prototypes, because a tool registered with
// Tool or Func can have a description. If "kagami gen" has registered the methods' doc comments,
// they are the descriptions.
//
// A method fits if Func would accept it without Params. It has no parameter or one struct (or a
// pointer to one, or a map), optionally after a context. It has at most one result, optionally
// followed by an error. Build reports a method that does not fit, unless Exclude leaves it out. If
// receiver is a value, Build also reports methods that only the pointer has.
//
// Methods of well-known interfaces do not become tools. These are the methods of fmt.Stringer,
// fmt.GoStringer, fmt.Formatter, error, io.Closer, sync.Locker, Provider, the marshalers and
// unmarshalers of encoding and encoding/json, and of an embedded sync.Mutex or sync.RWMutex. The
// Validate method of inputs is also left out. All other methods become tools, including Start and
// Shutdown.
//
// Options apply to every tool, like the options of Set.With. The tools share receiver and are
// called concurrently.
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

// Exclude leaves methods out of Methods. The names are the methods' names in Go. A name that the
// receiver does not have is a fault.
func Exclude(methods ...string) Option {
	methods = slices.Clone(methods)
	return option("Exclude", kindMethods, func(s *settings) { s.excluded = append(s.excluded, methods...) })
}

// unusable returns why the receiver cannot have methods that become tools, or nil.
func unusable(receiver any, v reflect.Value) *Fault {
	switch {
	case !v.IsValid(), v.Kind() == reflect.Pointer && v.IsNil():
		return &Fault{Problem: "the receiver is nil", Fix: "Give Methods a value"}
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Interface:
		return &Fault{Problem: "the receiver is a pointer to an interface, which has no methods", Fix: "Give Methods the value in the interface"}
	}
	if _, ok := receiver.(Component); ok {
		return &Fault{Problem: "the receiver is a component itself", Fix: "Add it as it is"}
	}
	return nil
}

// take stores the options that apply to every tool, and returns the names given to Exclude.
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

// fill makes the tools and adds them to the set.
func (s *Set) fill(v reflect.Value, excluded []string) {
	t := v.Type()
	known := methodNames(t)
	beyond := methodNames(reflect.PointerTo(t))
	if t.Kind() != reflect.Pointer {
		beyond = slices.DeleteFunc(beyond, func(name string) bool { return slices.Contains(known, name) })
	} else {
		beyond = nil // a pointer to a pointer does not have methods
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

// unreachable reports a method that a pointer to the receiver has, and the receiver does not.
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

// method makes the tool for one method.
func (s *Set) method(v reflect.Value, name string) Component {
	d := &declaration{kind: kindTool, name: snake(name), wayOut: wayOut(name)}
	if d.where, d.function = methodPlace(v.Type(), name); d.where == "" {
		d.where = s.where
	}
	d.pkg = deref(v.Type()).PkgPath()
	d.made = d.where // a program may have several calls of Methods, so the line of the method is more precise
	d.compile = func(b *builder, m *member) { compileFunc(v.MethodByName(name), b, m) }
	return d
}

func wayOut(name string) string { return fmt.Sprintf("Exclude(%q)", name) }

// meantMethod returns the fix for a name in Exclude that is not a method. It suggests a similar
// one.
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

// standards are interfaces that a type implements for Go code, not for models.
var standards = []reflect.Type{
	reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[fmt.GoStringer](), reflect.TypeFor[fmt.Formatter](),
	reflect.TypeFor[error](), reflect.TypeFor[io.Closer](), reflect.TypeFor[Provider](),
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.TextAppender](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.BinaryAppender](),
	reflect.TypeFor[sync.Locker](), reflect.TypeFor[tryLocker](), reflect.TypeFor[readLocker](),
	reflect.TypeFor[interface{ Validate() error }](), reflect.TypeFor[interface{ Validate(context.Context) error }](),
}

// tryLocker has the methods of an embedded sync.Mutex.
type tryLocker interface {
	sync.Locker
	TryLock() bool
}

// readLocker has the methods that an embedded sync.RWMutex has in addition.
type readLocker interface {
	RLock()
	RUnlock()
	RLocker() sync.Locker
	TryRLock() bool
}

// standard reports whether t, or a pointer to it, has the method because of a standard interface.
func standard(t reflect.Type, name string) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return slices.ContainsFunc(standards, func(i reflect.Type) bool {
		_, has := i.MethodByName(name)
		return has && t.Implements(i)
	})
}

// methodPlace returns the file:line where a method is declared, and its name. For a method of a
// value receiver or an embedded type, t has only a wrapper of the compiler, which has no position.
// methodPlace then looks at the types that may declare the method. where is "" if no position is
// known, as for methods of an embedded interface.
func methodPlace(t reflect.Type, name string) (where, function string) {
	for _, holder := range holders(t) {
		m, ok := holder.MethodByName(name)
		if !ok {
			continue
		}
		if !m.Func.IsValid() { // an embedded interface, whose dynamic type may change
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

// holders returns the types that may declare a method of t, outer types first.
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

// snake turns the name of a method into the name of a tool. A word begins at each capital. A run of
// capitals is one word, up to the last one before a small letter (HTTPGet is http_get). It keeps
// the s of its plural (ListIDs is list_ids).
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

// beginsWord reports whether the capital at i begins a word.
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
