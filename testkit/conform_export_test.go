package testkit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// AllRules checks an app against all rules of a revision, those that only Kagami can break
// included.
func AllRules[A AppSource](t *testing.T, app A, revision string) {
	t.Helper()
	conform(t, app, revision, allRules(Way{}))
}

// Rules returns the numbers of all rules.
func Rules() []string {
	var all []string
	for _, r := range allRules(Way{}) {
		all = append(all, r.number)
	}
	return all
}

// Broken returns how a server breaks one rule.
func Broken(t *testing.T, app *framework.App, revision, number string, patience time.Duration, way Way) string {
	t.Helper()
	d, _ := dialectOfName(revision)
	b := newBare(t, app)
	for _, r := range allRules(way) {
		if r.number != number {
			continue
		}
		if !r.holds(d) {
			t.Fatalf("%s is not a rule of %s", number, revision)
		}
		switch err := r.judge(b, d, &patience); {
		case errors.Is(err, errNoSubject):
			t.Fatalf("%s: %v", number, err)
		case err != nil:
			return err.Error()
		}
		return ""
	}
	t.Fatalf("no rule %s", number)
	return ""
}

// Tried returns how many rules an app breaks, without those about HTTP.
func Tried(t *testing.T, app *framework.App, revision string) (broken int) {
	t.Helper()
	d, _ := dialectOfName(revision)
	b, patience := newBare(t, app), rulePatience
	for _, r := range allRules(Way{}) {
		if strings.HasPrefix(r.number, "http-") || !r.holds(d) {
			continue
		}
		if err := r.judge(b, d, &patience); err != nil && !errors.Is(err, errNoSubject) {
			broken++
		}
	}
	return broken
}

// Left returns how many components more a server has after the rules of Conformance.
func Left(t *testing.T, app *framework.App, revision string) int {
	t.Helper()
	d, _ := dialectOfName(revision)
	b, patience := newBare(t, app), rulePatience
	before := len(b.server.Inspect().Components)
	for _, r := range rules() {
		if !r.holds(d) {
			continue
		}
		if err := r.judge(b, d, &patience); err != nil && !errors.Is(err, errNoSubject) {
			t.Error(err)
		}
	}
	return len(b.server.Inspect().Components) - before
}
