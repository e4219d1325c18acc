package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// registration is a server in the configurations of clients.
type registration struct {
	Name    string
	Command string // absolute path; "": the server is at URL
	Args    []string
	Env     map[string]string
	URL     string
	Header  map[string]string
	Login   clientLogin
}

// clientLogin has the settings of a client for the login at a server. It is empty if the client can
// register there by itself.
type clientLogin struct {
	ClientID string
	Scopes   []string
	Port     int // port of the redirect URI; 0: the client chooses
}

func (l *clientLogin) given() bool { return l.ClientID != "" || len(l.Scopes) > 0 || l.Port != 0 }

// clientProgram is a client program whose configuration install edits.
type clientProgram struct {
	name   string
	paths  map[string]string // path of the file by GOOS; "" stands for all other systems
	member string            // member with the servers; "": the file is TOML
	entry  func(r *registration) *clientEntry
	remote bool   // its file can have the URL of a server
	told   bool   // its file can have settings for a login
	logsIn string // how the user starts a login; NAME stands for the server
}

// clientPrograms returns the clients that install supports. $HOME, $CONFIG and $APPDATA are
// directories of the user.
func clientPrograms() []clientProgram {
	everywhere := func(path string) map[string]string { return map[string]string{"": path} }
	return []clientProgram{
		{name: "claude-desktop", member: "mcpServers", entry: plainEntry, paths: map[string]string{
			"":        "$CONFIG/Claude/claude_desktop_config.json",
			"darwin":  "$HOME/Library/Application Support/Claude/claude_desktop_config.json",
			"windows": "$APPDATA/Claude/claude_desktop_config.json",
		}},
		{
			name: "claude-code", member: "mcpServers", entry: claudeEntry, remote: true, paths: everywhere("$HOME/.claude.json"),
			told: true, logsIn: "run /mcp in Claude Code, and choose NAME",
		},
		{
			name: "cursor", member: "mcpServers", entry: cursorEntry, remote: true, paths: everywhere("$HOME/.cursor/mcp.json"),
			told: true, logsIn: "choose NAME in the settings of Cursor, under MCP",
		},
		{name: "vscode", member: "servers", entry: typedEntry, remote: true, logsIn: "run \"MCP: List Servers\" in VS Code, and start NAME", paths: map[string]string{
			"":        "$CONFIG/Code/User/mcp.json",
			"darwin":  "$HOME/Library/Application Support/Code/User/mcp.json",
			"windows": "$APPDATA/Code/User/mcp.json",
		}},
		{name: "codex", remote: true, paths: everywhere("$HOME/.codex/config.toml"), told: true, logsIn: "run codex mcp login NAME"},
		{
			name: "gemini", member: "mcpServers", entry: geminiEntry, remote: true, paths: everywhere("$HOME/.gemini/settings.json"),
			told: true, logsIn: "run /mcp auth NAME in Gemini CLI",
		},
		{name: "zed", member: "context_servers", entry: plainEntry, remote: true, logsIn: "look at NAME in the settings of Zed", paths: map[string]string{
			"": "$HOME/.config/zed/settings.json", "windows": "$APPDATA/Zed/settings.json",
		}},
		{name: "windsurf", member: "mcpServers", entry: windsurfEntry, remote: true, logsIn: "refresh NAME in the settings of Windsurf", paths: everywhere("$HOME/.codeium/windsurf/mcp_config.json")},
	}
}

