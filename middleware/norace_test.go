//go:build !race

package middleware_test

// raceEnabled: the race detector allocates on its own.
const raceEnabled = false
