package page_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
)

func TestMain(m *testing.M) {
	// Servers of httptest close the idle connections of http.DefaultTransport when they end,
	// also those on which a test beside them is about to ask something.
	http.DefaultTransport = &http.Transport{DisableKeepAlives: true}
	goleak.VerifyTestMain(transporttest.Settled(m))
}
