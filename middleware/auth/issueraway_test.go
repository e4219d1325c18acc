package auth_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
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
