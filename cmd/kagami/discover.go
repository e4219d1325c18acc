package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// projectFiles are configurations of a project, below the working directory.
func projectFiles() []clientProgram {
	var all []clientProgram
	for _, path := range []string{"mcp.json", ".mcp.json", ".cursor/mcp.json"} {
		all = append(all, clientProgram{name: path, member: "mcpServers", paths: map[string]string{"": path}})
	}
	return append(all, clientProgram{name: ".vscode/mcp.json", member: "servers", paths: map[string]string{"": ".vscode/mcp.json"}})
}

func (a *cli) discoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discover",
		Short: "List the servers that have a name on this machine",
		Long: `List the servers that have a name on this machine: in the configuration of a client, or in
mcp.json, .mcp.json, .cursor/mcp.json or .vscode/mcp.json here. Each command takes such a
name as SERVER.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q", args[0])
			}
			return a.configured(slices.Concat(projectFiles(), clientPrograms()))
		},
	}
}

// namedServer is a server that a configuration has under the name.
type namedServer struct {
	file  string
	entry namedEntry
}

// namedEntry are the members that the entries of all clients have.
type namedEntry struct {
	Command   string
	Args      []string
	Env       map[string]string
	URL       string
	HTTPURL   string `json:"httpUrl"`
	ServerURL string `json:"serverUrl"`
	Headers   map[string]string
}

func (e *namedEntry) url() string {
	for _, url := range []string{e.URL, e.HTTPURL, e.ServerURL} {
		if url != "" {
			return url
		}
	}
	return ""
}

// words are the command line of the server, or its URL.
func (e *namedEntry) words() []string {
	if url := e.url(); url != "" {
		return []string{url}
	}
	return append([]string{e.Command}, e.Args...)
}

// lookUp replaces the name of a server by what a configuration has under it. Paths, programs and
// URLs are no names.
func (a *cli) lookUp(server []string) ([]string, error) {
	if len(server) != 1 || !goodName.MatchString(server[0]) {
		return server, nil
	}
	if _, err := os.Stat(server[0]); err == nil {
		return server, nil
	}
	if _, err := exec.LookPath(server[0]); err == nil {
		return server, nil
	}
	found := serversNamed(server[0])
	if len(found) == 0 {
		return server, nil
	}
	first := found[0]
	for _, other := range found[1:] {
		if !slices.Equal(first.entry.words(), other.entry.words()) {
			return nil, usagef("%q is one server in %s and another in %s: give its command line or URL", server[0], first.file, other.file)
		}
	}
	for name, value := range first.entry.Env {
		a.serverEnv = append(a.serverEnv, name+"="+value)
	}
	for name, value := range first.entry.Headers {
		a.headers = append(a.headers, name+": "+value)
	}
	return first.entry.words(), nil
}

// serversNamed finds a name in all configurations. Files that cannot be read have none: clients
// shows what is wrong with them.
func serversNamed(name string) []namedServer {
	dirs, err := userDirectories()
	if err != nil {
		return nil
	}
	var found []namedServer
	for _, c := range slices.Concat(projectFiles(), clientPrograms()) {
		file, err := dirs.open(&c)
		if err != nil {
			continue
		}
		servers, err := file.servers()
		if err != nil || servers[name] == nil {
			continue
		}
		one := namedServer{file: file.path}
		if json.Unmarshal(servers[name], &one.entry) == nil && one.entry.words()[0] != "" {
			found = append(found, one)
		}
	}
	return found
}

// judged says what an entry runs, and why it cannot.
func judged(raw json.RawMessage) (runs, problem string) {
	var e namedEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return "", "the entry is of another shape"
	}
	if url := e.url(); url != "" {
		return url, ""
	}
	if e.Command == "" {
		return "", "it has neither a command nor a URL"
	}
	if _, err := exec.LookPath(e.Command); err != nil {
		problem = "there is no program " + e.Command
		if _, err := os.Stat(e.Command); err == nil {
			problem = e.Command + " cannot be executed"
		}
	}
	return strings.Join(e.words(), " "), problem
}

// configured prints the servers in these configurations.
func (a *cli) configured(files []clientProgram) error {
	dirs, err := userDirectories()
	if err != nil {
		return err
	}
	all := []configuredServer{}
	for _, c := range files {
		all = append(all, dirs.configured(&c)...)
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.out, "No configuration on this machine has a server.")
		return err
	}
	for _, one := range all {
		line := fmt.Sprintf("%-16s %-20s %s", filepath.ToSlash(one.Client), onOneLine(one.Name), onOneLine(one.Runs))
		if one.Problem != "" {
			line += "  (" + one.Problem + ")"
		}
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
