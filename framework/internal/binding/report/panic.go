package report

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic of a method of the program's, such as UnmarshalText, on what a caller sent. It
// is for the log: no caller gets it.
type Panic struct {
	Value any
	Stack []byte
}

// Error is the value alone.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered turns a panic into an error of the function that defers it.
func Recovered(err *error) {
	if r := recover(); r != nil {
		*err = &Panic{r, debug.Stack()}
	}
}
