//go:build race

package engine_test

// raceEnabled: with the race detector, pools forget some of what they are given.
const raceEnabled = true
