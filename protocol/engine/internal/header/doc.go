// Package header compares header fields of an HTTP request with its body: fields that repeat a part of
// the body must agree with it, so that a proxy may decide by them (2026-07-28
// basic/transports/streamable-http).
package header
