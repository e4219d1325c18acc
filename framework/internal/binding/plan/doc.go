// Package plan compiles a Go type, once, into a [Plan]: its JSON Schema, and the code path that decodes, completes,
// validates and encodes its values.
//
//	p, faults := plan.Compile(reflect.TypeFor[SearchIn](), plan.Input, plan.Options{})
//	report, findings, err := p.Decode(ctx, arguments, reflect.ValueOf(&in).Elem())
//	out, err = p.Append(out, reflect.ValueOf(in))
//
// # Reading order
//
//   - what a plan is and does, and the order of Compile: plan.go
//   - from a type to a tree of nodes, one for each type: compile.go, hooks.go (types with a schema of
//     their own), union.go, enum.go, form.go (what forms and texts can carry), graph.go (walks over the
//     tree)
//   - the fields of a struct and their tags: fields.go, tags.go, defaults.go
//   - nodes read values: decode.go, where a [Finding] is filed and reading goes on, or stops if there are
//     many; decode_scalar.go, decode_container.go, decode_struct.go, decode_map.go with keys.go,
//     decode_any.go, decode_method.go with text.go (text forms of types) and longest.go (bounds of
//     numbers in texts)
//   - rules judge what was read: value.go (what rules see of a node), compile_rules.go, fastcheck.go,
//     fastcheck_walk.go; fastcheck_blame.go asks validator about one value that a fast check refuses
//   - validator judges the whole value if fast checks cannot: validate.go, validate_locate.go,
//     validate_find.go; then the type's own Validate method, usercheck.go
//   - from findings to the error: describe.go (what a node wants, in words), order.go
//   - nodes write their schema, and values: schema.go, encode.go
//   - values that must not appear in texts: secret.go, mask.go
//   - prompt arguments and URI variables: strings.go
//   - memory of the texts of a call: texts.go
//
// A Plan corrects nothing: package repair does, from the findings.
package plan
