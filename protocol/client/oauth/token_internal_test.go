package oauth

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// crossed is a token endpoint that wants a nonce. While it answers, another request learns the same nonce.
type crossed struct {
	nonces *nonces
	sent   int
}

func (c *crossed) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent++
	status, text, header := http.StatusBadRequest, `{"error":"use_dpop_nonce"}`, http.Header{"Dpop-Nonce": {"fresh"}}
	if c.sent > 1 {
		status, text = http.StatusOK, `{"access_token":"access"}`
	}
	c.nonces.learn(r.URL.String(), header)
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// TestTokenNonceOfAnotherRequest: a token request is sent again with the nonce that its endpoint wants, also if
// another request to the same origin has learned the nonce in the meantime.
func TestTokenNonceOfAnotherRequest(t *testing.T) {
	t.Parallel()
	f, err := New(Keep(Memory()), DPoP(nil, true))
	if err != nil {
		t.Fatal(err)
	}
	m := issuerMetadata{Token: "http://127.0.0.1:1/token", DPoPKinds: []string{"ES256"}}
	key, err := f.newBinding(&m)
	if err != nil {
		t.Fatal(err)
	}
	c := &crossed{nonces: &nonces{}}
	w := newWeb(f, &http.Client{Transport: c}, "http://127.0.0.1:1/mcp")
	if _, err := w.token(t.Context(), &endpoint{m, Credentials{ID: "x"}, key, c.nonces}, nil); err != nil || c.sent != 2 {
		t.Errorf("%d requests, %v", c.sent, err)
	}
}
