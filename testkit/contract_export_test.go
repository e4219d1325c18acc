package testkit

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// CheckContract is Contract for a test that is to fail.
func CheckContract(t testing.TB, app *framework.App, lock string) {
	t.Helper()
	checkContract(t, app, lock)
}
