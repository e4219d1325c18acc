// Package gotype answers questions about Go types that several packages below binding ask, and has the one type,
// [URL], that the standard library lacks a text form for.
package gotype
