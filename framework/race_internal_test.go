//go:build race

package framework

// raceEnabled: the race detector allocates on its own.
const raceEnabled = true