// clientEntry is a server in a client's file. It has the members of all clients. Args is nil for a
// URL. For a program, Args is written even if it is empty.
type clientEntry struct {
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

func plainEntry(r *registration) *clientEntry {
	if r.URL != "" {
		return &clientEntry{URL: r.URL, Headers: r.Header}
	}
	return &clientEntry{Command: r.Command, Args: append([]string{}, r.Args...), Env: r.Env}
}

func typedEntry(r *registration) *clientEntry {
	e := plainEntry(r)
	e.Type = "stdio"
	if e.URL != "" {
		e.Type = "http"
	}
	return e
}

// claudeEntry writes the scopes as one string.
func claudeEntry(r *registration) *clientEntry {
	e := typedEntry(r)
	if l := &r.Login; l.given() {
		e.OAuth = struct {
			ClientID string `json:"clientId,omitempty"`
			Port     int    `json:"callbackPort,omitempty"`
			Scopes   string `json:"scopes,omitempty"`
		}{l.ClientID, l.Port, strings.Join(l.Scopes, " ")}
	}
	return e
}

func cursorEntry(r *registration) *clientEntry {
	e := plainEntry(r)
	if l := &r.Login; l.given() {
		e.Auth = struct {
			ClientID string   `json:"CLIENT_ID,omitempty"`
			Scopes   []string `json:"scopes,omitempty"`
		}{l.ClientID, l.Scopes}
	}
	return e
}

func geminiEntry(r *registration) *clientEntry {
	e := plainEntry(r)
	e.URL, e.HTTPURL = "", e.URL
	if l := &r.Login; l.given() {
		e.OAuth = struct {
			Enabled  bool     `json:"enabled"`
			ClientID string   `json:"clientId,omitempty"`
			Scopes   []string `json:"scopes,omitempty"`
		}{true, l.ClientID, l.Scopes}
	}
	return e
}

func windsurfEntry(r *registration) *clientEntry {
	e := plainEntry(r)
	e.URL, e.ServerURL = "", e.URL
	return e
}

// url returns the URL of the server, or "" for a program.
func (e *clientEntry) url() string { return cmp.Or(e.URL, e.HTTPURL, e.ServerURL) }

// words returns the command line of the server, or its URL.
func (e *clientEntry) words() []string {
	if url := e.url(); url != "" {
		return []string{url}
	}
	return append([]string{e.Command}, e.Args...)
}

// toml returns the entry for Codex. JSON strings are also valid in TOML.
func (r *registration) toml() string {
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
	_, _ = fmt.Fprintf(&out, "\n[mcp_servers.%s]\n", r.Name)
	if r.URL != "" {
		_, _ = fmt.Fprintf(&out, "url = %s\n", quote(r.URL))
		if len(r.Header) > 0 {
			_, _ = fmt.Fprintf(&out, "http_headers = %s\n", table(r.Header))
		}
		if len(r.Login.Scopes) > 0 {
			_, _ = fmt.Fprintf(&out, "scopes = %s\n", quote(r.Login.Scopes))
		}
		if r.Login.ClientID != "" {
			_, _ = fmt.Fprintf(&out, "oauth = { client_id = %s }\n", quote(r.Login.ClientID))
		}
		return out.String()
	}
	_, _ = fmt.Fprintf(&out, "command = %s\nargs = %s\n", quote(r.Command), quote(append([]string{}, r.Args...)))
	if len(r.Env) > 0 {
		_, _ = fmt.Fprintf(&out, "env = %s\n", table(r.Env))
	}
	return out.String()
}

// directories are the directories of a user, and the operating system.
type directories struct{ home, config, appData, os string }

func userDirectories() (directories, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return directories{}, err
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	appData := os.Getenv("APPDATA")
	if appData == "" {
		appData = filepath.Join(home, "AppData", "Roaming")
	}
	return directories{home, config, appData, runtime.GOOS}, nil
}

// file returns the path of a client's configuration file.
func (d directories) file(c *clientProgram) string {
	path, ok := c.paths[d.os]
	if !ok {
		path = c.paths[""]
	}
	for name, dir := range map[string]string{"$HOME": d.home, "$CONFIG": d.config, "$APPDATA": d.appData} {
		if rest, ok := strings.CutPrefix(path, name+"/"); ok {
			return filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	return path
}

// clientNamed returns the client with this name, or an error that lists all clients.
func clientNamed(name string) (*clientProgram, error) {
	var names []string
	for _, c := range clientPrograms() {
		if c.name == name {
			return &c, nil
		}
		names = append(names, c.name)
	}
	if name == "" {
		return nil, usagef("want --client with one of %s", strings.Join(names, ", "))
	}
	return nil, usagef("--client %s: want one of %s", name, strings.Join(names, ", "))
}
