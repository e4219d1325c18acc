//go:build !race

package framework_test

// raceEnabled: the race detector allocates on its own.
const raceEnabled = false
