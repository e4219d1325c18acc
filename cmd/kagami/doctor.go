package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// problem is a kind of finding. docs/troubleshooting.md explains each code.
type problem struct {
	code   string
	fatal  bool   // clients cannot work with the server
	remedy string // how to fix it
}

// problems are all kinds of findings, in the order of the checks.
var problems = []problem{
	{"build", true, "Fix what the compiler reports."},
	{"start", true, "Run the program by hand: it must serve on stdin and stdout, or at the URL. Its log shows the cause."},
	{"lists", true, "Fix the list or the entry that the message names. Clients then show nothing of the server, or refuse it."},
	{"slow-start", false, "Open databases and caches on first use, or in the background: clients give up after some seconds."},
	{"store", true, "If the message names an import, add it to the main package. Otherwise check that the store runs, that its URL is right, and that the program may write in the directory of the file."},
	{"restart", false, "`--store memory:` keeps nothing: use `file:PATH`, or `redis://HOST:PORT/DB`."},
	{"persistence", false, "Set `appendonly yes` and `maxmemory-policy noeviction` in the configuration of Redis."},
	{"stdout", true, "Print to stderr only. The standard output of a server on stdio belongs to the protocol."},
	{"warnings", false, "Run `kagami inspect` to see them, each with its fix."},
	{"unreachable", true, "Check the address, the port, and whether the process listens there. Other machines cannot reach a server on 127.0.0.1."},
	{"certificate", true, "Serve a certificate for this host name that has not expired, with its whole chain."},
	{"html", true, "The address belongs to a web page. The endpoint is usually at /mcp."},
	{"host", true, "Give the server its public name: `--allow-host NAME`. A proxy must pass the Host header on."},
	{"origin", false, "Refuse requests of foreign pages with 403. Otherwise any page can use a server on its visitor's machine."},
	{"login", true, "Log in with `kagami auth login`, or give a token with --bearer."},
	{"metadata", true, "Serve the metadata of RFC 9728 at /.well-known/oauth-protected-resource, with and without the path of the endpoint, and name it in WWW-Authenticate."},
	{"audience", true, "The `resource` of the metadata must be the URL that clients use: set `auth.Resource`."},
	{"issuer", true, "The authorization server must serve its own metadata (RFC 8414, or OpenID discovery) over HTTPS."},
	{"session", true, "Requests of one session reach different processes. Let the processes share a store (`--store redis://…`), or let the proxy send all requests of a client to one process."},
	{"buffered", true, "A proxy holds the stream back. With nginx: `proxy_buffering off`; the response also needs `X-Accel-Buffering: no`."},
	{"cut", false, "A proxy ends streams that are idle. Raise its timeout: `proxy_read_timeout` of nginx, `timeout server` and `timeout client` of HAProxy."},
	{"clock", false, "Set the clocks with NTP: tokens are valid only between two times."},
	{"revisions", false, "Clients of that revision cannot use the server."},
	{"clients", false, "Run `kagami inspect --profile all` to see what each client refuses or changes."},
}

// finding is one problem of the server.
type finding struct {
	Code   string `json:"code"`
	Fatal  bool   `json:"fatal"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// diagnosis examines one server.
type diagnosis struct {
	cli    *cli
	server []string
	bearer string
	http   *http.Client
	idle   time.Duration // how long a stream is watched
	found  []finding
	good   []string // checks that found no problem

	mu         sync.Mutex // guards nonMessage, because a client reads on its own goroutine
	nonMessage string     // report about the first line on stdout that is not a message
}

func (p *diagnosis) finds(code, format string, args ...any) {
	kind := problems[slices.IndexFunc(problems, func(a problem) bool { return a.code == code })]
	one := finding{code, kind.fatal, fmt.Sprintf(format, args...), kind.remedy}
	if !slices.Contains(p.found, one) {
		p.found = append(p.found, one)
	}
}

func (p *diagnosis) fine(format string, args ...any) {
	p.good = append(p.good, fmt.Sprintf(format, args...))
}

func (a *cli) doctorCommand() *cobra.Command {
	idle := 5 * time.Second
	cmd := &cobra.Command{
		Use: "doctor SERVER", Short: "Check a server, and explain how to fix what is wrong",
		Long: `Check a server in the same way as clients use it, and report what is wrong and how to fix it.
The checks cover: building and starting, output on stdout, host and origin, certificate, the
metadata for a login, sessions behind a load balancer, streams behind a proxy, clock,
revisions, and what known clients refuse. docs/troubleshooting.md explains the code of each
finding.

If a program has a store, from --store or KAGAMI_STORE, doctor also checks that the program
opens it, and that Redis keeps what it has. If the server needs no login, doctor also checks that
a session survives a restart. For this the program gets a store beside its own, with other keys
in Redis or another file, and otherwise one in memory: a server runs the tasks that wait in its
store, and these are left alone.

No tool is called. The exit code is 1 if clients cannot work with the server.`,
		Example: `  kagami doctor ./examples/weather
  kagami doctor -- ./weather --store redis://localhost:6379/0
  kagami doctor https://mcp.example.com/mcp --bearer "$TOKEN" --idle 2m`,
		RunE: a.onServer(func(ctx context.Context, server []string) error {
			p := &diagnosis{cli: a, server: server, bearer: a.token(), idle: idle, http: &http.Client{Timeout: patience}}
			if fields, err := a.fields(); err != nil {
				return err
			} else if p.bearer == "" && fields.Get("Authorization") == "" {
				p.bearer = a.loginToken(ctx, server)
			}
			defer killOnSecondSignal(ctx)()
			p.examine(ctx)
			if err := ctx.Err(); err != nil {
				return err
			}
			return p.report()
		}),
	}
	cmd.Flags().DurationVar(&idle, "idle", idle, "how long to watch an idle stream; proxies often close one after a minute or more")
	a.completes(cmd, nil)
	return cmd
}

