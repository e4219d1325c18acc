//go:build !race

package binding_test

// raceEnabled: the race detector allocates on its own.
const raceEnabled = false
