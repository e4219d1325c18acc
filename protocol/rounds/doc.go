// Package rounds holds the state of a call that is answered in rounds (2026-07-28
// basic/patterns/mrtr): the client's answers so far, the effects that have happened, and the
// questions asked last. The server keeps nothing between two rounds. The [Journal] is sent to the
// client as requestState, sealed by a [Sealer], and comes back with the next request.
//
//	state := sealer.Seal(journal.Append(nil), binding)
//	...
//	plain, err := sealer.Open(state, binding)
//	journal, err := rounds.Parse(plain)
//
// An attacker can send any state. Without the secret, a sealed state cannot be read, forged or
// changed. The binding (principal, method, name, arguments) prevents its use in another call. Its
// expiry is in the journal. A client may send the same state several times. If an action must not
// happen twice, the server must record the action itself.
//
// The package reads no clock: the caller of Open checks Journal.Expires. Randomness is used only
// for secrets and nonces. Values are not safe for concurrent use, except Sealers.
package rounds
