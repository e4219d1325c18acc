// Command diagrams draws the pictures of the guides: each NAME.txt of this directory becomes
// NAME.svg, in light and dark.
//
//	go -C docs/diagrams run .          # draw all
//	go -C docs/diagrams run . -check   # fail if a picture differs from its source
//
// A source has one command per line. Positions and sizes are in pixels; the text after " | " is
// shown, and "\n" begins a new line in it. Lines that begin with # are comments.
//
//	size W H                       the picture
//	title TEXT, desc TEXT          for readers who do not see it
//	box[.STYLE] ID X Y W H | TEXT  a box; STYLE is plain, key, soft, group, frame or bar
//	arrow[.STYLE] P P ... | TEXT   a line with a head; STYLE is both, dash, line (without a head),
//	                               dash.both or dash.line
//	text[.STYLE] X Y | TEXT        words; STYLE is start, end, strong or small
//
// A point P is X,Y or the middle of a box's side: ID.n, ID.e, ID.s, ID.w, moved along that side by
// +N or -N. TEXT of an arrow stands beside its longest segment; ">" as its first character moves it
// to the other side of the line. The program refuses text that is wider than its box, and words
// that overlap other words.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a picture differs from its source")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run draws the sources in dir, or compares their pictures. It returns all faults.
func run(dir string, check bool) error {
	sources, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return fmt.Errorf("no sources in %s", dir)
	}
	var faults []error
	for _, source := range sources {
		if err := one(source, check); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", filepath.Base(source), err))
		}
	}
	return errors.Join(faults...)
}

func one(source string, check bool) error {
	text, err := os.ReadFile(source) //nolint:gosec // a file that Glob found
	if err != nil {
		return err
	}
	p, err := parse(string(text))
	if err != nil {
		return err
	}
	svg := p.svg()
	target := strings.TrimSuffix(source, ".txt") + ".svg"
	if !check {
		return os.WriteFile(target, svg, 0o644) //nolint:gosec // a public picture
	}
	old, err := os.ReadFile(target) //nolint:gosec // beside the source
	if err != nil {
		return err
	}
	if !bytes.Equal(old, svg) {
		return errors.New("its picture is not what the source gives: run go -C docs/diagrams run . and commit the result")
	}
	return nil
}
