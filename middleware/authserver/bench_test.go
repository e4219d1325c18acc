package authserver_test

import (
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// benched is a server that is asked without a network.
func benched(b *testing.B) (h http.Handler, as *authserver.Server) {
	b.Helper()
	as, err := authserver.New("http://127.0.0.1:1", authserver.Own(noUsers{}), authserver.Limit(1, 1, 1<<30, nil), authserver.ClientCredentialsGrant(),
		authserver.Resource("http://127.0.0.1:1/mcp"), authserver.Clients(robotWithSecret()))
	if err != nil {
		b.Fatal(err)
	}
	return as.Handler(), as
}

// BenchmarkToken issues a token to a client that acts for itself: a form, a digest, a signature.
func BenchmarkToken(b *testing.B) {
	h, _ := benched(b)
	form := encoded([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& "})
	b.ReportAllocs()
	for b.Loop() {
		if body := direct(b, h, "/token", "application/x-www-form-urlencoded", form); len(body) < 100 {
			b.Fatal(body)
		}
	}
}

// BenchmarkGuard is what a call costs that comes with a token that was seen before.
func BenchmarkGuard(b *testing.B) {
	h, as := benched(b)
	guard := as.Guard("http://127.0.0.1:1/mcp")
	a := answer{body: direct(b, h, "/token", "application/x-www-form-urlencoded", encoded([]string{"grant_type", "client_credentials", "client_id", "conf:1", "client_secret", "s3cret:& "}))}
	header := http.Header{"Authorization": {"Bearer " + a.text(b, "access_token")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guard.Authenticate(b.Context(), header); err != nil {
			b.Fatal(err)
		}
	}
}

// A call with a token that was seen before verifies no signature, and reads no record for 5 seconds.
func TestGuardAllocatesLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	s := open(t, nil)
	access, _ := s.grant(s.register(plainClient), "ann")
	header := http.Header{"Authorization": {"Bearer " + access}}
	if n := testing.AllocsPerRun(200, func() {
		if _, err := s.guard.Authenticate(t.Context(), header); err != nil {
			t.Fatal(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
