// Package group ends a program together with the programs that it has started.
package group

import (
	"os/exec"
	"sync"
	"time"
)

var hurried = make(chan struct{})

// Hurry makes End kill at once, from now on. A signal of the terminal does not reach the programs in
// groups of their own, so they would outlive a program that the user ends by a second one.
var Hurry = sync.OnceFunc(func() { close(hurried) })

// End asks the program and its children to end. After patience or [Hurry], or if they cannot be asked,
// it kills them. ended is closed when the program has ended and Wait has returned.
func End(cmd *exec.Cmd, ended <-chan struct{}, patience time.Duration) {
	select {
	case <-ended: // another program may have its number now
		return
	default:
	}
	if interrupt(cmd) == nil {
		select {
		case <-ended:
			kill(cmd) // children that it has left
			return
		case <-hurried:
		case <-time.After(patience):
		}
	}
	kill(cmd)
	<-ended
}
