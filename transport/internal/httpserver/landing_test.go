package httpserver_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// TestStyleOfWindowsLines: a browser hashes a page with CRLF as if it had LF.
func TestStyleOfWindowsLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("landing.html")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), "\r\n", "\n")
	if !strings.Contains(page, "</style>") || strings.Count(page, "\n") < 9 {
		t.Fatal("the page has no style sheet, or few lines")
	}
	if unix, windows := httpserver.StyleHash(page), httpserver.StyleHash(strings.ReplaceAll(page, "\n", "\r\n")); unix != windows {
		t.Errorf("%s with LF, %s with CRLF", unix, windows)
	}
}
