package browser_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// root is the directory of the main module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// module writes files into a new module that uses the main one, and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, main := t.TempDir(), root(t)
	requirements, err := os.ReadFile(filepath.Join(main, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(main, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(requirements), "\n")
	files["go.mod"] = "module copied\n" + rest + "\nrequire github.com/kagami-mcp/kagami v0.0.0\nreplace github.com/kagami-mcp/kagami => " + main + "\n"
	files["go.sum"] = string(sums)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// golang runs the go command in a directory. It never downloads modules.
func golang(dir string, env []string, args ...string) (string, error) {
	run := exec.Command("go", args...)
	run.Dir, run.Env = dir, append(append(os.Environ(), "GOPROXY=off"), env...)
	out, err := run.CombinedOutput()
	return string(out), err
}

// copied returns the texts of the sheet "Copy this call" for the call that the screen shows.
func (b *tab) copied(ways ...string) []string {
	b.t.Helper()
	b.eval("document.activeElement.blur()")
	b.keys("y")
	texts := make([]string, len(ways))
	for i, as := range ways {
		read := func() string { return b.eval("document.querySelector('[data-as=" + as + "]')?.textContent ?? ''") }
		b.until(func() bool { return read() != "" }, func() string { return "no copy as " + as })
		texts[i] = read()
	}
	return texts
}

// TestCopiesRun is story 17: the shell, curl and client copies of five calls give the result that the page shows.
func TestCopiesRun(t *testing.T) {
	type echoIn struct {
		Text string `json:"text"`
		N    int64  `json:"n,omitempty"`
	}
	o := offering(t, "copier",
		framework.Tool("echo", func(_ context.Context, in echoIn) (string, error) {
			return fmt.Sprintf("%s, %d times", in.Text, in.N), nil
		}, framework.Describe("Returns a text."), framework.ReadOnly()),
		framework.Tool("closed", func(context.Context, none) (string, error) { return "", framework.UserErrorf("the shop is closed") }, framework.Describe("Fails."), framework.ReadOnly()),
		framework.Resource("copier://note", func(context.Context) (string, error) { return "A note.", nil }, framework.Name("note"), framework.Describe("A note.")),
		framework.Prompt("review", func(_ context.Context, in struct {
			Code string `json:"code"`
		},
		) (framework.Messages, error) {
			return framework.Messages{framework.Userf("Review %s.", in.Code)}, nil
		}, framework.Describe("Reviews code.")))
	site := httptest.NewServer(nethttp.Handler(o.Host))
	t.Cleanup(site.Close)
	o.Host, o.URL, o.Where = nil, site.URL, ""
	bin := t.TempDir()
	if out, err := golang(root(t), nil, "build", "-o", bin, "./cmd/kagami"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := newTab(t)
	b.open(serve(t, o))
	b.sees(".cat", "echo")
	program := "package main\n\nimport (\n\t\"context\"\n\t\"encoding/json\"\n\t\"fmt\"\n\n\t\"github.com/kagami-mcp/kagami/protocol/client\"\n)\n\nvar _ json.RawMessage\n\n"
	calls := []struct{ place, args, want string }{
		{"tools/echo", `{"text":"it's \"tea\" for $HOME","n":9007199254740993}`, `it's "tea" for $HOME, 9007199254740993 times`},
		{"tools/echo", `{"text":"zwei\nZeilen – größer"}`, "Zeilen – größer, 0 times"},
		{"tools/closed", `{}`, "the shop is closed"},
		{"read/" + "copier%3A%2F%2Fnote", "", "A note."},
		{"prompts/review", `{"code":"a` + "`" + `b"}`, "Review a`b."},
	}
	for i, c := range calls {
		b.eval(fmt.Sprintf("location.hash = '#/%s' + (%q && '?arguments=' + encodeURIComponent(%q))", c.place, c.args, c.args))
		if c.args != "" {
			b.click("[data-call]", "")
		}
		b.sees("[aria-label='What the server says']", c.want)
		texts := b.copied("shell", "curl", "client")
		b.keys(kb.Escape)
		for _, command := range texts[:2] {
			run := exec.Command("sh", "-c", command)
			run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, _ := run.CombinedOutput() // the command of a call that fails may fail
			if plain := strings.NewReplacer(`\"`, `"`).Replace(string(out)); !strings.Contains(plain, c.want) {
				t.Errorf("want %s from\n%s\ngot %s", c.want, command, out)
			}
		}
		program += fmt.Sprintf("func call%d(ctx context.Context) error {\n%s\nfmt.Printf(\"%%+v\\n\", result)\nreturn err\n}\n\n", i, texts[2])
	}
	program += "func main() {\nfor _, call := range []func(context.Context) error{call0, call1, call2, call3, call4} {\nif err := call(context.Background()); err != nil {\nfmt.Println(err)\n}\n}\n}\n"
	out, err := golang(module(t, map[string]string{"main.go": program}), nil, "run", "-mod=mod", ".")
	for _, c := range calls {
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("want %s from the client: %v\n%s", c.want, err, out)
		}
	}
}

// shop is the source of a server whose tool price fails until it is mended.
const shop = `package copied

import (
	"context"
	"os"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func price(context.Context, struct{}) (string, error) {
	if os.Getenv("MENDED") == "" {
		return "", framework.UserErrorf("no price for tea")
	}
	return "tea costs 58", nil
}

var app = framework.New("shop", "1.0").Add(framework.Tool("price", price, framework.Describe("Returns a price."), framework.ReadOnly()))

`

// TestFaultBecomesATest is story 16: the copy of a failing call becomes a test that fails until the server is
// mended, and the record of the call is a test of the answer as it was.
func TestFaultBecomesATest(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "shop", framework.Tool("price", func(context.Context, none) (string, error) { return "", framework.UserErrorf("no price for tea") },
		framework.Describe("Returns a price."), framework.ReadOnly()))))
	b.click(".rail a", "price")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "no price for tea")
	texts := b.copied("test", "replay")
	b.eval("window.saved = new Promise(done => { URL.createObjectURL = blob => { done(blob.text()); return '#'; }; }), 0")
	b.eval("HTMLAnchorElement.prototype.click = () => {}")
	b.click(".sheet section:last-of-type button", "Download")
	record := b.eval("saved")
	edited := strings.NewReplacer("answer.IsError()", "answer.OK()", "no price for tea", "tea costs 58").Replace(texts[0])
	if !strings.Contains(texts[0], "write OK instead of IsError") || edited == texts[0] {
		t.Fatalf("the copy does not say how to edit it:\n%s", texts[0])
	}
	dir := module(t, map[string]string{"shop_test.go": shop + edited + "\n" + texts[1] + "\n", "testdata/price.jsonl": record})
	for env, want := range map[string][2]bool{"": {false, true}, "yes": {true, false}} {
		for i, name := range []string{"TestPrice", "TestReplay"} {
			out, err := golang(dir, []string{"MENDED=" + env}, "test", "-mod=mod", "-run", "^"+name+"$", ".")
			if (err == nil) != want[i] || strings.Contains(out, "build failed") {
				t.Errorf("%s of a server that is mended=%q: %v\n%s", name, env, err, out)
			}
		}
	}
}
