// Package uritemplate turns variables into URIs and URIs back into variables,
// by the templates of RFC 6570. Resource templates stand on it.
//
//	t, err := uritemplate.Parse("orders://{user}/{year}{?page}")
//	uri, err := t.Expand(map[string]string{"user": "ann", "year": "2026"})
//	vars, ok, err := t.Match("orders://ann/2026?page=2")
//
// Expand follows RFC 6570 at all four levels for values that are strings. A
// variable without a value is left out, as the RFC says. Lists and maps are not
// supported, with one exception: the value of {/x*} is a path, whose segments
// stay separated by slashes.
//
// RFC 6570 defines no matching, so the rules are ours:
//
//   - {x} takes one or more characters other than "/", "?" and "#"; {x,y} is
//     split at commas; {.x}, {/x} and {;x} need their operator in the URI.
//   - {+x} and {#x} take reserved characters too, {/x*} takes one or more path
//     segments. {+x} stops at "?" or "#" where the template goes on with one.
//   - {?a,b} and {&a,b} take their names in any order, each may be absent, and a
//     URI with a name that the template lacks does not match.
//   - Where a URI can be split in several ways, earlier variables take more.
//   - A value is percent-decoded exactly once. A variable that the template
//     names twice must have the same value twice.
//
// Match is safe by default: it refuses, with [ErrUnsafe] and not as a mere lack
// of a match, values that could climb out of a directory or hide something:
// see [Template.Match].
//
// A Template is immutable and safe for concurrent use. Matching takes time
// linear in the length of the URI, which is at most 64 KiB.
//
// The package does not resolve or normalize URIs and does not compare schemes or
// hosts without regard to case.
package uritemplate
