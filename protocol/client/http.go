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
	client *http.Client
	token  func(context.Context) (string, error)
	header http.Header
}

// HTTP is a Streamable HTTP endpoint (falls back to HTTP+SSE). url is absolute,
// http or https. Each message is a request of its own, so that a failure of one
// ends one call: with an [*HTTPError] where the server refused it.
//
// On handshake revisions the client keeps a session, opens a stream for what the
// server says unasked, resumes broken streams where they have event ids, and makes
// a new session, once for a call, when the server has dropped the old one: log
// level and subscriptions are carried over.
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

// BearerToken asks for a token before each request; refresh included. source may
// be called concurrently; its error fails the call. An empty token sends none, as does a
// nil source.
func BearerToken(source func(context.Context) (string, error)) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.token = source })
}

// HTTPClient replaces http.DefaultClient. Its Timeout ends streams too, so it is
// better left zero. It is used as it is, except for redirects: the token, what
// [Header] sets and the session do not follow to another origin (scheme, host and
// port), and a redirect from https to http is an error.
func HTTPClient(c *http.Client) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) {
		if c != nil {
			o.client = c
		}
	})
}

// Header adds a header to each request, Host included. Those that the protocol sets itself
// win, and the token of [BearerToken]. A name or value that HTTP does not allow is the error
// of each request.
func Header(name, value string) HTTPOption {
	return httpOptionFunc(func(o *httpOptions) { o.header.Add(name, value) })
}
