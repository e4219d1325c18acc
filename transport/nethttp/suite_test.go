package nethttp_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(transporttest.Settled(m)) }

func TestHTTP(t *testing.T) {
	t.Parallel()
	transporttest.HTTPServer(t, func(addr string, s transporttest.Settings) transport.Transport {
		opts := []nethttp.Option{
			nethttp.AllowedOrigins(s.AllowedOrigins...), nethttp.AllowedHosts(s.AllowedHosts...),
			nethttp.BodyLimit(int64(s.BodyLimit)), nethttp.Grace(s.Grace),
			nethttp.ReadTimeout(s.ReadTimeout), nethttp.WriteTimeout(s.WriteTimeout),
			nethttp.TLS(s.TLS), nethttp.Listener(s.Listener), nethttp.OnListen(s.OnListen), nethttp.Path(s.Path),
		}
		if s.NoSSE {
			opts = append(opts, nethttp.WithoutHTTPSSE())
		}
		return nethttp.New(addr, opts...)
	})
}
