package page_test

import (
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestCopies: whatever a call's arguments hold, its copies are Go that parses, and commands that a
// shell reads as they are meant.
func TestCopies(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t, asking()), Where: "./my server"})
	for _, item := range []string{`tea`, `it's`, "a`b", `$(touch x)`, `\"quoted\"`, `tab\tand\nline`, `\u201d`, `%s%d`} {
		id := b.start(`{"method":"tools/call","name":"order","arguments":{"item":"` + item + `"}}`)
		b.ask(http.MethodPost, "/api/questions/"+b.question().ID, `{"action":"accept","content":{"sure":true}}`, nil)
		b.end(id)
		copied := func(as string) string {
			a := b.do(http.MethodGet, "/api/calls/"+id+"/copy/"+as, "", nil)
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", as, a.status, a.body)
			}
			return a.body
		}
		for as, frame := range map[string]string{"test": "package x\nimport \"testing\"\n%", "client": "package x\nfunc f() error {\n%\nreturn nil }"} {
			text := strings.Replace(frame, "%", copied(as), 1)
			if _, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0); err != nil {
				t.Errorf("%s of %s: %v\n%s", as, item, err, text)
			}
		}
		for _, as := range []string{"shell", "curl"} {
			// The command is replaced by one that shows its arguments, one a line.
			text := copied(as)
			note, command, commented := strings.Cut(text, "\ncurl ")
			if !commented {
				_, command, _ = strings.Cut(text, " ")
			}
			if as == "curl" && !strings.HasPrefix(note, "# This server is on stdio.") { // it has no address yet
				t.Errorf("curl of a server on stdio: %s", text)
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+command).CombinedOutput()
			if err != nil || !strings.Contains(string(out), `{"item":"`+item) {
				t.Errorf("%s of %s: %v\n%s\n%s", as, item, err, text, out)
			}
		}
	}
	if status := b.do(http.MethodGet, "/api/calls/none/copy/shell", "", nil).status; status != http.StatusNotFound {
		t.Errorf("the copy of no call: %d", status)
	}
}

// TestCopiedTestRuns: the copy of a call as a Go test passes, and fails when the answer is another.
func TestCopiedTestRuns(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	b := opened(t, page.Options{Host: host(t)})
	id := b.start(`{"method":"tools/call","name":"add","arguments":{"a":2,"b":40}}`)
	b.end(id)
	copied := b.do(http.MethodGet, "/api/calls/"+id+"/copy/test", "", nil).body
	dir := t.TempDir()
	_, rest, _ := strings.Cut(string(module), "\n")
	for name, text := range map[string]string{
		"go.mod": "module calc\n" + rest + "\nrequire github.com/kagami-mcp/kagami v0.0.0\nreplace github.com/kagami-mcp/kagami => " + root + "\n",
		"go.sum": string(sums),
		"calc_test.go": `package calc

import (
	"context"
	"os"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

type in struct {
	A int64 ` + "`json:\"a\"`" + `
	B int64 ` + "`json:\"b\"`" + `
}

type out struct { Sum int64 ` + "`json:\"sum\"`" + ` }

func add(_ context.Context, i in) (out, error) { return out{i.A + i.B + int64(len(os.Getenv("MORE")))}, nil }

var app = framework.New("calc", "1.0").Add(framework.Tool("add", add))

` + copied,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for more, passes := range map[string]bool{"": true, "x": false} {
		run := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "./...")
		run.Dir = dir
		run.Env = append(os.Environ(), "MORE="+more, "GOFLAGS=", "GOPROXY=off")
		out, err := run.CombinedOutput()
		if passes != (err == nil) || !passes && !strings.Contains(string(out), "want ") {
			t.Errorf("passes: %t, %v\n%s", passes, err, out)
		}
	}
}
