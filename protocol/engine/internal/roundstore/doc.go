// Package roundstore keeps what the rounds of a call leave behind (2026-07-28 basic/patterns/mrtr):
// the state that travels with the client, and the claim of each round, with its outcome.
//
//	state, err := store.Seal(ctx, journal, binding)      // to the client
//	journal, err := store.Open(ctx, state, binding)      // from the client
//	c, err := store.Claim(ctx, lasting, state, answers)  // before the handler's own work
//	err = c.Settle(ctx, lasting, outcome)                // before the answer
package roundstore
