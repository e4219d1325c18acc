package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestRevisionsOfForeignServer: the page shows which revisions a server has spoken and refused.
func TestRevisionsOfForeignServer(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, everything(t)))
	b.sees(".revs", "speaking now")
	b.sees(".revs li:first-child", "not tried yet")
	b.sees(".revs li:last-child", "not spoken")
	if options := b.eval("[...document.querySelectorAll('.bar option')].map(o => o.text).join()"); options != "2025-11-25,2025-06-18,2025-03-26,2024-11-05" {
		t.Errorf("the bar offers %s", options)
	}
	b.judge(source, "a foreign server")
	b.picturesOf("revisions")
	b.click(".revs button", "2024-11-05")
	b.sees(".revs li:first-child", "speaking now")
	b.sees(".revs", "tasks, icons") // 2025-11-25, which it spoke before
}

// TestRefusedRevision checks that the page says that the server does not speak the chosen revision,
// does not try again by itself, and offers a way out.
func TestRefusedRevision(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(speakOld))
	defer web.Close()
	b := newTab(t)
	b.open(serve(t, page.Options{URL: web.URL}))
	b.sees(".rail", "greet")
	b.click(".revs button", "2024-11-05")
	b.sees(".banner", "The server does not speak 2024-11-05.")
	b.sees(".live", "revision refused")
	b.judge(source, "a refused revision")
	b.picturesOf("refused")
	b.click(".banner button", "Let the server choose")
	b.sees(".live", "connected")
	b.sees(".revs li:first-child", "not spoken")
}

// speakOld is a server that speaks 2025-06-18 alone, and answers every other request with 400.
func speakOld(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	switch _ = json.NewDecoder(r.Body).Decode(&m); {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize" && m.Params.ProtocolVersion != "2024-11-05":
		answer(w, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	case m.Method == "tools/list":
		answer(w, m.ID, `{"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}`)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
