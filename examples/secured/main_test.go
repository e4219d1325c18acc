package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // goroutines of fasthttp sleep for a while after its end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// output is the writer for the program. It signals when the program serves.
type output struct {
	mu     sync.Mutex // guards the fields below
	text   bytes.Buffer
	serves chan struct{}
	told   bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.told {
		o.told = true
		close(o.serves)
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// program is a running program, and what it printed for its user.
type program struct {
	out      *output
	url      string
	commands []string // commands of Ann and Bob
	metrics  string
}

// start starts the program at a free address. If another process takes the address first, start
// tries another one.
func start(t *testing.T) *program {
	t.Helper()
	return startBy(t, func(address string) (string, []string) { return address, nil })
}

// startBy is like start, but tell turns the free address into the address and the arguments of the
// program.
func startBy(t *testing.T, tell func(address string) (given string, args []string)) *program {
	t.Helper()
	for range 10 {
		address := freeAddress(t)
		given, args := tell(address)
		if p, ok := startAt(t, address, given, args); ok {
			return p
		}
	}
	t.Fatal("each free address was taken before it was used")
	return nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// startAt starts the program. ok is false if the address is in use.
func startAt(t *testing.T, address, given string, args []string) (p *program, ok bool) {
	t.Helper()
	out := &output{serves: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, given, args, out) }()
	select {
	case <-out.serves:
	case err := <-ended:
		stop()
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("it does not serve: %v", err)
		}
		return nil, false
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	text := out.String()
	return &program{
		out: out, url: "http://" + address + "/mcp",
		commands: regexp.MustCompile(`(?m)^go run \./cmd/kagami .*`).FindAllString(text, -1),
		metrics:  regexp.MustCompile(`http://\S+/metrics`).FindString(text),
	}, true
}

// token returns the token in the nth command.
func (p *program) token(n int) string {
	_, token, _ := strings.Cut(p.commands[n], "--bearer ")
	return token
}

func (p *program) connect(t *testing.T, token string, rev protocol.Revision) *client.Client {
	t.Helper()
	var opts []client.HTTPOption
	if token != "" {
		opts = append(opts, client.BearerToken(func(context.Context) (string, error) { return token, nil }))
	}
	c, err := client.Connect(t.Context(), client.HTTP(p.url, opts...), client.Revisions(rev))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, answer.StatusCode, err)
	}
	return string(body)
}

// The printed commands work unchanged.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := start(t)
	if len(p.commands) != 2 {
		t.Fatalf("it said:\n%s", p.out)
	}
	for i, want := range []string{"Noted.\n", "[]\n"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", p.commands[i])
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", p.commands[i], err, out)
		}
	}
}

// The commands, the tokens and the challenge contain the address, however it was set.
func TestAddress(t *testing.T) {
	t.Parallel()
	const other = "127.0.0.1:8080"
	for name, tell := range map[string]func(string) (string, []string){
		"a flag":        func(address string) (string, []string) { return other, []string{"--http", address} },
		"a flag with =": func(address string) (string, []string) { return other, []string{"-http=" + address} },
		"the last flag": func(address string) (string, []string) { return other, []string{"--http", ":1", "--http", address} },
		"a port":        func(address string) (string, []string) { return strings.TrimPrefix(address, "127.0.0.1"), nil },
		"a port in flags": func(address string) (string, []string) {
			return other, []string{"--http=" + strings.TrimPrefix(address, "127.0.0.1")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startBy(t, tell)
			if len(p.commands) != 2 || !strings.Contains(p.commands[0], " "+p.url+" ") {
				t.Fatalf("at %s it said:\n%s", p.url, p.out)
			}
			c := p.connect(t, p.token(1), protocol.Revisions()[0])
			if notes, err := client.Call[[]string](t.Context(), c, "list_notes", nil); err != nil || len(notes) != 0 {
				t.Errorf("%q, %v", notes, err)
			}
			_, err := client.Connect(t.Context(), client.HTTP(p.url))
			refused, ok := errors.AsType[*client.HTTPError](err)
			if origin := strings.TrimSuffix(p.url, "/mcp"); !ok || !strings.Contains(refused.Challenge, origin) {
				t.Errorf("without a token: %v", err)
			}
		})
	}
}

// The commands and tokens also contain a port that the system has chosen.
func TestAnyPort(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "127.0.0.1:0"} {
		p, _ := startAt(t, "", "127.0.0.1:8080", []string{"--http", address})
		p.url = regexp.MustCompile(`http://127\.0\.0\.1:[1-9]\d*/mcp`).FindString(p.out.String())
		c := p.connect(t, p.token(1), protocol.Revisions()[0])
		if notes, err := client.Call[[]string](t.Context(), c, "list_notes", nil); err != nil || len(notes) != 0 {
			t.Errorf("%s: %q, %v\n%s", address, notes, err, p.out)
		}
	}
}

