package boltstore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the process that TestKill kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimPath); path != "" {
		victim(path)
		return
	}
	goleak.VerifyTestMain(m)
}
