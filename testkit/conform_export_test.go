package testkit

import (
	"net/http"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
)

// Rules are the numbers of all rules.
func Rules() []string {
	var all []string
	for _, r := range rules() {
		all = append(all, r.number)
	}
	return all
}

// Way is what is between the rules and a server.
type Way struct {
	Bend  func(transport.Conn) transport.Conn
	Spoil func(http.RoundTripper) http.RoundTripper
}

// Broken is how a server breaks one rule.
func Broken(t *testing.T, app *framework.App, revision, number string, patience time.Duration, way Way) string {
	t.Helper()
	d, _ := dialectOfName(revision)
	b := newBare(t, app)
	b.patience, b.bend, b.spoil = patience, way.Bend, way.Spoil
	for _, r := range rules() {
		if r.number != number {
			continue
		}
		if !r.holds(d) {
			t.Fatalf("%s is no rule of %s", number, revision)
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

// Tried is how many rules, but those about HTTP, an app breaks.
func Tried(t *testing.T, app *framework.App, revision string) (broken int) {
	t.Helper()
	d, _ := dialectOfName(revision)
	b := newBare(t, app)
	for _, r := range rules() {
		if r.http || !r.holds(d) {
			continue
		}
		if complaint, err := r.judge(b, d); complaint != "" || err != nil {
			broken++
		}
	}
	return broken
}
