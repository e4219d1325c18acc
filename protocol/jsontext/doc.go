// Package jsontext is a strict JSON scanner over byte slices.
//
// Check a text once; everything after that is iteration that cannot fail:
//
//	if err := jsontext.Check(frame, jsontext.DefaultLimits()); err != nil { ... }
//	for key, value := range jsontext.Members(frame) { ... }
//
// Check accepts exactly RFC 8259 in UTF-8, and refuses what decoders silently
// mend: invalid UTF-8, lone surrogates, trailing data, numbers of absurd
// length, and texts that are deeper or have more elements than the limits
// allow. It does not look for duplicate keys: who decodes an object knows its
// members and refuses a repeated one at no cost; Unique is for values that are
// passed on undecoded.
//
// The good path allocates nothing. All functions are safe for concurrent use;
// results alias the input. The package knows nothing of JSON-RPC or MCP.
package jsontext
