//go:build race

package main

import "testing"

// inProcesses skips a test of the built command. Its processes are not built with the race
// detector, and the run without the detector has tested them.
func inProcesses(t *testing.T) {
	t.Helper()
	t.Skip("the race detector does not see into other processes")
}
