package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

// namedEntry is a server in a configuration, with the members that only some clients have.
type namedEntry struct {
	clients.Entry
	Dir        string            `json:"cwd"`
	TokenFrom  string            `json:"bearer_token_env_var"` // Codex
	FieldsFrom map[string]string `json:"env_http_headers"`     // Codex: variables by header field
}

// same reports whether two entries start the same program or reach the same URL in the same way.
// Members that differ between clients, such as the type, do not count.
func (e *namedEntry) same(other *namedEntry) bool {
	return slices.Equal(e.Words(), other.Words()) && maps.Equal(e.Env, other.Env) && maps.Equal(e.Headers, other.Headers) &&
		e.Dir == other.Dir && e.TokenFrom == other.TokenFrom && maps.Equal(e.FieldsFrom, other.FieldsFrom)
}

// resolve replaces references such as ${TOKEN} by values of the environment, as clients do when
// they start the server. A variable that is not set is an error.
func (e *namedEntry) resolve() error {
	var err error
	for _, at := range []*string{&e.Command, &e.URL, &e.HTTPURL, &e.ServerURL, &e.Dir} {
		if *at, err = expanded(*at); err != nil {
			return err
		}
	}
	for i, arg := range e.Args {
		text, err := expanded(arg)
		if wraps[*unsetError](err) { // it may be a script with variables of its own
			continue
		}
		if err != nil {
			return err
		}
		e.Args[i] = text
	}
	for _, values := range []map[string]string{e.Env, e.Headers} {
		for name, value := range values {
			if values[name], err = expanded(value); err != nil {
				return err
			}
		}
	}
	return e.resolveFields()
}

// resolveFields adds the header fields that take their values from variables.
func (e *namedEntry) resolveFields() error {
	if e.Headers == nil {
		e.Headers = map[string]string{}
	}
	if e.TokenFrom != "" {
		token, err := variable(e.TokenFrom)
		if err != nil {
			return err
		}
		e.Headers["Authorization"] = "Bearer " + token
	}
	for field, name := range e.FieldsFrom {
		value, err := variable(name)
		if err != nil {
			return err
		}
		e.Headers[field] = value
	}
	return nil
}

// start returns the command line for the directory where it starts, or the URL. A relative path of
// the program is relative to that directory.
func (e *namedEntry) start() ([]string, error) {
	words := e.Words()
	if e.Address() == "" && e.Dir != "" && !filepath.IsAbs(words[0]) && strings.ContainsAny(words[0], `/\`) {
		path, err := filepath.Abs(filepath.Join(e.Dir, words[0]))
		if err != nil {
			return nil, err
		}
		words[0] = path
	}
	return words, nil
}

// inEntry matches ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:NAME}, ${workspaceFolder} or ${userHome}.
var inEntry = regexp.MustCompile(`\$\{(env:|input:)?([A-Za-z_][A-Za-z0-9_-]*)(:-[^{}]*)?\}`)

// expanded returns a text of a configuration with the values of its references.
func expanded(text string) (string, error) {
	var failed error
	text = inEntry.ReplaceAllStringFunc(text, func(whole string) string {
		parts := inEntry.FindStringSubmatch(whole)
		value, err := referred(parts[1], parts[2], parts[3])
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	return text, failed
}

// referred returns the value of one reference. fallback is "" or begins with ":-".
func referred(kind, name, fallback string) (string, error) {
	switch {
	case kind == "input:":
		return "", fmt.Errorf("the client asks its user for the input %s: use --header, or the command line with its environment", name)
	case kind == "" && name == "workspaceFolder":
		return os.Getwd()
	case kind == "" && name == "workspaceFolderBasename":
		dir, err := os.Getwd()
		return filepath.Base(dir), err
	case kind == "" && name == "pathSeparator":
		return string(filepath.Separator), nil
	case kind == "" && name == "userHome":
		return os.UserHomeDir()
	}
	value, err := variable(name)
	if value == "" && fallback != "" {
		return strings.TrimPrefix(fallback, ":-"), nil
	}
	return value, err
}

// unsetError is the error of an environment variable that is not set.
type unsetError struct{ name string }

func (e *unsetError) Error() string { return "the environment variable " + e.name + " is not set" }

// variable returns the value of an environment variable, or an error if it is not set.
func variable(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", &unsetError{name}
	}
	return value, nil
}

// entryOf returns the entry in a configuration. ok is false if it has no command and no URL.
func entryOf(raw json.RawMessage) (e namedEntry, ok bool) {
	err := json.Unmarshal(raw, &e)
	return e, err == nil && e.Words()[0] != ""
}
