// Package report contains the reports of binding: a [Fault] of a type at registration, and an [Issue] of a call. An
// [Invalid] is the error of a call with all its issues. The package also cuts and quotes texts of callers.
package report
