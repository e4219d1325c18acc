//go:build race

package binding_test

// raceEnabled reports that the race detector is on, which allocates memory.
const raceEnabled = true
