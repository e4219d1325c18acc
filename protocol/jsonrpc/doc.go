// Package jsonrpc reads and writes JSON-RPC 2.0 messages as values.
//
// Decode reads one frame that has passed jsontext.Check. The Append functions each write one frame.
// Responses repeat ids byte for byte. Of MCP, the package implements only two rules that the
// specification adds to JSON-RPC: ids are strings or integers, and params are objects.
//
// Decoded slices alias the frame. All functions are safe for concurrent use.
package jsonrpc
