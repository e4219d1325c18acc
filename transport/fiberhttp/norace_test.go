//go:build !race

package fiberhttp_test

const raceEnabled = false
