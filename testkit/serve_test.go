package testkit_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestServeKeepsTheCallersOptions: options may be a part of a slice that other calls of Serve also get.
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
