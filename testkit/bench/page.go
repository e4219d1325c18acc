package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Markers of a page, between which a section stands.
const (
	begins = "<!-- bench %s: written by testkit/bench, not by hand -->\n"
	ends   = "<!-- end of %s -->"
)

// show prints what was measured, and writes all sections and the pictures into the pages
// below out, if there are any.
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
	texts, err := r.pages(out)
	if err != nil {
		return err
	}
	for i, path := range pathsOf(out) {
		if err := os.WriteFile(path, []byte(texts[i]), 0o644); err != nil { //nolint:gosec // a page for everybody
			return err
		}
	}
	return r.draw(filepath.Join(out, "performance"))
}

// measured is the section without goals that were not measured; empty if nothing was. The goals
// that are missed are empty, because the section of all goals has them.
func (s section) measured() string {
	if s.name == sectionMissed || strings.Contains(s.text, notMeasured) {
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

// pathsOf returns the pages in a directory: the results, and the notes with the other tables.
func pathsOf(dir string) []string {
	return []string{filepath.Join(dir, "performance.md"), filepath.Join(dir, "performance", "notes.md")}
}

// pages returns the text of each page in a directory, with the sections of r. Each section is in
// one of the pages.
func (r results) pages(dir string) ([]string, error) {
	paths := pathsOf(dir)
	texts := make([]string, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	for _, s := range append(r.sections(), machine()) {
		i := max(0, slices.IndexFunc(texts, func(text string) bool {
			return strings.Contains(text, fmt.Sprintf(begins, s.name))
		}))
		text, err := replace(texts[i], s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i], err)
		}
		texts[i] = text
	}
	return texts, nil
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
