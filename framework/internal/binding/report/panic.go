package report

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic of a method of the program, such as UnmarshalText, on a value that a caller sent. It is
// only for the log.
type Panic struct {
	Value any
	Stack []byte
}

// Error returns the value, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered turns a panic into an error of the function that defers it.
func Recovered(err *error) {
	if r := recover(); r != nil {
		*err = &Panic{r, debug.Stack()}
	}
}
