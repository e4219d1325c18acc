package streamable

import "testing"

// TestOwn: pages of this machine and of the host that was called may call. Schemes that are not of
// pages never may, whatever host they name.
func TestOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin, host       string
		own, onThisMachine bool
	}{
		{"http://localhost:3000", "mcp.example", true, true},
		{"https://[::1]", "mcp.example", true, true},
		{"https://mcp.example", "mcp.example", true, false},
		{"https://mcp.example:443", "MCP.example", true, false},
		{"https://mcp.example:8443", "mcp.example:8443", true, false},
		{"https://mcp.example:8443", "mcp.example", false, false},
		{"https://evil.example", "mcp.example", false, false},
		{"https://localhost.evil.example", "mcp.example", false, false},
		{"tauri://localhost", "localhost", false, false},
		{"chrome-extension://mcp.example", "mcp.example", false, false},
		{"file://", "localhost", false, false},
		{"null", "localhost", false, false},
		{"http://%zz", "localhost", false, false},
	} {
		if got := own(c.origin, c.host); got != c.own {
			t.Errorf("own(%q, %q) = %v", c.origin, c.host, got)
		}
		if got := onThisMachine(c.origin); got != c.onThisMachine {
			t.Errorf("onThisMachine(%q) = %v", c.origin, got)
		}
	}
}
