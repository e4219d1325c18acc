package page_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestRecordReplays: the record of a call with a question is a test of the server, at each revision.
func TestRecordReplays(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			app := framework.New("calc", "1.0").Add(asking())
			server, err := app.Build()
			if err != nil {
				t.Fatal(err)
			}
			b := opened(t, page.Options{Host: server})
			b.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
			b.ask(http.MethodGet, "/api/offers", "", nil)
			id := b.start(`{"method":"tools/call","name":"order","arguments":{"item":"tea"}}`)
			b.ask(http.MethodPost, "/api/questions/"+b.question().ID, `{"action":"accept","content":{"sure":true}}`, nil)
			b.end(id)
			text := b.do(http.MethodGet, "/api/calls/"+id+"/record", "", nil).body
			if !strings.Contains(text, "ordered tea") || strings.Contains(text, "tools/list") {
				t.Fatalf("record:\n%s", text)
			}
			path := filepath.Join(t.TempDir(), "order.jsonl")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			testkit.Replay(t, framework.New("calc", "1.0").Add(asking()), path)
		})
	}
}
