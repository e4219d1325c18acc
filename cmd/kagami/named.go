package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// namedServer is a server that was found by name, and the configuration file that has it.
type namedServer struct {
	file  string
	entry namedEntry
}

// lookUp replaces the name of a server by the command line or URL in a configuration. It leaves
// paths, programs and URLs unchanged. It also adds the environment and the working directory of the entry,
// and the header fields that --header does not set.
func (a *cli) lookUp(name string) ([]string, error) {
	_, noFile := os.Stat(name)
	_, noProgram := lookPath(inPlace(name))
	if isURL(name) || noFile == nil || noProgram == nil {
		return []string{name}, nil
	}
	found := serversNamed(name)
	if len(found) == 0 {
		return []string{name}, nil
	}
	first := &found[0]
	for _, other := range found[1:] {
		if !first.entry.same(&other.entry) {
			return nil, usagef("%q names different servers. Give one of them in place of the name:%s", name, candidates(found))
		}
	}
	own, err := a.fields()
	if err != nil {
		return nil, err
	}
	if a.literal && (first.entry.TokenFrom != "" || len(first.entry.FieldsFrom) > 0) {
		return nil, usagef("%s has header fields from variables, which only Codex knows: give its URL with --header", name)
	}
	if !a.literal {
		if err := first.entry.resolve(); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, first.file, err)
		}
	}
	a.serverName, a.serverDir = name, first.entry.Dir
	for variable, value := range first.entry.Env {
		a.serverEnv = append(a.serverEnv, variable+"="+value)
	}
	for _, field := range slices.Sorted(maps.Keys(first.entry.Headers)) { // the cache of listings depends on the order
		if own.Values(field) != nil {
			continue // --header has precedence
		}
		a.headers = append(a.headers, field+": "+first.entry.Headers[field])
	}
	return first.entry.start()
}

// candidates lists how to give each of the servers, without duplicates, and which file has it.
func candidates(found []namedServer) string {
	var text strings.Builder
	for i, one := range found {
		if slices.ContainsFunc(found[:i], func(before namedServer) bool { return before.entry.same(&one.entry) }) {
			continue
		}
		give := one.entry.Words()[0]
		if words := one.entry.Words(); len(words) == 1 && !isURL(give) {
			give = shellWord(give, runtime.GOOS)
		} else if len(words) > 1 {
			give = "--cmd " + shellWord(shellLine(words, "unix"), runtime.GOOS) // --cmd has the quotes of Unix everywhere
		}
		also := ""
		switch {
		case len(one.entry.Env) > 0:
			also = ", with its environment"
		case len(one.entry.Headers) > 0:
			also = ", with its header fields"
		}
		fmt.Fprintf(&text, "\n  %s  (in %s%s)", onTerminal(give), one.file, also)
	}
	return text.String()
}

// serversNamed finds a name in all configurations. It skips files that cannot be read; the command
// clients reports them.
func serversNamed(name string) []namedServer {
	var found []namedServer
	dirs, files := namedFiles()
	for _, c := range files {
		file, err := dirs.open(&c)
		if err != nil {
			continue
		}
		servers, err := file.servers()
		if err != nil || servers[name] == nil {
			continue
		}
		if entry, ok := entryOf(servers[name]); ok {
			found = append(found, namedServer{file.path, entry})
		}
	}
	return found
}

// nearServers returns a question that suggests similar names of servers in configurations, or "".
// It also reports a file that cannot be read, and an entry of this name that is not a server.
func nearServers(name string) string {
	var names []string
	var broken strings.Builder
	for _, one := range configuredIn(namedFiles()) {
		switch {
		case one.Name == "":
			broken.WriteString("\n" + one.Problem)
		case one.Name == name && one.Problem != "":
			fmt.Fprintf(&broken, "\n%s in %s: %s", name, one.File, one.Problem)
		}
		if one.Runs != "" && !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	near := nearest(name, names)
	if len(near) == 0 {
		return broken.String()
	}
	return broken.String() + "\ndid you mean " + strings.Join(near, " or ") + "?"
}
