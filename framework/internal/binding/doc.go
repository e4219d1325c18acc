// Package binding turns a Go type into one compiled plan, once, when an
// application is built: its JSON Schema, and the code path that decodes,
// completes, validates and encodes its values.
//
//	plan, faults := binding.Compile(reflect.TypeFor[SearchIn](), binding.Input, binding.Options{})
//	report, err := plan.Decode(ctx, arguments, reflect.ValueOf(&in).Elem())
//	out, err = plan.Append(out, reflect.ValueOf(in))
//
// The parts are packages. Each imports only packages before it:
//
//   - gotype, jsonedit: questions about Go types, changes of JSON texts;
//   - report, spelling: faults of types and issues of calls, and names that were meant;
//   - schema: JSON Schema as text, words for it, and compiled schemas;
//   - rules: what the validate tags demand;
//   - plan: the walk over the type, and reading, judging and writing of its values;
//   - repair: the corrected call in an error.
//
// Package binding joins plan and repair. Most packages of the framework import only this package.
//
// All reflection of Kagami is here. The plan and the schema come from the
// same walk over the type, so what the schema accepts decodes, and the schema
// accepts what decodes. If JSON Schema cannot express what a tag demands, the
// description contains it in words, and the plan enforces it.
//
// The tags are:
//
//   - json names a member, doc describes it, and title titles it;
//   - validate is the one source of constraints. go-playground/validator enforces them, and
//     the schema advertises them as keywords (docs/validation.md has the table);
//   - default fills an absent member and makes it optional;
//   - uri names a template variable, and header becomes x-mcp-header;
//   - secret keeps a value out of every text;
//   - jsonschema is for keywords that the other tags cannot express. invopop/jsonschema reads it.
//
// A member is required unless it has omitempty, omitzero, a default or a
// pointer type. validate:"required" makes it required in any case. Required
// means present and not null: 0, false and "" are values like any other. Rules
// apply only to what was sent, and not to an absent member. omitempty in a
// validate tag makes a member optional. As for validator, a zero value then
// passes, although the schema's bounds are stricter.
//
// An interface with methods is a Union of structs that Options name. It is an
// anyOf in the schema, and its discriminator chooses the struct when it is read
// and written. A Check in Options is a validate tag of the application.
//
// Output promises only the shape. Rules are not advertised, because results
// are not judged by them. But Append returns an error for a value that is not
// one of the Values of its type.
//
// Values are read strictly (exact names, no duplicates, no unknown members,
// null only for types that have it), with exact numbers: 1.0 and 1e2 are
// integers, 300 is not an int8, and no number above 2^53 goes through a float.
// Output has empty lists and objects instead of null, sorted map keys, and no
// HTML escapes.
//
// A Plan is immutable and safe for concurrent use. Decoded values never alias
// the input. The package does not log, start goroutines or fetch anything. Of the
// Model Context Protocol it uses only the shape of the forms.
package binding
