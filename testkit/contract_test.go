package testkit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// What needs scopes belongs to the contract, and so do the scopes.
func TestContractKnowsScopes(t *testing.T) {
	t.Parallel()
	app := func(scopes ...string) *framework.App {
		return framework.New("shop", "1").Add(
			framework.Tool("wipe", func(context.Context, struct{}) (string, error) { return "", nil }, framework.Scopes(scopes...)))
	}
	got := strings.Join(failures(t, func(t testing.TB) { testkit.CheckContract(t, app("admin", "root"), "testdata/scopes.lock") }), "\n")
	if !strings.Contains(got, "breaking: tool wipe: needs the scopes root") {
		t.Error(got)
	}
	testkit.Contract(t, app("admin"), "testdata/scopes.lock")
}
