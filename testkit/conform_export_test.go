package testkit

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// Broken is how a server breaks one rule.
func Broken(t *testing.T, app *framework.App, revision, number string) string {
	t.Helper()
	d, _ := dialectOfName(revision)
	b := newBare(t, app)
	for _, r := range rules() {
		if r.number != number {
			continue
		}
		complaint, err := r.judge(b, d)
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		return complaint
	}
	t.Fatalf("no rule %s", number)
	return ""
}
