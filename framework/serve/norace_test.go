//go:build !race

package serve_test

// raceEnabled: the race detector allocates on its own.
const raceEnabled = false
