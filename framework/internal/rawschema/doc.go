// Package rawschema judges JSON values by JSON Schemas that a program brings:
// those of tools without a Go type behind them, of forms and results, and the
// keywords of jsonschema tags. What Kagami reflects from Go types has a plan of
// its own and does not come here.
//
// [Compile] understands 2020-12, which a schema without $schema is, 2019-09 and
// the drafts 7, 6 and 4. It fetches nothing: references reach into the schema
// itself and the metaschemas. [Schema.Check] tells all faults of a value, in an
// order that does not depend on how the schema is written.
//
// Where the specification leaves a choice:
//
//   - format is asserted up to draft 7 and is a note from 2019-09 on, as the
//     default vocabularies have it; see formats.go for those that are known.
//   - contentEncoding, contentMediaType and contentSchema are notes.
//   - Patterns are those of ECMA-262 with its flag u. What Go's regular
//     expressions cannot do, looking around and back, does not compile.
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
