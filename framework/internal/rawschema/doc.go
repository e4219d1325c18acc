// Package rawschema judges JSON values by JSON Schemas that a program brings:
// schemas of tools without a Go type, of forms and of results, and the
// keywords of jsonschema tags. Values of Go types are judged by their plan instead.
//
// [Compile] understands 2020-12, which a schema without $schema is, 2019-09 and
// the drafts 7, 6 and 4. It fetches nothing: references reach into the schema
// itself and the metaschemas. [Schema.Check] reports all faults of a value, in an
// order that does not depend on how the schema is written.
//
// Where the specification leaves a choice:
//
//   - format is asserted up to draft 7 and is a note from 2019-09 on, as the
//     default vocabularies have it; see formats.go for the known ones.
//   - contentEncoding, contentMediaType and contentSchema are notes.
//   - Patterns are regular expressions of ECMA-262 with its flag u. Lookarounds,
//     backreferences and repetitions of more than 1000 times, which Go's regular
//     expressions lack, do not compile.
//   - Numbers are compared as decimals, exactly.
//
// Two things are refused that the specification allows: vocabularies of one's
// own, and a schema inside another that is written in another draft.
//
// A schema that recurs judges each level of a value once, unless its references
// are dynamic: then a union that recurs in n branches costs n times as much for
// each level.
//
// Nothing of it is done when a program starts: metaschemas are compiled when the
// first schema of theirs is.
package rawschema
