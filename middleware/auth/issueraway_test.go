package auth_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
)

// While the issuer is away, a token of an unknown key may be a good one of a new key, so it is not
// refused as a wrong one.
func TestUnknownKeyWhileTheIssuerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		v := i.jwt()
		old := i.token(t, "k1")
		good(t, v, old)
		i.add(t, "k2")
		newest := i.token(t, "k2")
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 0, "" } })
		began := time.Now()
		for fetched, after := range []time.Duration{0, time.Second, 31 * time.Second, 11 * time.Minute} {
			time.Sleep(after - time.Since(began))
			bad(t, v, newest, true)
			good(t, v, old)
			if want := []int{2, 2, 3, 4}[fetched]; i.fetched() != want {
				t.Errorf("%d fetches after %s, not %d", i.fetched(), after, want)
			}
		}
		i.change(func() { i.serve = nil })
		time.Sleep(31 * time.Second)
		good(t, v, newest)
		good(t, v, old)
	})
}

// If the issuer is unavailable, callers do not notice while old keys still verify tokens. The
// operator is warned, because every token is refused once the keys are a day old.
func TestWarnsThatTheIssuerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t, "k1")
		guard := auth.Bearer(i.jwt())
		var warned []string
		guard.(interface{ SetWarn(warn func(text string)) }).SetWarn(func(text string) { warned = append(warned, text) }) //nolint:forcetypeassert // it has
		token := i.token(t, "k1")
		ask := func() {
			t.Helper()
			if _, err := guard.Authenticate(t.Context(), bearer(token)); err != nil {
				t.Errorf("refused after %d warnings: %v", len(warned), err)
			}
		}
		ask()
		until := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 502, "" } })
		for range 10 {
			ask()
			time.Sleep(time.Minute)
		}
		if len(warned) != 0 {
			t.Errorf("warned of %q", warned)
		}
		ask()
		if len(warned) != 1 || !strings.Contains(warned[0], until) || !strings.Contains(warned[0], "answers 502") {
			t.Errorf("warned of %q", warned)
		}
	})
}
