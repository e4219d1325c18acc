// Package interop holds Kagami against programs that none of us wrote, over stdio
// and over HTTP: Streamable HTTP on Fiber and on net/http, and the HTTP+SSE of
// 2024-11-05.
//
// The everything example is driven by the clients of the official Go SDK, of
// mcp-go and of the two TypeScript SDKs, at each revision they have, by the same
// stories on every carrier, and by the command line of the MCP Inspector. Our
// client drives the servers that those SDKs ship, and two that are written with
// the TypeScript SDKs (node/). Servers crash and streams are cut under both.
//
// The server of docs/porting.md is written with the Go SDKs, too (ported/), and all are
// asked the same.
//
// The TypeScript clients, and ajv, also judge the schemas of a server that has a
// tool for every kind of Go type (testkit/internal/schemaserver).
//
// It is a module of its own so that their dependencies stay out of the
// framework's.
//
// The tests need Node 20 and npm; `npm ci` runs by itself, when a lock file
// changed. They listen on ports of 127.0.0.1 from 20000 on.
package interop
