// Package rounds is the memory of a call that is answered in rounds (2026-07-28
// basic/patterns/mrtr): what the client has said so far, which effects have
// happened, and what was asked last. The server keeps nothing between two rounds;
// the [Journal] travels with the client as requestState, sealed by a [Sealer].
//
//	state := sealer.Seal(journal.Append(nil), binding)
//	...
//	plain, err := sealer.Open(state, binding)
//	journal, err := rounds.Parse(plain)
//
// The state is the attacker's to choose. Sealed, it can be neither read nor made
// nor changed, and the binding (principal, method, name, arguments) keeps it from
// being used elsewhere; its expiry is in the journal. It may be sent again as it
// is: who must not do a thing twice records that on the server.
//
// The package reads no clock: whoever opens a state looks at Journal.Expires. Its
// only randomness is that of secrets and nonces. Values are not safe for concurrent
// use, but a Sealer is.
package rounds
