// Package repair corrects a call that a plan has refused, so that a model can send it again.
//
// [Suggest] changes the caller's own call: names first, then values, then what depends on other members. It prefers
// the value that the caller seems to have meant, such as the date in "3rd of May 2027" (suggest_everyday.go) or the
// nearest bound. Without such a value it leaves an optional member out, and replaces any other member by an example.
// It decodes the result before it returns it, so a suggestion is always a valid call. It never shows a secret.
package repair
