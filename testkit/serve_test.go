package testkit_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestServeRefusesAnotherURL checks that Serve fails if an option changes the URL that the app was made
// for.
func TestServeRefusesAnotherURL(t *testing.T) {
	t.Parallel()
	mustFail{func(t testing.TB) {
		url := testkit.Serve(t, func(string) *framework.App { return empty() }, nethttp.Path("/api/mcp"))
		if _, err := client.Connect(t.Context(), client.HTTP(url)); err == nil {
			t.Errorf("a client could connect")
		}
	}, []string{"Serve", "/api/mcp", "nethttp.Path"}}.once(t)
}

// TestServeKeepsTheCallersOptions checks that Serve does not write to the caller's slice of
// options, which other calls of Serve may share.
func TestServeKeepsTheCallersOptions(t *testing.T) {
	t.Parallel()
	opts := make([]nethttp.Option, 0, 4)
	for _, name := range []string{"tea", "cake"} {
		url := testkit.Serve(t, func(string) *framework.App { return framework.New(name, "1") }, opts...)
		c, err := client.Connect(t.Context(), client.HTTP(url))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Server().Name; got != name {
			t.Errorf("%s answers in place of %s", got, name)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for i, o := range opts[:cap(opts)] {
			if o != nil {
				t.Errorf("option %d was overwritten", i)
			}
		}
	}
}
