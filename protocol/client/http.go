package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/transport"
)

// HTTPOption configures HTTP. It is sealed.
type HTTPOption interface{ httpOption(o *httpOptions) }

type httpOptionFunc func(*httpOptions)

func (f httpOptionFunc) httpOption(o *httpOptions) { f(o) }

type httpOptions struct {
	client     *http.Client
	authorizer Authorizer // if nil, requests are sent unchanged
	header     http.Header
}

// HTTP returns a target for a Streamable HTTP endpoint, with HTTP+SSE as fallback. url must be an
// absolute http or https URL. Each message is a request of its own, so a failure ends only one
// call. If the server refused the request, the error is an [*HTTPError].
//
// On handshake revisions, the client keeps a session, and opens a stream for notifications and
// requests of the server. It resumes broken streams if their events have ids. If the server has
// dropped the session, the client makes a new one, at most once per call, and restores log level
// and subscriptions.
func HTTP(url string, opts ...HTTPOption) Target {
	return dialer(func(ctx context.Context) (transport.Conn, error) {
		o := httpOptions{client: http.DefaultClient, header: http.Header{}}
		for _, opt := range opts {
			if opt == nil {
				return nil, errors.New("an option of HTTP is nil")
			}
			opt.httpOption(&o)
		}
		return dialHTTP(ctx, url, o)
	})
}

// BearerToken sends the token that source returns. source is called before each request, so it can
// refresh the token. It may be called concurrently; its error fails the call. If source is nil or
// returns "", no token is sent. BearerToken replaces an earlier [Authorize].
func BearerToken(source func(context.Context) (string, error)) HTTPOption {
	if source == nil {
		return Authorize(nil)
	}
	return Authorize(bearer(source))
}

// Authorize sends each request of the connection with a. It replaces an earlier BearerToken or
// Authorize. If a is nil, requests are sent unchanged.
func Authorize(a Authorizer) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.authorizer = a })
}

// HTTPClient replaces http.DefaultClient. Leave its Timeout zero, because it also ends streams. A
// nil c has no effect.
//
// Redirects are restricted. The token, the header fields of [Header] and the session id are not
// sent to another origin (scheme, host and port). A redirect from https to http is an error.
func HTTPClient(c *http.Client) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) {
		if c != nil {
			o.client = c
		}
	})
}

// Header adds a header field to each request; Host is also possible. Header fields that the
// protocol sets take precedence, and so do the fields of [BearerToken] and [Authorize]. If HTTP does not
// allow the name or value, each request fails.
func Header(name, value string) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.header.Add(name, value) })
}
