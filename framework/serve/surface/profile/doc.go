// Package profile lists what known clients and the APIs of models accept from a server, what they
// change, and what they refuse.
//
//	for _, f := range profile.Check(all, "cursor", "openai") {
//		fmt.Println(f)
//	}
//
// The rules are data, see [Rules]. Each rule names its source and the date of the source, so that
// it can be looked up, and dropped when it is out of date. The package contacts no client, and has
// no rules for other clients.
//
// The package keeps no reference to the surface, and its functions are safe for concurrent use.
package profile
