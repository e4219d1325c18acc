package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// install makes node_modules what the lock file says.
var install = sync.OnceValue(func() error {
	ci := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	if out, err := ci.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
})

// axe is the source of axe-core.
func axe() (string, error) {
	if err := install(); err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	return string(source), err
}

// everything is the reference server of the TypeScript SDK, on stdio.
func everything(t *testing.T) page.Options {
	t.Helper()
	if err := install(); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join("node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	return page.Options{Where: "server-everything", Command: func(context.Context) (*exec.Cmd, error) { return exec.Command("node", program, "stdio"), nil }}
}

// violation is a rule of WCAG that a screen breaks, and where.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	}
}

// TestAccessible: axe-core finds nothing on any screen, in light and dark, wide and narrow.
func TestAccessible(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			b := s.open(t)
			for _, dark := range []bool{false, true} {
				for _, width := range []int64{1440, 390} {
					b.dark(dark)
					b.size(width, 900)
					b.judge(source, fmt.Sprintf("dark %v, %d px wide", dark, width))
				}
			}
		})
	}
}

func (b *tab) judge(source, state string) {
	b.t.Helper()
	found := b.eval(source + `;axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => JSON.stringify(r.violations))`)
	var all []violation
	if err := json.Unmarshal([]byte(found), &all); err != nil {
		b.t.Fatalf("axe: %v in %s", err, found)
	}
	for _, v := range all {
		var places strings.Builder
		for i, n := range v.Nodes {
			if i < 4 {
				fmt.Fprintf(&places, "\n  %.160s\n  %s", n.HTML, n.FailureSummary)
			}
		}
		b.t.Errorf("%s: %s: %s%s", state, v.ID, v.Help, places.String())
	}
}
