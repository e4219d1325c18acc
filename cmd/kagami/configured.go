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

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

func (a *cli) clientsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clients",
		Short: "Show the servers in the configurations of clients on this machine",
		Long:  "Show the servers in the configurations of the clients on this machine, and which of them cannot be started.",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			dirs, err := userDirectories()
			if err != nil {
				return err
			}
			return a.listServers(dirs, clients.All())
		},
	}
}

// projectFiles returns the configuration files of a project, relative to the working directory.
func projectFiles() []clients.Program {
	var all []clients.Program
	for _, path := range []string{"mcp.json", ".mcp.json", ".cursor/mcp.json"} {
		all = append(all, clients.Program{Name: path, Member: "mcpServers", Paths: map[string]string{"": path}})
	}
	return append(all, clients.Program{Name: ".vscode/mcp.json", Member: "servers", Paths: map[string]string{"": ".vscode/mcp.json"}})
}

func (a *cli) discoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discover",
		Short: "List the servers that have a name on this machine",
		Long: `List the servers that have a name on this machine. Names come from the configurations of
clients, and from mcp.json, .mcp.json, .cursor/mcp.json and .vscode/mcp.json in the current
directory. Every command accepts such a name as SERVER.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.listServers(namedFiles()) },
	}
}

// configuredServer is a server in the configuration of a client, or a problem with the file.
type configuredServer struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Name    string `json:"name,omitempty"`
	Runs    string `json:"runs,omitempty"` // the command line, or the URL
	Problem string `json:"problem,omitempty"`
}

// configured returns the servers in the configuration of one client.
func (d directories) configured(c *clients.Program) []configuredServer {
	file, err := d.open(c)
	if err != nil {
		return []configuredServer{{Client: c.Name, File: d.file(c), Problem: err.Error()}}
	}
	servers, err := file.servers()
	if err != nil {
		return []configuredServer{{Client: c.Name, File: file.path, Problem: err.Error()}}
	}
	var found []configuredServer
	for name, entry := range servers {
		one := configuredServer{Client: c.Name, File: file.path, Name: name}
		one.Runs, one.Problem = judged(entry)
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b configuredServer) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// configuredIn returns the servers in these configurations.
func configuredIn(dirs directories, files []clients.Program) []configuredServer {
	all := []configuredServer{}
	for _, c := range files {
		all = append(all, dirs.configured(&c)...)
	}
	return all
}

// judged returns what an entry runs, and why it cannot be started.
func judged(raw json.RawMessage) (runs, problem string) {
	var e namedEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return "", "the entry does not have the members of a server"
	}
	if url := e.Address(); url != "" {
		return url, ""
	}
	if e.Command == "" {
		return "", "it has no command and no URL"
	}
	runs = strings.Join(e.Words(), " ") // before resolve, because its values may be secret
	if err := e.resolve(); err != nil {
		return runs, err.Error()
	}
	words, err := e.start()
	if err != nil {
		return runs, err.Error()
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		problem = "there is no program " + words[0]
		if _, err := os.Stat(words[0]); err == nil {
			problem = words[0] + " cannot be executed"
		}
	}
	return runs, problem
}

// listServers prints the servers in these configurations.
func (a *cli) listServers(dirs directories, files []clients.Program) error {
	all := configuredIn(dirs, files)
	if a.json {
		return json.NewEncoder(a.out).Encode(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.out, "No configuration on this machine has a server.")
		return err
	}
	for _, one := range all {
		line := fmt.Sprintf("%-16s %s %s", filepath.ToSlash(one.Client), columns.FillRight(onOneLine(one.Name), 20), onOneLine(one.Runs))
		if one.Problem != "" {
			line += "  (" + one.Problem + ")"
		}
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
