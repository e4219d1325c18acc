// Package load sends requests to MCP servers as fast as they answer, at little cost of its own. It
// writes prepared bytes and changes only the id. Of an answer it finds only the end, and whether it
// is a result of this request. It decodes no JSON, and uses no client library.
//
// A [Message] is a request at one revision; [Message.Line] and [Message.POST] make a [Request] of it.
// [HTTP] sends requests on keep-alive connections, one after another on each. [Stdio] sends them on a
// pipe, up to a number at once. Both count wrong answers and go on.
//
// The package does not check in any other way whether answers are valid MCP.
package load
