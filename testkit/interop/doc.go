// Package interop drives the everything example with clients that none of us
// wrote: the official Go SDK's, mcp-go's, and the two TypeScript SDKs'. The
// latter, and ajv, also judge the schemas of a server that has a tool for every
// kind of Go type (testkit/internal/schemaserver). It is a module of
// its own so that their dependencies stay out of the framework's.
//
// The tests need Node 20 and npm; `npm ci` runs by itself.
package interop
