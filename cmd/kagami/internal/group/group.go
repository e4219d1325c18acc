// Package group ends a program together with the programs that it has started.
package group

import (
	"os/exec"
	"sync"
	"time"
)

var killNow = make(chan struct{})

// KillNow makes End kill at once, from now on. A signal of the terminal does not reach programs in process
// groups of their own. They would outlive a program that the user ends with a second signal.
var KillNow = sync.OnceFunc(func() { close(killNow) })

// End asks the program and its children to end. After patience or [KillNow], or if they cannot be asked,
// it kills them. ended is closed when the program has ended and Wait has returned.
func End(cmd *exec.Cmd, ended <-chan struct{}, patience time.Duration) {
	select {
	case <-ended: // another program may have the process id now
		return
	default:
	}
	if interrupt(cmd) == nil {
		select {
		case <-ended:
			kill(cmd) // children that it has left
			return
		case <-killNow:
		case <-time.After(patience):
		}
	}
	kill(cmd)
	<-ended
}
