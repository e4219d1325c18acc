package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Markers of the page, between which a section stands.
const (
	begins = "<!-- bench %s: written by testkit/bench, not by hand -->\n"
	ends   = "<!-- end of %s -->"
)

// show prints all sections that have something, and writes them and the pictures into
// the page below out, if there is one.
func show(r results, out string, to io.Writer) error {
	sections := append(r.sections(), section{"machine", machine()})
	for _, s := range sections {
		if _, err := fmt.Fprintf(to, "## %s\n\n%s\n", s.name, s.text); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	path := filepath.Join(out, "performance.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(page)
	for _, s := range sections {
		if text, err = replace(text, s); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page for everybody
		return err
	}
	return r.draw(filepath.Join(out, "performance"))
}

// replace puts a section between its markers.
func replace(page string, s section) (string, error) {
	begin, end := fmt.Sprintf(begins, s.name), fmt.Sprintf(ends, s.name)
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return "", fmt.Errorf("the marker of %s is missing: %s", s.name, begin)
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("the end of %s is missing: %s", s.name, end)
	}
	return before + begin + "\n" + strings.TrimSpace(s.text) + "\n\n" + end + after, nil
}

func (r results) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pictures for everybody
		return err
	}
	for name, picture := range r.pictures() {
		if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil { //nolint:gosec // pictures for everybody
			return err
		}
	}
	return nil
}

// machine is what the figures depend on.
func machine() string {
	return fmt.Sprintf("Measured on %d cores, shared by the server and the load generator, with %s on %s/%s.\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