// Each user sees the tools that the user may call, and only the user's own notes.
func TestScopes(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			ann, bob := p.connect(t, p.token(0), rev), p.connect(t, p.token(1), rev)
			for c, want := range map[*client.Client]string{ann: "whoami list_notes add_note", bob: "whoami list_notes"} {
				var names []string
				for tool, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != want {
					t.Errorf("listed %s, want %s", got, want)
				}
			}
			if said, err := client.Call[string](t.Context(), ann, "add_note", NoteIn{Text: "of " + rev.String()}); err != nil || said != "Noted." {
				t.Errorf("%q, %v", said, err)
			}
			_, err := client.Call[string](t.Context(), bob, "add_note", NoteIn{Text: "x"})
			// On a busy machine the stream may have begun, with status 200, before the server knows
			// this.
			if refused, ok := errors.AsType[*client.HTTPError](err); ok && refused.Status != http.StatusForbidden || err == nil || !strings.Contains(err.Error(), "Forbidden") {
				t.Errorf("Bob writes: %v", err)
			}
			mine, err := client.Call[[]string](t.Context(), ann, "list_notes", nil)
			if err != nil || !slices.Contains(mine, "of "+rev.String()) {
				t.Errorf("%q, %v", mine, err)
			}
			if his, err := client.Call[[]string](t.Context(), bob, "list_notes", nil); err != nil || len(his) != 0 {
				t.Errorf("Bob reads %q, %v", his, err)
			}
			who, err := client.Call[Identity](t.Context(), ann, "whoami", nil)
			if err != nil || who.Subject != "ann" || strings.Join(who.Scopes, " ") != "notes:write notes:read" {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	p := start(t)
	ours := p.token(0)
	other, err := newIssuer("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	forged, err := other.token("ann", p.url, writeNotes)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"none": "", "nonsense": "x", "another issuer": forged, "changed": ours[:len(ours)-6] + "AAAAAA"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		challenge := answer.Header.Get("WWW-Authenticate")
		if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(challenge, `resource_metadata="`) || strings.Contains(challenge, "invalid_token") != (token != "") {
			t.Errorf("%s: %d %s", name, answer.StatusCode, challenge)
		}
	}
	var metadata struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	page := get(t, strings.TrimSuffix(p.url, "/mcp")+"/.well-known/oauth-protected-resource/mcp")
	if err := json.Unmarshal([]byte(page), &metadata); err != nil || metadata.Resource != p.url || len(metadata.Servers) != 1 {
		t.Errorf("%v: %s", err, page)
	}
}

// A caller with too many calls gets an error. The audit log and the metrics contain everything,
// also refused calls of Bob.
func TestLimitAuditAndMetrics(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := p.connect(t, p.token(0), protocol.Rev20260728)
	var err error
	for range 31 {
		if err != nil {
			break
		}
		_, err = client.Call[Identity](t.Context(), c, "whoami", nil)
	}
	if err == nil || !strings.Contains(err.Error(), "too many calls: try again in") {
		t.Errorf("call 31: %v", err)
	}
	bob := p.connect(t, p.token(1), protocol.Rev20260728)
	if _, err := client.Call[Identity](t.Context(), bob, "whoami", nil); err != nil {
		t.Errorf("Bob has a rate of his own: %v", err)
	}
	if _, err := client.Call[string](t.Context(), bob, "add_note", NoteIn{Text: "x"}); err == nil {
		t.Error("Bob writes")
	}
	page := get(t, p.metrics)
	const limited = `secured_calls_total{method="tools/call",name="whoami",outcome="limited"} 1` + "\n"
	const denied = `secured_calls_total{method="tools/call",name="add_note",outcome="denied"} 1` + "\n"
	if !strings.Contains(page, limited) || !strings.Contains(page, denied) || !strings.Contains(page, `{method="tools/call",name="whoami",outcome="ok"} 31`+"\n") {
		t.Errorf("metrics:\n%s", page)
	}
	last, lines := audited{}, 0
	for line := range strings.Lines(p.out.String()) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		lines++
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if lines != 33 || last.Subject != "bob" || last.Name != "add_note" || last.Outcome != "denied" {
		t.Errorf("%d lines of audit, the last is %+v", lines, last)
	}
}

type audited struct{ Subject, Name, Outcome string }

// After wrong flags, or with an address in use, no goroutine and no listener is left.
func TestStartFails(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), "127.0.0.1:0", []string{"--nope"}, io.Discard); serve.ExitCode(err) != 2 {
		t.Errorf("a wrong flag: %v", err)
	}
	p := start(t)
	address := strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp")
	if err := run(t.Context(), address, nil, io.Discard); err == nil || serve.ExitCode(err) != 1 {
		t.Errorf("a taken address: %v", err)
	}
}

// The length and the number of notes are limited.
func TestNotes(t *testing.T) {
	t.Parallel()
	n := &notes{byUser: map[user][]string{}}
	ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "ann"})
	for i := range maxNotes + 1 {
		if _, err := n.add(ctx, NoteIn{Text: "x"}); (err == nil) != (i < maxNotes) {
			t.Errorf("note %d: %v", i+1, err)
		}
	}
}
