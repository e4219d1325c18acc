package oauth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// scoping is the transport of a client, and replaces the scope in answers of a token endpoint.
type scoping string

func (s scoping) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.URL.Path != "/token" || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	answer["scope"] = string(s)
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	resp.ContentLength, resp.Body = -1, io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

// GitHub separates the scopes of an answer by commas. A requested scope may have a comma of its own.
func TestScopesWithCommas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"repo,gist": {"repo", "gist"}, "repo": {"repo"}, "repo gist": {"repo", "gist"}, "a,b": {"a,b"}, "repo,gist a,b": {"repo,gist", "a,b"}, "": {}, ",": {},
	} {
		f := flow(t, (&user{}).browser(t), oauth.HTTPClient(&http.Client{Transport: scoping(text)}))
		g, err := f.Login(t.Context(), open(t).url, "repo", "gist", "a,b")
		if err != nil || !slices.Equal(g.Scopes, want) {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
}
