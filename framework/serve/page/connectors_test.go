package page_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestPathsOnWindows: a path on Windows has single backslashes.
func TestPathsOnWindows(t *testing.T) {
	t.Parallel()
	saved := shows(t, session(t, `{"os":"windows"}`))
	if text := saved.do(http.MethodGet, "/api/connectors", "", nil).body; !strings.Contains(text, `"%APPDATA%\\Claude\\claude_desktop_config.json"`) { // in JSON
		t.Error(text)
	}
}

// session opens a saved session with this description of its server.
func session(t *testing.T, about string) *page.Page {
	t.Helper()
	p, err := page.Open(strings.NewReader(`{"kagamiPage":1,"about":` + about + `,"offers":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConnectors checks what the page tells people to add to their client programs.
func TestConnectors(t *testing.T) {
	t.Parallel()
	type connector struct{ Client, Where, Text, Link string }
	read := func(o page.Options) map[string]connector {
		b := opened(t, o)
		b.ask(http.MethodPost, "/api/connect", `{}`, nil) // the name is the server's
		var all []connector
		b.ask(http.MethodGet, "/api/connectors", "", &all)
		by := map[string]connector{}
		for _, c := range all {
			by[c.Client] = c
		}
		return by
	}
	program := read(page.Options{Host: host(t), Start: []string{"/bin/calc", "--name", "two words"}})
	remote := read(page.Options{URL: oldServer(t)})
	for _, all := range []map[string]connector{program, remote} {
		for _, client := range []string{"Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "Gemini CLI", "Zed", "Windsurf", "A shell"} {
			if all[client].Where == "" || all[client].Text == "" {
				t.Errorf("%s: %+v", client, all[client])
			}
		}
	}
	for got, want := range map[string]string{
		program["Claude Code"].Text:                                 "claude mcp add calc -- /bin/calc --name 'two words'",
		program["A shell"].Text:                                     "kagami inspect -- /bin/calc --name 'two words'",
		program["Cursor"].Where:                                     "~/.cursor/mcp.json",
		strings.Join(strings.Fields(program["Zed"].Text), ""):       `{"context_servers":{"calc":{"command":"/bin/calc","args":["--name","twowords"]}}}`,
		strings.Join(strings.Fields(remote["Windsurf"].Text), ""):   `{"mcpServers":{"old":{"serverUrl":"` + remote["Claude Desktop"].Text + `"}}}`,
		remote["Claude Desktop"].Where:                              "Settings, Connectors, Add custom connector (needs a public URL)",
		strings.SplitN(remote["Claude Code"].Text, "http://", 2)[0]: "claude mcp add --transport http old ",
	} {
		if got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	link, err := url.Parse(program["VS Code"].Link)
	if err != nil || link.Scheme != "vscode" {
		t.Fatalf("%s, %v", program["VS Code"].Link, err)
	}
	entry, err := url.PathUnescape(link.RawQuery)
	if err != nil || !json.Valid([]byte(entry)) || entry != `{"name":"calc","type":"stdio","command":"/bin/calc","args":["--name","two words"]}` {
		t.Errorf("%s, %v", entry, err)
	}
}
