// Package dialect translates between the model of package protocol and the wire form of each
// published revision.
//
// There are five Dialects. Each feature that only some of them have is a set of revisions.
// revisions.go lists these sets in the order of the revisions, and so contains the history of the
// protocol.
//
//	d := dialect.Handshake("2025-06-18")          // negotiation of initialize
//	d, ok := dialect.PerRequest("2026-07-28")     // a request that names its revision
//	params, err := d.DecodeParams(method, raw)    // wire -> model
//	out, err = d.AppendResult(out, result, nil)   // model -> wire
//
// Each wire object has a table with one row per member, such as toolMembers. A row has the name of
// the member, the kind of its value, its Go field and the revisions that have it. Decoding and
// encoding use the same row; see member.go and kinds.go. Some frequent objects are encoded by hand,
// and a comment there says why.
//
// After a dialect is selected, other packages do not compare revisions. They call a trait: a method
// of Dialect that is named for its meaning.
//
// Encoding for an older revision drops fields that the revision does not have. It rewrites union
// members that the revision lacks: an audio block becomes a text block that says so. If a value can
// be neither dropped nor rewritten, encoding returns an error.
//
// Decoding is exact. Names are case-sensitive, repeated members are refused, and unknown members
// are ignored. A wrong type is an InvalidParams fault that names the member by its path.
//
// Raw input must have passed jsontext.Check. Decoded values may alias it. Dialects are immutable
// and safe for concurrent use. Append functions write only to the given slice and do not keep it.
package dialect
