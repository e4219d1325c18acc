package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

// directories are the directories of a user, and the operating system.
type directories struct {
	home, config, appData, os string
	moved                     map[string]string // directory of a client that the user has moved, by the client's name
}

// userDirectories returns the directories of the user. Without a home directory, as in some services, it returns
// an error.
func userDirectories() (directories, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return directories{}, err
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) { // the XDG specification ignores relative paths
		config = filepath.Join(home, ".config")
	}
	appData := os.Getenv("APPDATA")
	if !filepath.IsAbs(appData) {
		appData = filepath.Join(home, "AppData", "Roaming")
	}
	moved := map[string]string{"codex": os.Getenv("CODEX_HOME"), "claude-code": os.Getenv("CLAUDE_CONFIG_DIR")}
	if runtime.GOOS == "windows" {
		moved["claude-desktop"] = packagedClaude(cmp.Or(os.Getenv("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local")))
	}
	return directories{home, config, appData, runtime.GOOS, moved}, nil
}

// packagedClaude returns the directory with the configuration of Claude Desktop if the app was installed
// as a Windows package, and "" otherwise. local is the user's directory for data of this machine.
func packagedClaude(local string) string {
	found, err := filepath.Glob(filepath.Join(local, "Packages", "Claude_*", "LocalCache", "Roaming", "Claude"))
	if err != nil || len(found) != 1 {
		return ""
	}
	return found[0]
}

// namedFiles returns the configurations that give names to servers: the files of the project, and the files of
// clients if the user has a home directory.
func namedFiles() (directories, []clients.Program) {
	dirs, err := userDirectories()
	if err != nil {
		return dirs, projectFiles()
	}
	return dirs, slices.Concat(projectFiles(), clients.All())
}

// file returns the path of a client's configuration file.
func (d directories) file(c *clients.Program) string {
	path := c.Path(d.os)
	if dir := d.moved[c.Name]; dir != "" {
		return filepath.Join(dir, filepath.Base(path))
	}
	for name, dir := range map[string]string{"$HOME": d.home, "$CONFIG": d.config, "$APPDATA": d.appData} {
		if rest, ok := strings.CutPrefix(path, name+"/"); ok {
			return filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	return path
}

// clientNames returns the names of all clients.
func clientNames() []string {
	var names []string
	for _, c := range clients.All() {
		names = append(names, c.Name)
	}
	return names
}

// clientNamed returns the client with this name, or an error that lists all clients.
func clientNamed(name string) (*clients.Program, error) {
	for _, c := range clients.All() {
		if c.Name == name {
			return &c, nil
		}
	}
	known := strings.Join(clientNames(), ", ")
	if name == "" {
		return nil, usagef("want --client with one of %s", known)
	}
	return nil, usagef("--client %s: want one of %s", name, known)
}
