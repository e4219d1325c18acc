// Package dialect translates between the model of package protocol and the wire
// form of each published revision.
//
// There are five Dialect values, each "the one before, plus its changes", so
// that revisions.go reads as the history of the protocol:
//
//	d := dialect.Handshake("2025-06-18")          // negotiation of initialize
//	d, ok := dialect.PerRequest("2026-07-28")     // a request that names its revision
//	params, err := d.DecodeParams(method, raw)    // wire -> model
//	out, err = d.AppendResult(out, result, nil)   // model -> wire
//
// After a dialect is selected no other package asks which revision it is: what
// shared code may ask is a trait, a method of Dialect named for what it means.
//
// The model carries the newest shape. Encoding for an older revision drops
// fields it does not know and rewrites union members it lacks (an audio block
// becomes a text block that says so); what can be neither dropped nor rewritten
// is refused with an error. Decoding is exact: names are case-sensitive,
// repeated members are refused, unknown members are ignored, wrong types are an
// InvalidParams fault that names the member by its path.
//
// Raw input must have passed jsontext.Check. Decoded values may alias it.
// Dialects are immutable and safe for concurrent use; Append functions write to
// the slice they are given and keep nothing.
package dialect
