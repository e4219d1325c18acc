// Package profile says what known clients and the APIs of models take of a server, what they change, and what
// they refuse.
//
//	for _, f := range profile.Check(all, "cursor", "openai") {
//		fmt.Println(f)
//	}
//
// The rules are data, see [Rules]: each names its source and when that was seen, so that it can be looked up
// and dropped when it is out of date. No client is asked, and nothing is known of clients that have no rules.
//
// The package keeps no reference to the surface, and its functions are safe for concurrent use.
package profile
