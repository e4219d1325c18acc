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

// show prints what was measured, and writes all sections and the pictures into the page
// below out, if there is one.
func show(r results, out string, to io.Writer) error {
	for _, s := range append(r.sections(), machine()) {
		text := s.measured()
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(to, "## %s\n\n%s\n", s.name, text); err != nil {
			return err
		}
	}
	if out == "" {
		return nil
	}
	text, err := r.page(out)
	if err != nil {
		return err
	}
	if err := os.WriteFile(pathOf(out), []byte(text), 0o644); err != nil { //nolint:gosec // a page for everybody
		return err
	}
	return r.draw(filepath.Join(out, "performance"))
}

// measured is the section without goals that were not measured; empty if nothing was.
func (s section) measured() string {
	if strings.Contains(s.text, notMeasured) {
		return ""
	}
	var b strings.Builder
	figures := s.name != "goals"
	for line := range strings.Lines(s.text) {
		if strings.HasSuffix(line, "| "+unknown+" |\n") {
			continue
		}
		figures = figures || strings.Contains(line, "≤")
		b.WriteString(line)
	}
	if !figures {
		return ""
	}
	return b.String()
}

func pathOf(dir string) string { return filepath.Join(dir, "performance.md") }

// page is the page in a directory with the sections of r.
func (r results) page(dir string) (string, error) {
	page, err := os.ReadFile(pathOf(dir))
	if err != nil {
		return "", err
	}
	text := string(page)
	for _, s := range append(r.sections(), machine()) {
		if text, err = replace(text, s); err != nil {
			return "", fmt.Errorf("%s: %w", pathOf(dir), err)
		}
	}
	return text, nil
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
func machine() section {
	return section{"machine", fmt.Sprintf("Measured on %d cores, shared by the server and the load generator, with %s on %s/%s.\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}
