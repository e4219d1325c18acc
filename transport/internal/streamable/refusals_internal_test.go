package streamable

import (
	"fmt"
	"strings"
	"testing"
)

// TestRefusalsWarnOfNames: a name in another spelling is no new one, and the last warning says that
// it is the last.
func TestRefusalsWarnOfNames(t *testing.T) {
	t.Parallel()
	var texts []string
	f := refusals{warn: func(text string) { texts = append(texts, text) }}
	for _, host := range []string{"mcp.example.com", "MCP.example.com:443", "mcp.example.com:8080", "[2001:DB8::1]:80", "[2001:db8::1]"} {
		f.refuse("host name", host, "AllowedHosts")
	}
	for _, origin := range []string{"https://a.example", "https://A.example", "https://a.example:8443"} {
		f.refuse("origin", origin, "AllowedOrigins")
	}
	if len(texts) != 4 {
		t.Errorf("%d warnings, want 4: %q", len(texts), texts)
	}
	for i := range 2 * maxRefusals {
		f.refuse("host name", fmt.Sprintf("h%d.example", i), "AllowedHosts")
	}
	const last = "further names are refused without a warning"
	if n := strings.Count(strings.Join(texts, "\n"), last); len(texts) != maxRefusals || n != 1 || !strings.Contains(texts[len(texts)-1], last) {
		t.Errorf("%d warnings, %d of them say that they are the last: %q", len(texts), n, texts[len(texts)-1])
	}
}
