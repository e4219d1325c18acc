// Package load asks MCP servers as fast as they answer, at little cost of its own: it
// writes ready bytes in which only the id changes, reads of an answer what says where
// it ends, and looks whether it is the answer to this request and a result. No JSON is
// decoded and no peer's client is in the way.
//
// A [Message] says what is asked at one revision; [Message.Line] and [Message.POST] make
// a [Request] of it. [HTTP] sends requests on keep-alive connections, one after another
// on each; [Stdio] sends them on a pipe, up to a number at once. Both count what was
// wrong and go on.
//
// What the package does not do: judge whether answers are valid MCP beyond that.
package load
