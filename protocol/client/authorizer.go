package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Authorizer adds credentials to the requests of a connection. It must be safe for concurrent use.
// Package protocol/client/oauth has an implementation.
type Authorizer interface {
	// Do sends r with c and credentials for the server, and returns the final answer. After a
	// challenge (401 or 403) it may get other credentials and send r again. It then closes the body
	// of the first answer, and sends a clone of r with the body of r.GetBody(). Do must not change
	// r itself, and all its work must end with the context of r, or soon after it. An error fails the
	// call.
	//
	// server is the URL of the connection. On HTTP+SSE, the URL of r may differ from it, but has
	// the same origin.
	//
	// c is the HTTP client of the connection. Do may also use it for other requests, so that its
	// proxy and certificates apply to them. When c follows a redirect to another origin, it drops
	// the header fields Authorization and DPoP.
	//
	// The first request of a connection has a time limit for the server's answer. The limit is
	// suspended while Do works on an answer of the server.
	Do(c *http.Client, server *url.URL, r *http.Request) (*http.Response, error)
}

// Extender is an Authorizer that implements extensions of the protocol, such as
// "io.modelcontextprotocol/oauth-client-credentials". The client declares them as capabilities.
type Extender interface {
	Authorizer
	// Extensions returns the names of the extensions.
	Extensions() []string
}

// extensions returns the extensions of the Authorizer in the form of the client's capabilities.
func (c *httpConn) extensions() map[string]json.RawMessage {
	e, ok := c.options.authorizer.(Extender)
	if !ok {
		return nil
	}
	declared := map[string]json.RawMessage{}
	for _, name := range e.Extensions() {
		declared[name] = json.RawMessage("{}")
	}
	return declared
}

// bearer is the Authorizer of BearerToken.
type bearer func(context.Context) (string, error)

// Do implements Authorizer. If the token is empty, it sends r unchanged.
func (b bearer) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	token, err := b(r.Context())
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token) // send owns r, so it may be changed
	}
	return c.Do(r)
}

// send sends a request with the credentials of the connection.
//
// The caller owns the response and must close its body. While no revision is agreed, authorizing
// counts requests from the first byte of the server's answer until the authorizer returns; heard
// makes sure that each request is counted once, whichever of the two comes first.
func (c *httpConn) send(r *http.Request) (*http.Response, error) {
	if c.options.authorizer == nil {
		return c.client.Do(r)
	}
	if c.agreed.Load() != nil { // patient is not used any more
		return c.options.authorizer.Do(&c.client, c.url, r)
	}
	var heard atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() {
		if !heard.Swap(true) {
			c.authorizing.Add(1)
		}
	}})
	defer func() {
		if heard.Swap(true) {
			c.authorizing.Add(-1)
		}
	}()
	return c.options.authorizer.Do(&c.client, c.url, r.WithContext(ctx))
}

// patient returns a context that ends when the server has not answered for d. While the authorizer
// works on an answer, the server counts as having answered. c may be nil.
//
// Its goroutine ends with the returned context, which the caller must cancel. It looks once in each
// d, so after the work of the authorizer the wait may last up to d longer.
func (c *httpConn) patient(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c == nil || c.options.authorizer == nil {
		return context.WithTimeout(ctx, d)
	}
	ctx, cancel := context.WithCancel(ctx)
	if c.spawn(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if c.authorizing.Load() == 0 {
					cancel()
					return
				}
			}
		}
	}) != nil {
		cancel() // the connection is closed
	}
	return ctx, cancel
}
