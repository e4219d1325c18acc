package page_test

import (
	"context"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport/nethttp"
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

// shown returns the words of a copied command as a shell reads them, without the program.
func shown(t *testing.T, command string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(command, " ")
	run := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+rest)
	run.Env = append(os.Environ(), "SECRET=s3")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, command, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

type mirroredIn struct {
	Region string `json:"region" header:"Region"`
	Token  string `json:"token"`
}

// TestCopiedCurlRuns: a server answers the request of the copied curl command. Servers compare the
// header fields that repeat the name and arguments (2026-07-28 basic/transports/streamable-http).
func TestCopiedCurlRuns(t *testing.T) {
	t.Parallel()
	started := framework.Tool("start", func(_ context.Context, in mirroredIn) (string, error) {
		return in.Region + " " + in.Token, nil
	})
	menu := framework.Resource("menu://karte/für-heute", func(context.Context) (string, error) { return "Suppe", nil })
	server := httptest.NewServer(nethttp.Handler(host(t, started, menu)))
	t.Cleanup(server.Close)
	b := opened(t, page.Options{URL: server.URL})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	for order, want := range map[string]string{
		`{"method":"tools/call","name":"start","arguments":{"region":"Köln","token":"s3"}}`: "Köln s3",
		`{"method":"tools/call","name":"start","arguments":{"region":"eu","token":"s3"}}`:   "eu s3",
		`{"method":"resources/read","name":"menu://karte/für-heute"}`:                       "Suppe",
	} {
		id := b.start(order)
		b.end(id)
		copied := b.do(http.MethodGet, "/api/calls/"+id+"/copy/curl", "", nil).body
		if strings.Contains(copied, "s3") {
			t.Errorf("the secret is shown: %s", copied)
		}
		words := shown(t, copied)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, words[1], strings.NewReader(words[len(words)-1]))
		if err != nil {
			t.Fatal(err)
		}
		for i, word := range words {
			if name, value, ok := strings.Cut(word, ": "); ok && words[max(i-1, 0)] == "-H" {
				request.Header.Set(name, value)
			}
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, %d %s\n%s", order, err, response.StatusCode, body, copied)
		}
	}
}

