//go:build !race

package main

import "testing"

// inProcesses skips a test of the built command when the race detector is on.
func inProcesses(*testing.T) {}
