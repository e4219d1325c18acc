package testkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Contract compares all components of the app with a committed lock file: tools and their schemas,
// resources, templates, prompts, capabilities, and the required scopes. Any difference fails the
// test. The failure reports the effect on clients that know the old version: breaking, additive or
// text only.
//
// The flag -testkit.update accepts the difference: the file is then written, and the changes are
// logged (see [Session.Golden]). "kagami lock" writes the same file for any server, and "kagami
// diff" compares two.
func Contract[A AppSource](t *testing.T, app A, lock string) {
	t.Helper()
	checkContract(t, app, lock)
}

func checkContract[A AppSource](t testing.TB, source A, file string) {
	t.Helper()
	app, _ := appOf(t, source)
	now := lockOf(t, app)
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && updating() {
		writeLock(t, file, now)
		return
	}
	if err != nil {
		t.Fatalf("testkit: Contract: %v %s", err, howToUpdate(t))
		return
	}
	before, err := contract.Parse(raw)
	if err != nil && updating() { // a merge conflict may have broken the file
		t.Logf("testkit: Contract: %s is written again: %v", file, err)
		writeLock(t, file, now)
		return
	}
	if err != nil {
		t.Fatalf("testkit: Contract: %s: %v %s", file, err, howToUpdate(t))
		return
	}
	changes := contract.Diff(before, now)
	switch {
	case updating():
		writeLock(t, file, now)
		if len(changes) > 0 {
			t.Logf("testkit: %s\n%s", headline(file, changes), lines(changes))
		}
	case len(changes) > 0:
		t.Errorf("testkit: %s %s\n%s", headline(file, changes), howToUpdate(t), lines(changes))
	}
}

// headline counts the changes, the worst first, because often only the first line of a test's
// output is visible.
func headline(file string, changes []contract.Change) string {
	n := map[contract.Level]int{}
	for _, c := range changes {
		n[c.Level]++
	}
	var parts []string
	for _, level := range []contract.Level{contract.Breaking, contract.Additive, contract.Text} {
		if n[level] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[level], level))
		}
	}
	return fmt.Sprintf("the surface is not what %s says: %s", file, strings.Join(parts, ", "))
}

func lines(changes []contract.Change) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = "  " + c.String()
	}
	return strings.Join(texts, "\n")
}

func writeLock(t testing.TB, file string, l *contract.Lock) {
	t.Helper()
	raw, err := l.Encode()
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, raw, 0o644))
	}
	if err != nil {
		t.Fatalf("testkit: Contract: %v", err)
	}
}

// lockOf reads the surface at the newest revision. Whether tools may be tasks is only in the
// list of tools of the newest handshake revision.
func lockOf(t testing.TB, app *framework.App) *contract.Lock {
	t.Helper()
	b := newBare(t, app)
	c := b.connect(t, newest())
	l, err := contract.Read(b.ctx, c)
	if err != nil {
		t.Fatalf("testkit: Contract: %v", err)
		return nil
	}
	if err := c.Close(); err != nil {
		t.Errorf("testkit: closing the session: %v", err)
	}
	l.SetTasks(toolsOfHandshake(t, b))
	l.Complete = true
	scopes := map[string][]string{}
	for _, c := range b.server.Inspect().Components {
		scopes[c.Kind+" "+c.Name] = c.Scopes
	}
	for noun, entries := range map[string][]contract.Entry{"tool": l.Tools, "resource": l.Resources, "template": l.Templates, "prompt": l.Prompts} {
		for i := range entries {
			entries[i].Scopes = scopes[noun+" "+entries[i].Key]
		}
	}
	return l
}

// toolsOfHandshake returns the tools as the newest handshake revision lists them.
func toolsOfHandshake(t testing.TB, b *bare) []protocol.Tool {
	t.Helper()
	c := b.connect(t, dialect.Handshake(""))
	defer func() { _ = c.Close() }()
	all, err := surface.Read(b.ctx, c, surface.Tools)
	if err != nil {
		t.Fatalf("testkit: Contract: %v", err)
		return nil
	}
	return all.Tools
}
