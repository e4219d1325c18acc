// Package jsonrpc reads and writes JSON-RPC 2.0 messages as values.
//
// Decode takes one frame that has passed jsontext.Check; Append functions write
// one frame. Ids are echoed byte for byte. The package knows nothing of MCP
// beyond what its specification adds to JSON-RPC: ids are strings or integers,
// params are objects.
//
// Decoded slices alias the frame. Everything is safe for concurrent use.
package jsonrpc
