// Package contract keeps what a server offers in a lock file, and says what a change
// of it means for clients that know the old one.
//
//	before, err := contract.Parse(file)
//	after, err := contract.Read(ctx, client)
//	for _, c := range contract.Diff(before, after) {
//		fmt.Println(c) // breaking: tool search, input /limit: maximum lowered from 100 to 50
//	}
//
// A [Lock] is JSON made for review: components sorted by name, the members of each
// in the order of the server, and no version of the server, which changes anyway.
//
// [Diff] knows JSON Schema. What a tool takes may be widened and not narrowed, what
// it returns may be narrowed and not widened; references are followed, recursive ones
// once. Where a keyword cannot be judged, any change of it is breaking. Some
// judgements are matters of opinion:
//
//   - A default that changes or goes is breaking: the same call does something else.
//   - A new optional argument, and a new member of a result, are additive.
//   - A weaker hint (no longer read-only, destructive now) is breaking, because a
//     client may have relied on it; a stronger one is additive.
//   - Members of _meta may be added, but not changed.
//   - Names for people, descriptions, icons and examples are text.
//
// Diff is empty exactly if both locks say the same. Values are plain data; nothing
// here keeps state. Schemas may come from servers that nobody knows: they cannot make
// Diff run for ever, but they are kept in memory.
package contract
