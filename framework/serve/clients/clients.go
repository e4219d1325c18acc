// Package clients knows the client programs that install servers, such as Claude Code and VS Code: where
// each keeps its configuration, and how it writes a server there.
//
// The command kagami edits these files, and the page in the browser shows what to add to them.
package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Server is a server in the configurations of clients: a program that the client starts, or a URL.
type Server struct {
	Name    string
	Command string // absolute path; "": the server is at URL
	Args    []string
	Env     map[string]string
	URL     string
	Header  map[string]string // sent with each request to URL
	Login   Login
}

// Login has the settings of a client for the login at a server. It is empty if the client can
// register there by itself.
type Login struct {
	ClientID string
	Scopes   []string
	Port     int // port of the redirect URI; 0: the client chooses
}

// Given reports whether there are any settings.
func (l *Login) Given() bool { return l.ClientID != "" || len(l.Scopes) > 0 || l.Port != 0 }

// Program is a client program. It is read-only.
type Program struct {
	Name   string            // for the command line, such as "claude-code"
	Title  string            // for people
	Paths  map[string]string // path of the configuration by GOOS; "" stands for all other systems
	Member string            // member with the servers; "": the file is TOML
	Remote bool              // the file can have the URL of a server
	Logins bool              // the file can have settings for a login
	LogsIn string            // how the user starts a login; NAME stands for the server

	entry func(s *Server) *Entry // nil for TOML
	link  func(s *Server, entry []byte) string
}

// All returns the known programs. In their paths, $HOME, $CONFIG and $APPDATA stand for directories of the
// user.
func All() []Program {
	everywhere := func(path string) map[string]string { return map[string]string{"": path} }
	return []Program{
		{Name: "claude-desktop", Title: "Claude Desktop", Member: "mcpServers", entry: plainEntry, Paths: map[string]string{
			"":        "$CONFIG/Claude/claude_desktop_config.json",
			"darwin":  "$HOME/Library/Application Support/Claude/claude_desktop_config.json",
			"windows": "$APPDATA/Claude/claude_desktop_config.json",
		}},
		{
			Name: "claude-code", Title: "Claude Code", Member: "mcpServers", entry: claudeEntry, Remote: true, Paths: everywhere("$HOME/.claude.json"),
			Logins: true, LogsIn: "run /mcp in Claude Code, and choose NAME",
		},
		{
			Name: "cursor", Title: "Cursor", Member: "mcpServers", entry: cursorEntry, link: cursorLink, Remote: true, Paths: everywhere("$HOME/.cursor/mcp.json"),
			Logins: true, LogsIn: "choose NAME in the settings of Cursor, under MCP",
		},
		{Name: "vscode", Title: "VS Code", Member: "servers", entry: typedEntry, link: codeLink, Remote: true, LogsIn: "run \"MCP: List Servers\" in VS Code, and start NAME", Paths: map[string]string{
			"":        "$CONFIG/Code/User/mcp.json",
			"darwin":  "$HOME/Library/Application Support/Code/User/mcp.json",
			"windows": "$APPDATA/Code/User/mcp.json",
		}},
		{Name: "codex", Title: "Codex", Remote: true, Paths: everywhere("$HOME/.codex/config.toml"), Logins: true, LogsIn: "run codex mcp login NAME"},
		{
			Name: "gemini", Title: "Gemini CLI", Member: "mcpServers", entry: geminiEntry, Remote: true, Paths: everywhere("$HOME/.gemini/settings.json"),
			Logins: true, LogsIn: "run /mcp auth NAME in Gemini CLI",
		},
		{Name: "zed", Title: "Zed", Member: "context_servers", entry: plainEntry, Remote: true, LogsIn: "look at NAME in the settings of Zed", Paths: map[string]string{
			"": "$CONFIG/zed/settings.json", "darwin": "$HOME/.config/zed/settings.json", "windows": "$APPDATA/Zed/settings.json",
		}},
		{Name: "windsurf", Title: "Windsurf", Member: "mcpServers", entry: windsurfEntry, Remote: true, LogsIn: "refresh NAME in the settings of Windsurf", Paths: everywhere("$HOME/.codeium/windsurf/mcp_config.json")},
	}
}

// Entry is a server in a client's file. It has the members of all clients. Args is nil for a
// URL. For a program, Args is written even if it is empty.
type Entry struct {
	Type      string            `json:"type,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitzero"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	HTTPURL   string            `json:"httpUrl,omitempty"`
	ServerURL string            `json:"serverUrl,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	OAuth     any               `json:"oauth,omitempty"` // Claude Code, Gemini CLI
	Auth      any               `json:"auth,omitempty"`  // Cursor
}

func plainEntry(s *Server) *Entry {
	if s.URL != "" {
		return &Entry{URL: s.URL, Headers: s.Header}
	}
	return &Entry{Command: s.Command, Args: append([]string{}, s.Args...), Env: s.Env}
}

func typedEntry(s *Server) *Entry {
	e := plainEntry(s)
	e.Type = "stdio"
	if e.URL != "" {
		e.Type = "http"
	}
	return e
}

