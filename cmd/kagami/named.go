package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"slices"
)

// namedServer is a server that a configuration has under the name.
type namedServer struct {
	file  string
	entry clientEntry
}

// lookUp replaces the name of a server by what a configuration has under it. Paths, programs and
// URLs are no names.
func (a *cli) lookUp(name string) ([]string, error) {
	_, noFile := os.Stat(name)
	_, noProgram := exec.LookPath(name)
	if !goodName.MatchString(name) || noFile == nil || noProgram == nil {
		return []string{name}, nil
	}
	found := serversNamed(name)
	if len(found) == 0 {
		return []string{name}, nil
	}
	first := found[0]
	for _, other := range found[1:] {
		if !reflect.DeepEqual(first.entry, other.entry) {
			return nil, usagef("%q is one server in %s and another in %s: give its command line or URL", name, first.file, other.file)
		}
	}
	for variable, value := range first.entry.Env {
		a.serverEnv = append(a.serverEnv, variable+"="+value)
	}
	for field, value := range first.entry.Headers {
		a.headers = append(a.headers, field+": "+value)
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
