// Package binding turns a Go type into one compiled plan, once, when an
// application is built: its JSON Schema, and the code path that decodes,
// completes, validates and encodes its values.
//
//	plan, faults := binding.Compile(reflect.TypeFor[SearchIn](), binding.Input, binding.Options{})
//	report, err := plan.Decode(ctx, arguments, reflect.ValueOf(&in).Elem())
//	out, err = plan.Append(out, reflect.ValueOf(in))
//
// The parts are packages, each of which imports only those before it:
//
//   - gotype, jsonedit: questions about Go types, changes of JSON texts;
//   - report, spelling: faults of types and issues of calls, and names that were meant;
//   - schema: JSON Schema as text, words for it, and compiled schemas;
//   - rules: what the validate tags demand;
//   - plan: the walk over the type, and reading, judging and writing of its values;
//   - repair: the corrected call in an error.
//
// Package binding joins plan and repair, and is what the packages of the framework import.
//
// It is the only reflection of Kagami. The plan and the schema come from the
// same walk over the type, so that what the schema accepts decodes, and what
// decodes the schema accepts; where JSON Schema cannot say what a tag demands
// the description says it in words and the plan still enforces it.
//
// Tags: json names a member; doc describes it; title titles it; validate is
// the one source of constraints, enforced by go-playground/validator and
// advertised as keywords (docs/validation.md is the table); default fills an absent
// member and makes it optional; uri names a template variable; header becomes
// x-mcp-header; secret keeps a value out of every text; jsonschema remains for
// keywords that the others cannot say and is read by invopop/jsonschema.
//
// A member is required unless it has omitempty, omitzero, a default or a
// pointer type; validate:"required" makes it required in any case. Required
// means present and not null: 0, false and "" are values like any other. A
// rule is applied to what was sent: an absent member is never measured.
// omitempty in a validate tag makes a member optional and keeps validator's
// meaning, that a zero value passes; the schema's bounds are stricter there.
//
// An interface with methods is a Union of structs that Options name: an anyOf in
// the schema, chosen by its discriminator when read and written. A Check in
// Options is a validate tag of the application's own.
//
// Output promises the shape alone: rules are not advertised, because results
// are not judged by them. A value outside of its type's Values, though, is an
// error of Append.
//
// Values are read strictly (exact names, no duplicates, no unknown members,
// null only where the type has one), with exact numbers: 1.0 and 1e2 are
// integers, 300 is not an int8, and nothing above 2^53 goes through a float.
// Output is written with empty lists and objects instead of null, sorted map
// keys and without HTML escapes.
//
// A Plan is immutable and safe for concurrent use. Decoded values never alias
// the input. The package logs nothing, starts nothing, fetches nothing, and
// does not know the Model Context Protocol beyond the shape of its forms.
package binding
