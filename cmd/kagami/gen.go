package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/docgen"
)

func (a *cli) genCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "gen [DIR…]", Short: "Generate descriptions and enums from doc comments",
		Long: `Generate descriptions and enums from the doc comments of Go packages. The default is the
package in the current directory. Each package gets a file ` + docgen.File + `. To run this with
"go generate", add this line to a file of the package:

  //go:generate kagami gen

The comment of a function describes the tool, resource or prompt that is made from it. The
comment of a struct field describes the argument or the member. Describe and the tag doc
have precedence.

A string or integer type with two or more constants gets a method Values. The type's schema
then lists the constants with their comments. There are three exceptions: the type already
has a method Values, its constants are flags (1 << iota), or its doc comment has the line
//kagami:open.

A name at the start of a comment is removed: "AddNote adds a note." becomes "Adds a note."`,
		Example: `  kagami gen
  kagami gen --check ./orders ./stock`,
		RunE: func(_ *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				dirs = []string{"."}
			}
			for _, dir := range dirs {
				if err := a.gen(dir, check); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and exit with 1 if a file is stale")
	return cmd
}

// gen updates the generated file of a package. If check is set, it only reports whether the file is
// stale.
func (a *cli) gen(dir string, check bool) error {
	p, err := docgen.Read(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, docgen.File)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old = bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")) // Git for Windows may have changed the line endings
	if len(old) > 0 && !bytes.HasPrefix(old, []byte(docgen.Header)) {
		return fmt.Errorf("%s was not written by kagami gen: rename the file", path)
	}
	var source []byte // nil if there is nothing to describe
	if !p.Empty() {
		if source, err = p.Source(); err != nil {
			return err
		}
	}
	switch {
	case bytes.Equal(old, source):
		if p.Empty() {
			a.say("%s: there is nothing to describe", dir)
		}
		return nil
	case check:
		return fmt.Errorf("%s is stale: run kagami gen %s", path, dir)
	case p.Empty():
		a.say("removed %s: there is nothing left to describe", path)
		return os.Remove(path)
	}
	a.say("wrote %s: descriptions %d, enums %d", path, len(p.Docs), len(p.Enums))
	return os.WriteFile(path, source, 0o644)
}
