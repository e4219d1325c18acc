package fiberhttp_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(transporttest.Settled(m),
		// fasthttp's own, which end never, or ten seconds after a server.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreTopFunction("github.com/valyala/fasthttp/stackless.funcWorker"),
	)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	transporttest.HTTPServer(t, server)
}

func server(addr string, s transporttest.Settings) transport.Transport {
	opts := []fiberhttp.Option{
		fiberhttp.AllowedOrigins(s.AllowedOrigins...), fiberhttp.AllowedHosts(s.AllowedHosts...),
		fiberhttp.BodyLimit(s.BodyLimit), fiberhttp.Grace(s.Grace),
		fiberhttp.ReadTimeout(s.ReadTimeout), fiberhttp.WriteTimeout(s.WriteTimeout),
		fiberhttp.TLS(s.TLS), fiberhttp.Listener(s.Listener), fiberhttp.OnListen(s.OnListen), fiberhttp.Path(s.Path),
	}
	if s.NoSSE {
		opts = append(opts, fiberhttp.WithoutHTTPSSE())
	}
	return fiberhttp.New(addr, opts...)
}
