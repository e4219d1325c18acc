package page_test

import (
	"go/parser"
	"go/token"
	"net/http"
	"os/exec"
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
			_, arguments, _ := strings.Cut(text, " ")
			out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+arguments).CombinedOutput()
			if err != nil || !strings.Contains(string(out), `{"item":"`+item) {
				t.Errorf("%s of %s: %v\n%s\n%s", as, item, err, text, out)
			}
		}
	}
	if status := b.do(http.MethodGet, "/api/calls/none/copy/shell", "", nil).status; status != http.StatusNotFound {
		t.Errorf("the copy of no call: %d", status)
	}
}
