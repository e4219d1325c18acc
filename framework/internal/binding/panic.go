package binding

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

// recovered turns a panic into an error of the function that defers it.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = &Panic{r, debug.Stack()}
	}
}

// unpanicked is err for the caller: a value on which the program's method panicked is unreadable.
// The first panic is kept for the log.
func (d *decoder) unpanicked(err error) error {
	p, ok := err.(*Panic) //nolint:errorlint // recovered has made it
	if !ok {
		return err
	}
	if d.panicked == nil {
		d.panicked = p
	}
	return errUnreadable
}
