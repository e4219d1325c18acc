// Package group ends a program together with the programs that it has started.
package group

import (
	"os/exec"
	"time"
)

// End asks the program and its children to end. After patience, or if they cannot be asked, it kills
// them. ended is closed when the program has ended and Wait has returned.
func End(cmd *exec.Cmd, ended <-chan struct{}, patience time.Duration) {
	select {
	case <-ended: // another program may have its number now
		return
	default:
	}
	if interrupt(cmd) == nil {
		select {
		case <-ended:
			return
		case <-time.After(patience):
		}
	}
	kill(cmd)
	<-ended
}
