package mcpfx_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
)

// priceList is a handler of the program's own, with a dependency.
type priceList struct{ of *billing }

func newPriceList(of *billing) (*priceList, error) { return &priceList{of}, nil }

func (p *priceList) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, "rate %d", p.of.rate)
}

// TestRoute: handlers of the graph are beside the endpoint.
func TestRoute(t *testing.T) {
	t.Parallel()
	hook := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hooked") })
	}
	endpoint := serving(t, mcpfx.Provide(newBilling), mcpfx.Route("/prices", newPriceList), mcpfx.Route("/hook/", hook))
	for path, want := range map[string]string{"/prices": "rate 2", "/hook/x": "hooked", "/other": "nothing here"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(endpoint, "/mcp")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v", path, body, err)
		}
	}
}

// TestRouteFaults: a constructor that fails or makes no handler, and a route without a module.
func TestRouteFaults(t *testing.T) {
	t.Parallel()
	module := mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("127.0.0.1:0"), mcpfx.Options(framework.WithLogger(zap.NewNop())))
	for want, opt := range map[string]fx.Option{
		"a http.Handler":     fx.Options(module, mcpfx.Route("/x", newBilling)),
		"no key":             fx.Options(module, mcpfx.Route("/x", func() (http.Handler, error) { return nil, errors.New("no key") })),
		"needs mcpfx.Module": mcpfx.Route("/x", func() http.Handler { return http.NotFoundHandler() }),
		"not a constructor":  fx.Options(module, mcpfx.Route("/x", nil)),
	} {
		if err := fx.New(opt, fx.NopLogger).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
