//go:build !race

package authserver_test

const raceDetector = false
