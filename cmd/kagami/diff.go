package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// changedError is the error of a diff with changes that --allow does not permit. The changes are
// already printed.
type changedError struct{ level contract.Level }

func (e *changedError) Error() string { return "the server's API has changed: " + e.level.String() }

func (a *cli) diffCommand() *cobra.Command {
	allow := "same"
	cmd := &cobra.Command{
		Use: "diff OLD NEW", Short: "Compare two versions of a server's API",
		Long: `Compare two versions of a server's API. Each change is breaking, additive or text only for
clients that know the old API.

OLD and NEW are files of "kagami lock" or servers: a Go package, a program or a URL. A
whole command line after "--", or in --cmd, is NEW.

A change is additive if a tool accepts more than before, or promises more about its results.
The opposite breaks clients. The comparison understands JSON Schema; see the documentation
of framework/serve/surface/contract.

The exit code is 0 if nothing has changed, or if --allow permits all changes. Otherwise it
is 6.`,
		Example: `  kagami diff mcp.lock ./examples/weather                   # is the lock file up to date?
  kagami diff mcp.lock ./examples/weather --allow additive  # does anything break?
  kagami diff old.lock new.lock --json
  kagami diff mcp.lock -- node server.js`,
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := levelOf(allow)
			if err != nil {
				return err
			}
			changes, err := a.changes(cmd, args)
			if err != nil {
				return err
			}
			if err := a.printChanges(changes); err != nil {
				return err
			}
			if worst := contract.Worst(changes); worst > level {
				return &changedError{worst}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&allow, "allow", allow, "permit changes up to this `LEVEL`: text, additive or breaking")
	completesFlag(cmd, "allow", "text", "additive", "breaking")
	a.completes(cmd, nil)
	return cmd
}

func levelOf(name string) (contract.Level, error) {
	for level := contract.Same; level <= contract.Breaking; level++ {
		if level.String() == name {
			return level, nil
		}
	}
	return contract.Same, usagef("--allow: got %q, want text, additive or breaking", name)
}

// changes returns the changes from the first side to the second.
func (a *cli) changes(cmd *cobra.Command, args []string) ([]contract.Change, error) {
	sides, err := a.sides(cmd, args)
	if err != nil {
		return nil, err
	}
	before, err := a.side(cmd.Context(), sides[0])
	if err != nil {
		return nil, err
	}
	after, err := a.side(cmd.Context(), sides[1])
	if err != nil {
		return nil, err
	}
	return contract.Diff(before, after), nil
}

// sides returns the words of the two sides to compare. The words after "--", or in --cmd, are the
// second side.
func (a *cli) sides(cmd *cobra.Command, args []string) ([2][]string, error) {
	if cmd.ArgsLenAtDash() >= 0 || a.commandLine != "" {
		server, rest, err := a.arguments(cmd, args, "OLD")
		if err != nil {
			return [2][]string{}, err
		}
		return [2][]string{rest, server}, nil
	}
	if len(args) != 2 {
		return [2][]string{}, usagef("want OLD and NEW: lock files or servers")
	}
	return [2][]string{args[:1], args[1:]}, nil
}

// side returns the content of a lock file, or what a server offers.
func (a *cli) side(ctx context.Context, words []string) (*contract.Lock, error) {
	if len(words) == 1 && !isURL(words[0]) {
		l, err := lockFile(words[0])
		if l != nil || err != nil {
			return l, err
		}
		headers, environment, dir := a.headers, a.serverEnv, a.serverDir
		defer func() { a.headers, a.serverEnv, a.serverDir = headers, environment, dir }() // what a name adds is for this side only
		if words, err = a.lookUp(words[0]); err != nil {
			return nil, err
		}
	}
	return a.lockOf(ctx, words)
}

// lockFile returns the content of a lock file, which may be a pipe. If the file does not exist or is something
// else, such as a program, it returns nil. A missing file with a name that ends in .lock is an error.
func lockFile(path string) (*contract.Lock, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		if strings.HasSuffix(path, ".lock") && errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, nil //nolint:nilnil // see above
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) {
		return nil, fmt.Errorf("%s is in UTF-16, probably from > in Windows PowerShell: use lock --output", path)
	}
	raw = jsontext.TrimBOM(raw)
	if !contract.IsLock(raw) && info.Mode().IsRegular() && !strings.HasSuffix(path, ".lock") {
		return nil, nil //nolint:nilnil // see above
	}
	l, err := contract.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// printChanges prints one line for each change. With --json it prints a list.
func (a *cli) printChanges(changes []contract.Change) error {
	if a.json {
		type change struct {
			Level string `json:"level"`
			Where string `json:"where"`
			What  string `json:"what"`
		}
		list := make([]change, len(changes))
		for i, c := range changes {
			list[i] = change{c.Level.String(), c.Where, c.What}
		}
		return writeJSON(a.out, list)
	}
	for _, c := range changes {
		if _, err := fmt.Fprintln(a.out, onOneLine(c.String())); err != nil { // changedError means that the changes are printed
			return err
		}
	}
	return nil
}
