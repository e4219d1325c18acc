package framework

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// texts decodes named texts, which are the arguments of a prompt or the variables of a template. It
// decodes them into a struct, or into a map if the names are known only at run time.
type texts struct {
	plan *binding.Plan
	open bool // the type is a map
}

var textMap = reflect.TypeFor[map[string]string]()

// isTextMap reports whether t is a map type that converts to map[string]string.
func isTextMap(t reflect.Type) bool { return t.Kind() == reflect.Map && t.ConvertibleTo(textMap) }

// texts compiles t. If t is a map, names lists the keys it accepts. It returns nil if t has faults.
func (b *builder) texts(m *member, t reflect.Type, names []string, optional func(i int) bool) *texts {
	open := isTextMap(t)
	if open {
		t = textStruct(names, optional)
	}
	plan, faults := b.plans.Compile(t, binding.Strings)
	m.adopt(b, faults)
	if plan == nil {
		m.failed = true
		return nil
	}
	return &texts{plan, open}
}

// textStruct returns a struct type with one string field for each name. The runtime keeps every
// type that is made, so the type depends on nothing else.
func textStruct(names []string, optional func(i int) bool) reflect.Type {
	fields := make([]reflect.StructField, len(names))
	for i, name := range names {
		tag := fmt.Sprintf("uri:%q", name)
		if optional(i) {
			tag += ` json:",omitempty"`
		}
		fields[i] = reflect.StructField{Name: fmt.Sprint("Text", i), Type: reflect.TypeFor[string](), Tag: reflect.StructTag(tag)}
	}
	return reflect.StructOf(fields)
}

// decode decodes values into into, which does not share a map with values.
func (x *texts) decode(ctx context.Context, values map[string]string, into reflect.Value) error {
	if !x.open {
		return x.plan.DecodeStrings(ctx, values, into)
	}
	if err := x.plan.DecodeStrings(ctx, values, reflect.New(x.plan.Type()).Elem()); err != nil {
		return err
	}
	given := make(map[string]string, len(values))
	maps.Copy(given, values)
	into.Set(reflect.ValueOf(given).Convert(into.Type()))
	return nil
}
