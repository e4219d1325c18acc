// Command secured is a server ready for untrusted clients: every call needs a token, sees
// only what its scopes allow, is rate-limited, and is recorded in an audit log.
//
//	go -C examples/secured run .                    tokens of a toy issuer, to be copied
//	go -C examples/secured run . --own-auth         the server is its own authorization server
//	go -C examples/secured run . --broker ISSUER    the server uses an OpenID provider
//	go -C examples/secured run . --auth ISSUER      tokens of your own authorization server
//
// It prints commands to try it. Package serve has the other flags. Without flags the
// program serves HTTP, because clients on stdio have no token. --http or SECURED_HTTP sets
// another address than 127.0.0.1:8080. --inspect shows what the server offers, and
// "kagami inspect ./examples/secured --chain" also shows its middleware.
//
// With --broker the program must be registered at the provider, with the redirect URI
// http://127.0.0.1:8080/callback/provider. Set SECURED_CLIENT_ID and SECURED_CLIENT_SECRET
// to its credentials.
//
// --own-auth and --broker lose all logins at a restart, unless --auth-store file:PATH keeps
// them, encrypted with SECURED_SEAL (openssl rand -base64 32). --store keeps the sessions.
//
// Without these flags the program itself starts the toy issuer (issuer.go).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve"
	_ "github.com/kagami-mcp/kagami/framework/store/boltstore"  // file:PATH
	_ "github.com/kagami-mcp/kagami/framework/store/redisstore" // redis://HOST:PORT/DB
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

func main() {
	if slices.ContainsFunc(os.Args[1:], func(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }) {
		fmt.Print(help)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, cmp.Or(os.Getenv("SECURED_HTTP"), "127.0.0.1:8080"), os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "secured:", err)
	}
	os.Exit(serve.ExitCode(err))
}

// run serves MCP on address, or on the address of --http, until ctx ends. On a port that only this
// machine can reach, it serves the metrics and the toy issuer. It prints the commands to try and
// the audit log to out.
func run(ctx context.Context, address string, args []string, out io.Writer) error {
	chosen, args, err := choose(args)
	if err != nil {
		return err
	}
	address, options := reached(address, args), []fiberhttp.Option(nil)
	if strings.HasSuffix(address, ":0") { // the system must choose the port before the tokens are made
		free, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer func() { _ = free.Close() }() // the server also closes it, if it starts
		address, options = free.Addr().String(), append(options, fiberhttp.Listener(free))
	}
	private, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := "http://" + private.Addr().String()
	door, err := chosen.open(ctx, "http://"+address+"/mcp", at, out)
	if err != nil {
		return errors.Join(err, private.Close())
	}
	counts := newCounters()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", counts)
	if door.beside != nil {
		mux.Handle("/", door.beside)
	}
	beside := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- beside.Serve(private) }()

	told := fiberhttp.OnListen(func(net.Addr) {
		var text strings.Builder
		door.greet(&text)
		_, _ = fmt.Fprintf(out, "%sWhat was called, and how it ended: %s/metrics, and below, as an audit.\n\n", text.String(), at)
	})
	err = serve.Run(ctx, newApp(door.guard, out, counts), append([]string{"--http", address}, args...),
		serve.HTTP(slices.Concat(options, door.routes, []fiberhttp.Option{told})...))

	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, beside.Shutdown(last), door.end())
	if failure := <-ended; !errors.Is(failure, http.ErrServerClosed) {
		err = errors.Join(err, failure)
	}
	return err
}

// reached returns the address at which clients reach the server: address, or the address of --http
// in args. It must be known before the server starts, because tokens contain it. Behind a proxy,
// the address belongs in the configuration.
func reached(address string, args []string) string {
	for i, arg := range args {
		name, value, inline := strings.Cut(arg, "=")
		switch {
		case name != "--http" && name != "-http":
		case inline:
			address = value
		case i+1 < len(args):
			address = args[i+1]
		}
	}
	if strings.HasPrefix(address, ":") { // the server then listens only on this machine
		return "127.0.0.1" + address
	}
	return address
}

// greet prints how to try the server.
func greet(out io.Writer, idp *issuer, resource string) {
	ann, err := idp.token("ann", resource, writeNotes)
	bob, failure := idp.token("bob", resource, readNotes)
	if err := errors.Join(err, failure); err != nil {
		_, _ = fmt.Fprintln(out, "no token:", err)
		return
	}
	_, _ = fmt.Fprintf(out, `secured serves %[1]s to those who have a token. Ann may write notes:

go run ./cmd/kagami call %[1]s add_note text="Buy tea" --bearer %[2]s

Bob may only read: he does not see the tool (kagami tools), and a call of it tells his
client which scopes to ask for.

go run ./cmd/kagami call %[1]s list_notes --bearer %[3]s

`, resource, ann, bob)
}
