package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
			return a.clients()
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

func (a *cli) clients() error {
	dirs, err := userDirectories()
	if err != nil {
		return err
	}
	all := []configuredServer{}
	for _, c := range clientPrograms() {
		all = append(all, dirs.configured(&c)...)
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.out, "No client on this machine knows a server.")
		return err
	}
	for _, one := range all {
		line := fmt.Sprintf("%-15s %-20s %s", one.Client, onOneLine(one.Name), onOneLine(one.Runs))
		if one.Problem != "" {
			line += "  (" + one.Problem + ")"
		}
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
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

// judged says what an entry runs, and why it cannot.
func judged(entry json.RawMessage) (runs, problem string) {
	var e struct {
		Command   string
		Args      []string
		URL       string
		HTTPURL   string `json:"httpUrl"`
		ServerURL string `json:"serverUrl"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return "", "the entry is of another shape"
	}
	for _, url := range []string{e.URL, e.HTTPURL, e.ServerURL} {
		if url != "" {
			return url, ""
		}
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
	return strings.Join(append([]string{e.Command}, e.Args...), " "), problem
}
