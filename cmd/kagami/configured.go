package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *cli) clientsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clients",
		Short: "Show which servers the clients on this machine know",
		Long:  "Show which servers the clients on this machine know, and which of them cannot be started.",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q", args[0])
			}
			return a.configured(clientPrograms())
		},
	}
}

// configuredServer is an entry of a client.
type configuredServer struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Name    string `json:"name,omitempty"`
	Runs    string `json:"runs,omitempty"` // the command line, or the URL
	Problem string `json:"problem,omitempty"`
}

// configured are the entries of one client. Of Codex, whose file is TOML, they are the tables.
func (d directories) configured(c *clientProgram) []configuredServer {
	file, err := d.open(c)
	if err != nil {
		return []configuredServer{{Client: c.name, File: d.file(c), Problem: err.Error()}}
	}
	if c.member == "" {
		var found []configuredServer
		for line := range strings.Lines(string(file.text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "[mcp_servers."); ok && strings.HasSuffix(name, "]") && !strings.Contains(name, ".") {
				found = append(found, configuredServer{Client: c.name, File: file.path, Name: strings.Trim(strings.TrimSuffix(name, "]"), `"`)})
			}
		}
		return found
	}
	servers, err := file.servers()
	if err != nil {
		return []configuredServer{{Client: c.name, File: file.path, Problem: err.Error()}}
	}
	var found []configuredServer
	for name, entry := range servers {
		one := configuredServer{Client: c.name, File: file.path, Name: name}
		one.Runs, one.Problem = judged(entry)
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b configuredServer) int { return strings.Compare(a.Name, b.Name) })
	return found
}
