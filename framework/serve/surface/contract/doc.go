// Package contract stores a server's components in a lock file, and reports how a change affects
// clients that know the old version.
//
//	before, err := contract.Parse(file)
//	after, err := contract.Read(ctx, client)
//	for _, c := range contract.Diff(before, after) {
//		fmt.Println(c) // breaking: tool search, input /limit: maximum lowered from 100 to 50
//	}
//
// A [Lock] is JSON for review. Components are sorted by name, and the members of each are in the
// order of the server. The version of the server is left out, because it changes anyway.
//
// [Diff] understands JSON Schema. The input of a tool may be widened and not narrowed; its output
// may be narrowed and not widened. References are followed, recursive ones once. If Diff cannot
// judge a keyword, any change of it is breaking. Some judgments are matters of opinion:
//
//   - A default that changes or is removed is breaking: the same call has another effect.
//   - A new optional argument, and a new member of a result, are additive. If a schema applied to
//     all other members before, the new one is compared with it.
//   - A weaker hint (no longer read-only, destructive now) is breaking, because a client may have
//     relied on it; a stronger one is additive.
//   - Members of _meta may be added, but not changed.
//   - Names for people, descriptions, icons and examples are text. So is a rule without a keyword
//     of JSON Schema, such as gtfield or a rule of a prompt's argument: only the description has it.
//
// Diff returns no changes exactly if both locks have the same content. Values are plain data, and
// the package keeps no state. Schemas may come from unknown servers: Diff always terminates, but
// the schemas are kept in memory.
package contract