// claudeEntry writes the scopes as one string.
func claudeEntry(s *Server) *Entry {
	e := typedEntry(s)
	if l := &s.Login; l.Given() {
		e.OAuth = struct {
			ClientID string `json:"clientId,omitempty"`
			Port     int    `json:"callbackPort,omitempty"`
			Scopes   string `json:"scopes,omitempty"`
		}{l.ClientID, l.Port, strings.Join(l.Scopes, " ")}
	}
	return e
}

func cursorEntry(s *Server) *Entry {
	e := plainEntry(s)
	if l := &s.Login; l.Given() {
		e.Auth = struct {
			ClientID string   `json:"CLIENT_ID,omitempty"`
			Scopes   []string `json:"scopes,omitempty"`
		}{l.ClientID, l.Scopes}
	}
	return e
}

func geminiEntry(s *Server) *Entry {
	e := plainEntry(s)
	e.URL, e.HTTPURL = "", e.URL
	if l := &s.Login; l.Given() {
		e.OAuth = struct {
			Enabled  bool     `json:"enabled"`
			ClientID string   `json:"clientId,omitempty"`
			Scopes   []string `json:"scopes,omitempty"`
		}{true, l.ClientID, l.Scopes}
	}
	return e
}

func windsurfEntry(s *Server) *Entry {
	e := plainEntry(s)
	e.URL, e.ServerURL = "", e.URL
	return e
}

// Address returns the URL of the server, or "" for a program.
func (e *Entry) Address() string { return cmp.Or(e.URL, e.HTTPURL, e.ServerURL) }

// Words returns the command line of the server, or its URL.
func (e *Entry) Words() []string {
	if address := e.Address(); address != "" {
		return []string{address}
	}
	return append([]string{e.Command}, e.Args...)
}

// TOML returns the entry for Codex, with an empty line before it. JSON strings are also valid in TOML.
func (s *Server) TOML() string {
	quote := func(value any) string {
		text, _ := json.Marshal(value) // encoding strings and lists of strings does not fail
		return string(text)
	}
	table := func(values map[string]string) string {
		var pairs []string
		for name, value := range values {
			pairs = append(pairs, quote(name)+" = "+quote(value))
		}
		slices.Sort(pairs)
		return "{ " + strings.Join(pairs, ", ") + " }"
	}
	var out strings.Builder
	_, _ = fmt.Fprintf(&out, "\n[mcp_servers.%s]\n", s.Name)
	if s.URL != "" {
		_, _ = fmt.Fprintf(&out, "url = %s\n", quote(s.URL))
		if len(s.Header) > 0 {
			_, _ = fmt.Fprintf(&out, "http_headers = %s\n", table(s.Header))
		}
		if len(s.Login.Scopes) > 0 {
			_, _ = fmt.Fprintf(&out, "scopes = %s\n", quote(s.Login.Scopes))
		}
		if s.Login.ClientID != "" {
			_, _ = fmt.Fprintf(&out, "oauth = { client_id = %s }\n", quote(s.Login.ClientID))
		}
		return out.String()
	}
	_, _ = fmt.Fprintf(&out, "command = %s\nargs = %s\n", quote(s.Command), quote(append([]string{}, s.Args...)))
	if len(s.Env) > 0 {
		_, _ = fmt.Fprintf(&out, "env = %s\n", table(s.Env))
	}
	return out.String()
}

// Entry returns the server as the program writes it. It is nil if the file is TOML.
func (p *Program) Entry(s *Server) *Entry {
	if p.entry == nil {
		return nil
	}
	return p.entry(s)
}

// Path returns the path of the configuration on a system, as All describes it.
func (p *Program) Path(system string) string {
	if path, ok := p.Paths[system]; ok {
		return path
	}
	return p.Paths[""]
}

// Text returns what the configuration has to contain: a JSON object, or lines of TOML.
func (p *Program) Text(s *Server) string {
	if p.Member == "" {
		return strings.TrimLeft(s.TOML(), "\n")
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	_ = out.Encode(map[string]any{p.Member: map[string]any{s.Name: p.Entry(s)}}) // entries always encode
	return text.String()
}

// Link returns a link that has the program install the server when the user opens it, or "".
func (p *Program) Link(s *Server) string {
	if p.link == nil {
		return ""
	}
	entry, _ := json.Marshal(p.Entry(s)) // entries always encode
	return p.link(s, entry)
}

// cursorLink has the entry in base64.
func cursorLink(s *Server, entry []byte) string {
	return "cursor://anysphere.cursor-deeplink/mcp/install?" + url.Values{"name": {s.Name}, "config": {base64.StdEncoding.EncodeToString(entry)}}.Encode()
}

// codeLink has the entry as JSON, with the name as one of its members.
func codeLink(s *Server, entry []byte) string {
	name, _ := json.Marshal(s.Name) // a text always encodes
	return "vscode:mcp/install?" + url.PathEscape(fmt.Sprintf(`{"name":%s,%s`, name, entry[1:]))
}