// TestCopiesOfProgram: a program with arguments is copied as its words.
func TestCopiesOfProgram(t *testing.T) {
	t.Parallel()
	start := []string{"/usr/bin/my server", "--store", "it's"}
	b := opened(t, page.Options{Host: host(t), Start: start, Where: strings.Join(start, " ")})
	id := b.start(`{"method":"tools/call","name":"add","arguments":{"a":1,"b":2}}`)
	b.end(id)
	shell := shown(t, b.do(http.MethodGet, "/api/calls/"+id+"/copy/shell", "", nil).body)
	if want := append([]string{"call", "add", `{"a":1,"b":2}`, "--"}, start...); !slices.Equal(shell, want) {
		t.Errorf("shell: %q, want %q", shell, want)
	}
	code := b.do(http.MethodGet, "/api/calls/"+id+"/copy/client", "", nil).body
	if want := `exec.Command("/usr/bin/my server", "--store", "it's")`; !strings.Contains(code, want) {
		t.Errorf("no %s in\n%s", want, code)
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

// TestCopiedQuestions checks the copy of a call as a Go test: it answers the server's questions as
// the user did on the page. No copy shows a secret, or bullets in its place.
func TestCopiedQuestions(t *testing.T) {
	t.Parallel()
	type in struct {
		Door  string `json:"door"`
		Token string `json:"token"`
	}
	type form struct {
		Password string `json:"password"`
	}
	open := framework.Tool("open", func(ctx context.Context, in in) (string, error) {
		_, err := framework.Elicit[form](ctx, "Open "+in.Door+"?")
		return "open", err
	})
	for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		for action, answer := range map[string]string{
			"accept":  `strings.ReplaceAll(` + "`" + `{"password":"•••"}` + "`" + `, "•••", os.Getenv("SECRET"))`,
			"decline": "testkit.Decline",
			"cancel":  "testkit.Cancel",
		} {
			b := opened(t, page.Options{Host: host(t, open), Revision: revision})
			b.ask(http.MethodGet, "/api/offers", "", nil)
			id := b.start(`{"method":"tools/call","name":"open","arguments":{"door":"the safe","token":"s3same"}}`)
			b.ask(http.MethodPost, "/api/questions/"+b.question().ID, `{"action":"`+action+`","content":{"password":"hunter2"}}`, nil)
			b.end(id)
			copied := b.do(http.MethodGet, "/api/calls/"+id+"/copy/test", "", nil).body
			for _, want := range []string{`s.OnElicit("Open the safe?", `, answer, `{"door":"the safe","token":"•••"}` + "`" + `, "•••", os.Getenv("SECRET"))`} {
				if !strings.Contains(copied, want) {
					t.Errorf("%s, %s: no %s in\n%s", revision, action, want, copied)
				}
			}
			if strings.Contains(copied, "s3same") || strings.Contains(copied, "hunter2") {
				t.Errorf("%s, %s: a secret is shown:\n%s", revision, action, copied)
			}
		}
	}
}

// TestCopiedTexts: the copy of a call as a Go test expects what testkit reads from its answer.
func TestCopiedTexts(t *testing.T) {
	t.Parallel()
	mixed := framework.Tool("mixed", func(context.Context, struct{}) (framework.Content, error) {
		return framework.Content{
			protocol.Text{Text: "first"},
			protocol.Image{Data: []byte("x"), MIME: "image/png"},
			protocol.Text{Text: "second"},
			protocol.Embedded{Contents: protocol.Contents{URI: "a://b", Text: "within"}},
			protocol.Embedded{Contents: protocol.Contents{URI: "a://c", Data: []byte("x")}},
			protocol.Link{URI: "a://d", Name: "d", Title: "The D", Description: "of letters"},
			protocol.Link{URI: "a://e", Name: "e"},
		}, nil
	})
	b := opened(t, page.Options{Host: host(t, mixed)})
	id := b.start(`{"method":"tools/call","name":"mixed","arguments":{}}`)
	b.end(id)
	want := testkit.New(t, framework.New("calc", "1.0").Add(mixed)).CallRaw("mixed", "{}").Text()
	if copied := b.do(http.MethodGet, "/api/calls/"+id+"/copy/test", "", nil).body; !strings.Contains(want, "within") || !strings.Contains(copied, strconv.Quote(want)) {
		t.Errorf("no %q in\n%s", want, copied)
	}
}

// TestCopiedToken: the copy as Go code reads the token of a server from the environment, as the other
// copies do.
func TestCopiedToken(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nethttp.Handler(host(t)))
	t.Cleanup(server.Close)
	b := opened(t, page.Options{URL: server.URL, Bearer: "sesame"})
	copied := b.do(http.MethodGet, "/api/calls/"+b.start(`{"method":"ping"}`)+"/copy/client", "", nil).body
	if !strings.Contains(copied, `os.Getenv("KAGAMI_BEARER")`) || strings.Contains(copied, "sesame") {
		t.Error(copied)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() error {\n"+copied+"return nil }", 0); err != nil {
		t.Errorf("%v\n%s", err, copied)
	}
}

// TestCopiedRequests: each kind of call is copied as the Go code that makes it.
func TestCopiedRequests(t *testing.T) {
	t.Parallel()
	note := framework.Resource("a://note", func(context.Context) (string, error) { return "A note.", nil })
	b := opened(t, page.Options{Host: host(t, note)})
	for order, want := range map[string]string{
		`{"method":"ping"}`:                                  "\nerr = c.Ping(ctx)\n",
		`{"method":"resources/read","name":"a://note"}`:      `result, err := c.ReadResource(ctx, "a://note")`,
		`{"method":"resources/subscribe","name":"a://note"}`: `updates, err := c.Subscribe(ctx, "a://note")`,
		`{"method":"tasks/result","name":"t-1"}`:             `result, err := c.Task("t-1").Wait(ctx)`,
	} {
		if copied := b.do(http.MethodGet, "/api/calls/"+b.start(order)+"/copy/client", "", nil).body; !strings.Contains(copied, want) {
			t.Errorf("%s is copied as\n%s", order, copied)
		}
	}
}

// TestCopiedPrompt: the copied command has the arguments of a prompt as "kagami prompt" takes them.
func TestCopiedPrompt(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t), Where: "./calc"})
	for arguments, want := range map[string][]string{
		`{"code":"it's {\"a\":1}","at":"@x","token":"s3"}`: {"prompt", "./calc", "review", `code=it's {"a":1}`, "at=@@x", "token=s3"},
		`{}`:  {"prompt", "./calc", "review"},
		`[1]`: {"prompt", "./calc", "review"},
	} {
		copied := b.do(http.MethodGet, "/api/calls/"+b.start(`{"method":"prompts/get","name":"review","arguments":`+arguments+`}`)+"/copy/shell", "", nil).body
		if got := shown(t, copied); !slices.Equal(got, want) || strings.Contains(copied, "s3") {
			t.Errorf("%s: got %q, want %q", copied, got, want)
		}
	}
}
