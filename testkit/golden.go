package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// updateFlag cannot be called "update": many test packages have a flag of that name, and
// defining it twice panics at start.
var updateFlag = flag.Bool("testkit.update", false, "write the golden and lock files of testkit; a flag -update of the test package does the same")

// updating reports whether files are to be written instead of compared.
func updating() bool {
	if *updateFlag {
		return true
	}
	own := flag.Lookup("update")
	if own == nil {
		return false
	}
	getter, ok := own.Value.(flag.Getter)
	if !ok {
		return own.Value.String() == "true"
	}
	on, _ := getter.Get().(bool)
	return on
}

// howToUpdate returns the end of a message about a file: the command that writes it.
func howToUpdate(t testing.TB) string {
	top, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("(go test -run '^%s$' -testkit.update writes it)", top)
}

// Golden compares a list with testdata/<name>.golden.json. The end of the name selects the list:
// "tools", "resources", "templates" or "prompts". For example, "shop/tools" is the list of tools in
// testdata/shop/tools.golden.json.
//
// The file has all pages as they are on the wire of the newest revision, indented. If the list of
// an older revision differs, the revision has a file of its own, such as
// testdata/tools.2025-03-26.golden.json. If it does not differ, there is no such file.
//
// With the flag -testkit.update, the files are written instead. The same applies if the test
// package has a flag -update of its own that is set. A difference does not end the test.
func (s *Session) Golden(name string) {
	s.t.Helper()
	kind, ok := listKinds()[path.Base(name)]
	if !ok {
		s.t.Fatalf("testkit: Golden(%q): the name must end with tools, resources, templates or prompts", name)
		return
	}
	base := filepath.Join("testdata", filepath.FromSlash(name)+".golden.json")
	own := strings.TrimSuffix(base, "golden.json") + s.config.dialect.String() + ".golden.json"
	got := s.listed(kind)
	if updating() {
		s.writeGolden(kind, base, own, got)
		return
	}
	file := own
	want, err := os.ReadFile(own)
	if errors.Is(err, fs.ErrNotExist) {
		file = base
		want, err = os.ReadFile(base)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")) // git may have converted the file
	switch {
	case err != nil:
		s.t.Errorf("testkit: Golden(%q) at %s: %v %s", name, s.config.dialect, err, howToUpdate(s.t))
	case !bytes.Equal(want, got):
		s.t.Errorf("testkit: %s at %s is not what %s says %s\n%s",
			kind.Method(), s.config.dialect, file, howToUpdate(s.t), difference(string(want), string(got)))
	}
}

func listKinds() map[string]protocol.ListKind {
	return map[string]protocol.ListKind{
		"tools": protocol.ListTools, "resources": protocol.ListResources,
		"templates": protocol.ListTemplates, "prompts": protocol.ListPrompts,
	}
}

// writeGolden writes the files. It also writes the file of the newest revision, so that the order
// of the tested revisions does not matter.
func (s *Session) writeGolden(kind protocol.ListKind, base, own string, got []byte) {
	s.t.Helper()
	common := got
	if s.config.dialect != newest() {
		c := s.config
		c.dialect = newest()
		common = open(s.t, s.testServer, c).listed(kind)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(base), 0o755), os.WriteFile(base, common, 0o644))
	if bytes.Equal(got, common) {
		if gone := os.Remove(own); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	} else {
		err = errors.Join(err, os.WriteFile(own, got, 0o644))
	}
	if err != nil {
		s.t.Fatalf("testkit: writing a golden file: %v", err)
	}
}

// listed returns all pages of a list as they came, indented.
func (s *Session) listed(kind protocol.ListKind) []byte {
	s.t.Helper()
	all := []byte("[")
	params := json.RawMessage("{}")
	for {
		page := s.ask(kind.Method(), params).OK()
		items, _ := jsontext.Member(page.raw, member(kind))
		for item := range jsontext.Elements(items) {
			if len(all) > 1 {
				all = append(all, ',')
			}
			all = append(all, item...)
		}
		cursor, more := jsontext.Member(page.raw, "nextCursor")
		if !more {
			break
		}
		params = append(appendMember([]byte("{"), "cursor", cursor), '}')
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, append(all, ']'), "", "  "); err != nil {
		s.t.Fatalf("testkit: %s: %v", kind.Method(), err)
	}
	pretty.WriteByte('\n')
	return pretty.Bytes()
}

// member returns the name of the member of a list's result that holds the items.
func member(kind protocol.ListKind) string {
	switch kind {
	case protocol.ListTools:
		return "tools"
	case protocol.ListTemplates:
		return "resourceTemplates"
	case protocol.ListPrompts:
		return "prompts"
	default:
		return "resources"
	}
}

// Bounds of a difference in a message.
const (
	shownAround = 3
	shownLines  = 40
)

// difference shows the lines from the first to the last that differ.
func difference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "line %d:\n", head+1)
	write := func(mark string, lines []string) {
		for i, line := range lines {
			if i == shownLines {
				fmt.Fprintf(&out, "%s(%d more lines)\n", mark, len(lines)-i)
				return
			}
			out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	write("  ", a[max(0, head-shownAround):head])
	write("- ", a[head:len(a)-tail])
	write("+ ", b[head:len(b)-tail])
	write("  ", a[len(a)-tail:min(len(a), len(a)-tail+shownAround)])
	return strings.TrimRight(out.String(), " \n")
}

// dialectOfName finds a published revision by its date.
func dialectOfName(revision string) (*dialect.Dialect, bool) {
	rev, ok := protocol.ParseRevision(revision)
	if !ok {
		return nil, false
	}
	return dialect.Of(rev), true
}
