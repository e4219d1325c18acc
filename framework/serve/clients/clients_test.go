package clients_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

func known(t *testing.T, name string) *clients.Program {
	t.Helper()
	all := clients.All()
	at := slices.IndexFunc(all, func(c clients.Program) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("there is no client %s", name)
	}
	return &all[at]
}

// TestEntries checks how each client writes a program and a URL.
func TestEntries(t *testing.T) {
	t.Parallel()
	program := &clients.Server{Name: "n", Command: "/bin/n", Args: []string{"-x"}, Env: map[string]string{"K": "v"}}
	remote := &clients.Server{Name: "n", URL: "https://example.com/mcp", Header: map[string]string{"X": "y"}}
	for name, want := range map[string][2]string{
		"cursor":   {`{"command":"/bin/n","args":["-x"],"env":{"K":"v"}}`, `{"url":"https://example.com/mcp","headers":{"X":"y"}}`},
		"vscode":   {`{"type":"stdio","command":"/bin/n","args":["-x"],"env":{"K":"v"}}`, `{"type":"http","url":"https://example.com/mcp","headers":{"X":"y"}}`},
		"gemini":   {`{"command":"/bin/n","args":["-x"],"env":{"K":"v"}}`, `{"httpUrl":"https://example.com/mcp","headers":{"X":"y"}}`},
		"windsurf": {`{"command":"/bin/n","args":["-x"],"env":{"K":"v"}}`, `{"serverUrl":"https://example.com/mcp","headers":{"X":"y"}}`},
	} {
		c := known(t, name)
		for i, r := range []*clients.Server{program, remote} {
			if got, err := json.Marshal(c.Entry(r)); string(got) != want[i] || err != nil {
				t.Errorf("%s: %s, %v, want %s", name, got, err, want[i])
			}
		}
	}
	remote = &clients.Server{Name: "n", URL: "https://example.com/mcp", Login: clients.Login{ClientID: "id", Scopes: []string{"a", "b"}, Port: 8085}}
	for name, want := range map[string]string{
		"claude-code": `{"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"id","callbackPort":8085,"scopes":"a b"}}`,
		"cursor":      `{"url":"https://example.com/mcp","auth":{"CLIENT_ID":"id","scopes":["a","b"]}}`,
		"gemini":      `{"httpUrl":"https://example.com/mcp","oauth":{"enabled":true,"clientId":"id","scopes":["a","b"]}}`,
	} {
		c := known(t, name)
		if got, err := json.Marshal(c.Entry(remote)); string(got) != want || err != nil {
			t.Errorf("a login of %s: %s, %v, want %s", name, got, err, want)
		}
	}
	if got, want := remote.TOML(), "\n[mcp_servers.n]\nurl = \"https://example.com/mcp\"\nscopes = [\"a\",\"b\"]\noauth = { client_id = \"id\" }\n"; got != want {
		t.Errorf("%s", got)
	}
	remote = &clients.Server{Name: "n", URL: "https://example.com/mcp", Header: map[string]string{"X": "y"}}
	if got, want := program.TOML(), "\n[mcp_servers.n]\ncommand = \"/bin/n\"\nargs = [\"-x\"]\nenv = { \"K\" = \"v\" }\n"; got != want {
		t.Errorf("%s", got)
	}
	if got, want := remote.TOML(), "\n[mcp_servers.n]\nurl = \"https://example.com/mcp\"\nhttp_headers = { \"X\" = \"y\" }\n"; got != want {
		t.Errorf("%s", got)
	}
}

// TestLinks checks that the links have the whole entry.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := &clients.Server{Name: "n", Command: "/bin/a b", Args: []string{"-x", "y&z"}}
	cursor, err := url.Parse(known(t, "cursor").Link(s))
	if err != nil || cursor.Scheme != "cursor" || cursor.Query().Get("name") != "n" {
		t.Fatalf("%v, %v", cursor, err)
	}
	if entry, err := base64.StdEncoding.DecodeString(cursor.Query().Get("config")); err != nil || string(entry) != `{"command":"/bin/a b","args":["-x","y&z"]}` && string(entry) != `{"command":"/bin/a b","args":["-x","y\u0026z"]}` {
		t.Errorf("%s, %v", entry, err)
	}
	code, err := url.Parse(known(t, "vscode").Link(s))
	if err != nil {
		t.Fatal(err)
	}
	text, err := url.PathUnescape(code.RawQuery)
	if err != nil {
		t.Fatal(err)
	}
	var entry struct {
		Name, Type, Command string
		Args                []string
	}
	if err := json.Unmarshal([]byte(text), &entry); err != nil || entry.Name != "n" || entry.Type != "stdio" || entry.Command != s.Command || !slices.Equal(entry.Args, s.Args) {
		t.Errorf("%s, %v", text, err)
	}
	if link := known(t, "zed").Link(s); link != "" {
		t.Errorf("a link of Zed: %s", link)
	}
}
