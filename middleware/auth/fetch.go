package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// patience limits the time of a request to an authorization server.
	patience = 5 * time.Second
	// maxAnswer limits the answer, in bytes.
	maxAnswer = 512 << 10
)

// newClient returns a client for requests to an authorization server. It does not follow redirects,
// which could lead anywhere, and keeps few connections.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: patience, ForceAttemptHTTP2: true,
			MaxConnsPerHost: 32, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// do returns the body of an answer with status 200. The caller limits the time.
func do(c *http.Client, r *http.Request) (body []byte, err error) {
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", r.URL.Redacted(), resp.StatusCode)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.URL.Redacted(), err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s answers with more than %d bytes", r.URL.Redacted(), maxAnswer)
	}
	return body, nil
}

// get returns the body at url.
func get(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/jwk-set+json")
	return do(c, r)
}
