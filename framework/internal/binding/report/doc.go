// Package report has what binding reports: a [Fault] of a type at registration, and an [Issue] of a call. An
// [Invalid] is the error of a call with all its issues. The package also cuts and quotes what comes from callers.
package report
