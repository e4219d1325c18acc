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

// Authorizer puts credentials into the requests of a connection. It is safe for concurrent
// use. Package protocol/client/oauth has one.
type Authorizer interface {
	// Do sends r by c with credentials for the server, and returns the answer that counts. After
	// a challenge (401 or 403) it may get other credentials and send r again: it closes the body
	// of the first answer, and sends a clone of r, whose body is r.GetBody(). It does not change
	// r itself, and does all its work under the context of r. An error fails the call.
	//
	// server is the URL of the connection. That of r can be another on HTTP+SSE, of the same
	// origin.
	//
	// c is the client of the connection, so that its proxy and its certificates can count for
	// other requests, too. Over redirects to other origins it does not carry the header fields
	// Authorization and DPoP.
	//
	// While Do works on what a server has answered, the time that a server may take to answer
	// the first request of a connection stands still.
	Do(c *http.Client, server *url.URL, r *http.Request) (*http.Response, error)
}

// Extender is an Authorizer that has extensions of the protocol, such as
// "io.modelcontextprotocol/oauth-client-credentials". The client declares them among its capabilities.
type Extender interface {
	Authorizer
	// Extensions returns their names.
	Extensions() []string
}

// extensions returns the extensions of the Authorizer, as they are declared.
func (c *httpConn) extensions() map[string]json.RawMessage {
	e, ok := c.options.authorizer.(Extender)
	if !ok {
		return nil
	}
	var declared map[string]json.RawMessage
	for _, name := range e.Extensions() {
		if declared == nil {
			declared = map[string]json.RawMessage{}
		}
		declared[name] = json.RawMessage("{}")
	}
	return declared
}

// bearer is the Authorizer of BearerToken.
type bearer func(context.Context) (string, error)

// Do sends r with a token.
func (b bearer) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	token, err := b(r.Context())
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token) // it is our own request
	}
	return c.Do(r)
}

// send sends a request with the credentials of the connection.
func (c *httpConn) send(r *http.Request) (*http.Response, error) {
	if c.options.authorizer == nil {
		return c.client.Do(r)
	}
	c.mu.Lock()
	connected := c.agreed != nil
	c.mu.Unlock()
	if connected { // then no time is measured
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

// patient returns a context that ends when the server has not answered for d. A server whose
// answer the authorizer is working on has answered. c may be nil.
func (c *httpConn) patient(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if c == nil || c.options.authorizer == nil {
		return context.WithTimeout(ctx, d)
	}
	ctx, cancel := context.WithCancel(ctx)
	if !c.spawn(func() {
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
	}) {
		cancel() // the connection is closed
	}
	return ctx, cancel
}
