//go:build !unix

package oauth

import "os/exec"

// apart does nothing: here a browser does not get the Ctrl-C of a console.
func apart(*exec.Cmd) {}
