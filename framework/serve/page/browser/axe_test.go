package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// axe is the source of axe-core, installed as the lock file says.
var axe = sync.OnceValues(func() (string, error) {
	path := filepath.Join("node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(path); err != nil {
		ci := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
		if out, err := ci.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm ci: %w\n%s", err, out)
		}
	}
	source, err := os.ReadFile(path)
	return string(source), err
})

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
			b := newTab(t)
			o := weatherOptions(t)
			if !s.weather {
				o = specimen(t)
			}
			b.open(serve(t, o))
			b.sees(".cat", "Tool")
			s.reach(b)
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
