// Package jsontext is a strict JSON scanner over byte slices.
//
// Check a text once. After that, all functions iterate over it and cannot fail:
//
//	if err := jsontext.Check(frame, jsontext.DefaultLimits()); err != nil { ... }
//	for key, value := range jsontext.Members(frame) { ... }
//
// Check accepts exactly RFC 8259 in UTF-8. It refuses texts that decoders silently repair: invalid
// UTF-8, lone surrogates, trailing data and extremely long numbers. It also refuses texts that are
// deeper or have more elements than the limits allow.
//
// Check does not look for duplicate names. A decoder of an object knows its members and can refuse
// a repeated one at no cost. Use Unique for values that are passed on undecoded.
//
// Valid texts do not cause allocations. All functions are safe for concurrent use. Results alias
// the input. The package contains nothing of JSON-RPC or MCP.
package jsontext
