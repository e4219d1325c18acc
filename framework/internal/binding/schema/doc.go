// Package schema reads, writes and describes JSON Schema.
//
// [Keywords] is one schema object with its members in order. Its methods tighten bounds and add demands, and keep
// the earlier demands. [Describe] returns what a schema wants, in words. [Portable] and [Narrowing] rewrite a
// schema for clients and model APIs that support less of JSON Schema. [Raw] is a compiled schema that judges values.
//
// The only Go types that the package uses are the types of invopop/jsonschema: it converts their schemas and tags.
// Package plan derives the schema of a Go type, because the walk that derives it also decides how values are read.
package schema