// patience is the time limit of each request. A slower start than slowStart is a finding.
const (
	patience  = 20 * time.Second
	slowStart = 3 * time.Second
)

func (p *diagnosis) examine(ctx context.Context) {
	if remote(p.server) {
		if p.reach(ctx) {
			p.speak(ctx, func() (client.Target, error) { return p.cli.endpoint(ctx, p.server[0]) })
		}
		return
	}
	program, cleanup, err := p.cli.program(ctx, p.server)
	if err != nil {
		p.finds("build", "%v", err)
		return
	}
	defer cleanup()
	if isPackage(p.server) {
		if doc, err := p.cli.ownReport(ctx, program); err == nil && strictly(doc, true) != nil {
			p.finds("warnings", "%v", strictly(doc, true))
		}
	}
	words, ok := p.settings(ctx, program)
	if !ok {
		return
	}
	p.speak(ctx, func() (client.Target, error) {
		program, _, err := p.cli.program(ctx, words)
		if err != nil {
			return nil, err
		}
		p.cli.log = &serverLog{keep: keptReport}
		program.Stderr = p.cli.log
		return heard(program, false, func(format string, args ...any) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.nonMessage = cmp.Or(p.nonMessage, fmt.Sprintf(format, args...))
		}), nil
	})
}

// speak connects at every revision and checks what the server offers.
func (p *diagnosis) speak(ctx context.Context, target func() (client.Target, error)) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.nonMessage != "" {
			p.finds("stdout", "%s", p.nonMessage)
		}
	}()
	spoken, refused := []string{}, []string{}
	var unlisted error          // of the newest revision with a connection but no lists
	var latest *surface.Surface // at the newest revision that it supports
	for i, revision := range protocol.Revisions() {
		newest := i == len(protocol.Revisions())-1
		began := time.Now()
		all, err := p.lists(ctx, target, revision)
		switch {
		case denied(err):
			p.finds("login", "it wants a login, so nothing else can be checked: %v", err)
			return
		case err != nil:
			refused = append(refused, revision.String())
			if wraps[*listError](err) {
				unlisted = err
			}
			if newest && len(spoken) == 0 && unlisted != nil {
				p.finds("lists", "it answers, but does not list what it offers: %v", unlisted)
			} else if newest && len(spoken) == 0 {
				p.finds("start", "it does not answer: %v%s%s", err, otherPath(p.server, err), p.cli.log.unseen())
			}
			continue
		}
		spoken = append(spoken, revision.String())
		if took := time.Since(began); took > slowStart {
			p.finds("slow-start", "at revision %s, it took %s until it had listed what it offers", revision, took.Round(100*time.Millisecond))
		}
		latest = all
	}
	if latest == nil {
		return
	}
	p.offers(latest)
	p.fine("revisions %s", strings.Join(spoken, ", "))
	if len(refused) > 0 {
		p.finds("revisions", "it does not support %s", strings.Join(refused, ", "))
	}
}

func (p *diagnosis) lists(ctx context.Context, target func() (client.Target, error), revision protocol.Revision) (all *surface.Surface, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to, err := target()
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(ctx, to, client.Revisions(revision), client.Name("kagami doctor", version()))
	if err != nil {
		return nil, err
	}
	all, err = surface.Read(ctx, c, surface.All)
	answered := ctx.Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF) // it did not end or block
	_ = c.Close()                                                        // the exit status of the process does not matter
	if err != nil && answered {
		err = &listError{fmt.Errorf("%w%s", err, p.cli.log.unseen())}
	}
	return all, err
}

// listError is the error of a server that answers, but does not list what it offers.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

func (p *diagnosis) offers(all *surface.Surface) {
	p.fine("%s %s; tools: %d, resources: %d, templates: %d, prompts: %d", all.Server.Name, all.Server.Version,
		len(all.Tools), len(all.Resources), len(all.Templates), len(all.Prompts))
	if found := profile.Check(all, "all"); len(found) > 0 {
		p.finds("clients", "some client refuses or changes what the server offers, findings: %d; the first: %s", len(found), found[0])
	}
}

// report prints the findings. It returns an error if clients cannot work with the server.
func (p *diagnosis) report() error {
	fatal := slices.ContainsFunc(p.found, func(f finding) bool { return f.Fatal })
	var err error
	if p.cli.json {
		err = writeJSON(p.cli.out, map[string]any{"findings": append([]finding{}, p.found...), "fine": append([]string{}, p.good...)})
	} else {
		var text strings.Builder
		for _, good := range p.good {
			_, _ = fmt.Fprintf(&text, "ok    %s\n", onOneLine(good))
		}
		for _, f := range p.found {
			mark := "note"
			if f.Fatal {
				mark = "FAIL"
			}
			_, _ = fmt.Fprintf(&text, "%s  %s: %s\n", mark, f.Code, strings.ReplaceAll(strings.TrimSpace(f.What), "\n", "\n      "))
			_, _ = fmt.Fprintf(&text, "      %s\n", f.Remedy)
		}
		_, err = p.cli.out.Write([]byte(text.String()))
	}
	if err == nil && fatal {
		err = errors.New("clients cannot work with the server: see the lines with FAIL")
	}
	return err
}
