package fiberhttp_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestClients checks which sessions count together: the sessions of one address, of one address that a
// trusted proxy names, or of one key that the program gives. The rules themselves are tested in nethttp.
func TestClients(t *testing.T) {
	t.Parallel()
	const requests, share = 12, 4 // of 16 sessions
	loopback := fiberhttp.TrustedProxies("X-Forwarded-For", netip.MustParsePrefix("127.0.0.0/8"))
	others := fiberhttp.TrustedProxies("X-Forwarded-For", netip.MustParsePrefix("10.0.0.0/8"))
	keyed := fiberhttp.ClientKey(func(_ string, f transport.Fields) string { v, _ := f.Value("X-Tenant"); return v })
	for name, tt := range map[string]struct {
		opt   fiberhttp.Option
		field string
		value func(i int) string
		want  int
	}{
		"one address":          {others, "X-Forwarded-For", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, share},
		"one behind a proxy":   {loopback, "X-Forwarded-For", func(i int) string { return fmt.Sprintf("192.0.2.%d, 192.0.2.77", i) }, share},
		"many behind a proxy":  {loopback, "X-Forwarded-For", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, requests},
		"one key":              {keyed, "X-Tenant", func(int) string { return "a" }, share},
		"many keys":            {keyed, "X-Tenant", func(i int) string { return fmt.Sprint(i) }, requests},
		"a proxy without text": {loopback, "X-Forwarded-For", func(int) string { return "" }, share},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := framework.New("test", "1").Build()
			if err != nil {
				t.Fatal(err)
			}
			address := runs(t, server, func(told func(string)) transport.Transport {
				return fiberhttp.New("127.0.0.1:0", tt.opt, fiberhttp.MaxSessions(16), fiberhttp.OnEndpoint(told))
			})
			admitted := 0
			for i := range requests {
				if opens(t, address, tt.field, tt.value(i)) {
					admitted++
				}
			}
			if admitted != tt.want {
				t.Errorf("%d sessions, want %d", admitted, tt.want)
			}
		})
	}
}

// opens asks for a session on a connection of its own, and reports whether there is one.
func opens(t *testing.T, address, field, value string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, field: {value}}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode == http.StatusOK && answer.Header.Get("Mcp-Session-Id") != ""
}
