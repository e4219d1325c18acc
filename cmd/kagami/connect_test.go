package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

// A server that cannot be reached is described in words, without the steps of the client.
func TestConnectingInWords(t *testing.T) {
	t.Parallel()
	const address = "https://mcp.example.com/mcp"
	step := func(err error) error {
		return fmt.Errorf("client: connecting: server/discover: client: %w", &url.Error{Op: "Post", URL: address, Err: err})
	}
	for want, tt := range map[string]struct {
		server string
		err    error
	}{
		"there is no host mcp.example.com: check the name in the URL":             {address, step(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "mcp.example.com", IsNotFound: true}})},
		"nothing listens at mcp.example.com: start the server, or check the port": {address, step(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})},
		"the server does not speak TLS: use http:// instead of https://":          {address, step(tls.RecordHeaderError{Msg: "first record"})},
		"the certificate of the server is not valid: expired":                     {address, step(&tls.CertificateVerificationError{Err: errors.New("expired")})},
		"tired":                        {address, step(errors.New("tired"))},
		"the revision is not spoken":   {"./shop", errors.New("client: connecting: initialize: client: the revision is not spoken")},
		"the connection was lost: EOF": {address, errors.New("client: the connection was lost: EOF")},
		"the program ended before it answered: a server on stdio runs until its input ends": {"./shop", io.ErrUnexpectedEOF},
		"the program ended before it answered (<nil>): run it by hand to see why":           {"./shop", errors.Join(io.ErrUnexpectedEOF, &exec.ExitError{})},
	} {
		err := inWords([]string{tt.server}, tt.err)
		if err.Error() != want || !errors.Is(err, tt.err) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for server, want := range map[string]string{
		"http://127.0.0.1:1/mcp": "kagami: connecting to http://127.0.0.1:1/mcp: nothing listens at 127.0.0.1:1: start the server, or check the port\n",
		"true":                   "kagami: connecting to true: the program ended before it answered: a server on stdio runs until its input ends\n",
	} {
		if _, errs, code := kagami(t, "tools", server); code != 4 || !strings.HasSuffix(errs, want) {
			t.Errorf("exit code %d\ngot  %swant %s", code, errs, want)
		}
	}
}

// TestRefusalToStart checks that a server of Kagami that does not start is started once, and so reports its fault once.
func TestRefusalToStart(t *testing.T) {
	t.Parallel()
	_, errs, code := kagami(t, "tools", "--", everything, "--store", "nothing:")
	if n := strings.Count(errs, "everything: --store: want"); code != 4 || n != 1 {
		t.Errorf("exit code %d, reported %d times\n%s", code, n, errs)
	}
}

// An unavailable authorization server is not reported as a failed login. Otherwise a script that
// logs in again after each failed login would never end.
func TestAuthorizationServerAway(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	issuer.Fault(testkit.TokenDown)
	if _, errs, code := withBrowser(t, "auth", "login", url); code == 0 || code == 3 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
