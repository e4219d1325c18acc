// Package plan compiles a Go type, once, into a [Plan]: its JSON Schema, and the code path that decodes, completes,
// validates and encodes its values.
//
//	p, faults := plan.Compile(reflect.TypeFor[SearchIn](), plan.Input, plan.Options{})
//	report, findings, err := p.Decode(ctx, arguments, reflect.ValueOf(&in).Elem())
//	out, err = p.Append(out, reflect.ValueOf(in))
//
// To be read in this order:
//
//   - plan.go: what a plan is and does, and in which order Compile works;
//   - compile.go, fields.go, tags.go, hooks.go, union.go, enum.go: from a type to a tree of nodes, one for each
//     type, with the tags of its fields;
//   - decode*.go, keys.go: nodes read values; a [Finding] is filed where a value is wrong, and reading goes on;
//   - compile_rules.go, fastcheck*.go, validate*.go: validator judges what was read, unless the fast checks have
//     accepted all of it, and its verdicts become findings at the right path;
//   - schema.go, describe.go: nodes write their schema, and say in words what they want;
//   - encode.go: nodes write values;
//   - secret.go, mask.go: which values must not appear in texts.
//
// A Plan corrects nothing: package repair does, from the findings.
package plan
