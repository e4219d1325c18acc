package contract_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func locked(t *testing.T, app *framework.App) *contract.Lock {
	t.Helper()
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), client.InMemory(server))
	if err != nil {
		t.Fatal(err)
	}
	l, err := contract.Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	return l
}

// What is written is read back the same, and says nothing of the version.
func TestLock(t *testing.T) {
	t.Parallel()
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	app := func(version string) *framework.App {
		return framework.New("shop", version, framework.WithInstructions("Sells <all>.")).Add(
			framework.Tool("b", none, framework.Describe("Finds <all> & more.")), framework.Tool("a", none),
			framework.Resource("shop://all", func(context.Context) (string, error) { return "", nil }),
			framework.ResourceTemplate("shop://{id}", func(context.Context, struct {
				ID string `uri:"id"`
			},
			) (string, error) {
				return "", nil
			}),
			framework.Prompt("ask", func(context.Context, struct {
				Topic string `json:"topic"`
			},
			) (framework.Messages, error) {
				return nil, nil
			}))
	}
	l := locked(t, app("1.0"))
	raw, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := contract.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if changes := contract.Diff(l, again); len(changes) > 0 {
		t.Errorf("read back: %v", changes)
	}
	second, err := again.Encode()
	if err != nil || !bytes.Equal(raw, second) {
		t.Errorf("%v: written again\n%s\nwas\n%s", err, second, raw)
	}
	if bytes.Contains(raw, []byte("1.0")) || !bytes.Contains(raw, []byte("<all> & more")) || !contract.IsLock(raw) {
		t.Errorf("%s", raw)
	}
	if changes := contract.Diff(l, locked(t, app("2.0"))); len(changes) > 0 {
		t.Errorf("another version: %v", changes)
	}
	for _, part := range [][]contract.Entry{l.Tools, l.Resources, l.Templates, l.Prompts} {
		if len(part) == 0 || part[0].Key == "" {
			t.Errorf("a part is missing: %s", raw)
		}
	}
	if !slices.Contains(l.Capabilities, "tools") || l.Tools[0].Key != "a" {
		t.Errorf("%s", raw)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for raw, words := range map[string]string{
		`[]`:                            "reading a lock file",
		`{}`:                            "number 0, want 1",
		`{"kagamiLock":2}`:              "number 2",
		`{"kagamiLock":2,"tools":{}}`:   "number 2",
		`{"kagamiLock":1,"tools":[{}]}`: "reading a tool",
		`{"kagamiLock":1,"prompts":[{"listed":{"name":1}}]}`: "has no name",
	} {
		if _, err := contract.Parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", raw, err, words)
		}
	}
	if contract.IsLock([]byte(`{"tools":[]}`)) || contract.IsLock([]byte("\x7fELF")) {
		t.Error("a file is taken for a lock that is none")
	}
}
