package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/transport"
)

// HTTPOption configures HTTP. Sealed.
type HTTPOption interface{ httpOption(o *httpOptions) }

type httpOptionFunc func(*httpOptions)

func (f httpOptionFunc) httpOption(o *httpOptions) { f(o) }

type httpOptions struct {
	client     *http.Client
	authorizer Authorizer // nil: requests are sent as they are
	header     http.Header
}

// HTTP is a Streamable HTTP endpoint (with HTTP+SSE as fallback). url is absolute, http or
// https. Each message is a request of its own, so a failure ends only one call: with an
// [*HTTPError] if the server refused it.
//
// On handshake revisions the client keeps a session, opens a stream for notifications and
// requests of the server, resumes broken streams if they have event ids, and makes a new
// session, once per call, if the server has dropped the old one: log level and
// subscriptions are carried over.
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

// BearerToken has source asked for a token before each request, so that source can refresh
// it. source may be called concurrently; its error fails the call. With an empty token, or
// a nil source, none is sent. It takes the place of an earlier [Authorize].
func BearerToken(source func(context.Context) (string, error)) HTTPOption {
	if source == nil {
		return Authorize(nil)
	}
	return Authorize(bearer(source))
}

// Authorize has a send each request of the connection, in place of an earlier BearerToken or
// Authorize. With nil, requests are sent as they are.
func Authorize(a Authorizer) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.authorizer = a })
}

// HTTPClient replaces http.DefaultClient. Its Timeout also ends streams, so it is better
// left zero. It is used as it is, except for redirects: the token, what [Header] sets and
// the session are not sent to another origin (scheme, host and port), and a redirect from
// https to http is an error.
func HTTPClient(c *http.Client) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) {
		if c != nil {
			o.client = c
		}
	})
}

// Header adds a header to each request, Host included. Headers that the protocol sets
// itself take precedence, and so do the headers of [BearerToken] and [Authorize]. With a name or value that
// HTTP does not allow, each request fails.
func Header(name, value string) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.header.Add(name, value) })
}
