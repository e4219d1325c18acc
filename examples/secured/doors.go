package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/framework/store"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// door contains the guard, and what belongs to the issuer of its tokens.
type door struct {
	guard  transport.Authenticator
	routes []fiberhttp.Option  // additional routes beside the endpoint
	beside http.Handler        // handler on the private port; nil: none
	greet  func(out io.Writer) // prints how to try the server
	close  func() error        // closes the store; nil: none
}

// choice has the values of the program's own flags. Package serve has the other flags.
type choice struct {
	issuer string // authorization server of others
	own    bool
	broker string // issuer of the provider
	store  string // URL of the store of --own-auth and --broker
}

// help describes the program's own flags, and is printed before the help of package serve.
const help = `Flags of this program:
  --auth ISSUER        accept tokens of this authorization server
  --own-auth           issue the tokens, after a login as ann or bob
  --broker ISSUER      issue the tokens, after a login at this OpenID provider
                       [SECURED_CLIENT_ID, SECURED_CLIENT_SECRET]
  --auth-store URL     where --own-auth and --broker keep logins over a restart: file:PATH or
                       redis://HOST:PORT/DB, with a key of its own [SECURED_SEAL]

`

// choose parses the program's own flags, and returns the other arguments.
func choose(args []string) (c choice, rest []string, err error) {
	values := map[string]*string{"-auth": &c.issuer, "-broker": &c.broker, "-auth-store": &c.store}
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		target := values[name]
		switch {
		case name == "-own-auth" && !inline:
			c.own = true
			continue
		case target == nil:
			rest = append(rest, args[i])
			continue
		case !inline && i+1 < len(args):
			i++
			value = args[i]
		}
		if *target = value; value == "" {
			return c, nil, fmt.Errorf("-%s needs a value", name)
		}
	}
	return c, rest, c.check()
}

// check refuses flags that contradict each other.
func (c choice) check() error {
	switch issues := c.own || c.broker != ""; {
	case c.own && c.broker != "", c.issuer != "" && issues:
		return errors.New("give only one of --auth, --own-auth and --broker")
	case c.store != "" && !issues:
		return errors.New("--auth-store is for --own-auth and --broker")
	}
	return nil
}

// open returns the door. resource is the URL of this server for clients, and private is the URL of
// its private port. Logins are logged to out.
func (c choice) open(ctx context.Context, resource, private string, out io.Writer) (*door, error) {
	origin := strings.TrimSuffix(resource, "/mcp")
	switch {
	case c.own:
		users := authserver.DevLogin(
			authserver.User{Subject: "ann", Name: "Ann, who may write"},
			authserver.User{Subject: "bob", Name: "Bob, who may read", Scopes: []string{readNotes}},
		)
		return c.ownDoor(ctx, out, origin, authserver.Own(users), "ann or bob, on a page of this server")
	case c.broker != "":
		return c.ownDoor(ctx, out, origin, authserver.Broker(authserver.Provider{
			Issuer: c.broker, ClientID: os.Getenv("SECURED_CLIENT_ID"), ClientSecret: os.Getenv("SECURED_CLIENT_SECRET"),
		}), "a user of "+c.broker)
	case c.issuer != "":
		return &door{guard: newGuard(c.issuer, resource), greet: func(out io.Writer) { greetLogin(out, resource, "a user of "+c.issuer) }}, nil
	}
	return toyDoor(resource, private)
}

// ownDoor returns a door with an authorization server in this program.
func (c choice) ownDoor(ctx context.Context, out io.Writer, origin string, mode authserver.Mode, who string) (*door, error) {
	log := slog.New(slog.NewJSONHandler(out, nil))
	opts := []authserver.Option{
		authserver.Scopes(
			authserver.Scope{Name: readNotes, Text: "Read your notes", Default: true},
			authserver.Scope{Name: writeNotes, Text: "Write notes in your name", Implies: []string{readNotes}},
		),
		authserver.OnEvent(func(ctx context.Context, e authserver.Event) { // the reason has the reference that an error page shows
			log.InfoContext(ctx, string(e.Kind), "subject", e.Subject, "client", e.ClientID, "remote", e.Remote, "reason", e.Reason)
		}),
	}
	d := new(door)
	if c.store != "" {
		key, err := base64.StdEncoding.DecodeString(os.Getenv("SECURED_SEAL"))
		if err != nil || len(key) != 32 {
			return nil, errors.New("--auth-store needs 32 bytes in base64 in SECURED_SEAL: openssl rand -base64 32")
		}
		kept, err := store.Open(ctx, c.store)
		if err != nil {
			return nil, fmt.Errorf("--auth-store: %w", err)
		}
		d.close = kept.Close
		opts = append(opts, authserver.Store(kept.Sessions()), authserver.Seal(key))
	}
	as, err := authserver.New(origin, mode, opts...)
	if err != nil {
		return nil, errors.Join(err, d.end())
	}
	resource := origin + "/mcp"
	d.guard, d.routes = as.Guard(resource), []fiberhttp.Option{fiberhttp.Route("/", as.Handler())}
	d.greet = func(out io.Writer) { greetLogin(out, resource, who) }
	return d, nil
}

// end closes the store of the door, if it has one.
func (d *door) end() error {
	if d.close == nil {
		return nil
	}
	return d.close()
}

// greetLogin prints how to try a server whose clients log in.
func greetLogin(out io.Writer, resource, who string) {
	_, _ = fmt.Fprintf(out, `secured serves %[1]s. Try it from the root of the repository:

go run ./cmd/kagami call %[1]s add_note text="Buy tea"

Your browser opens. Log in as %[2]s, and allow what is asked. A second call asks nothing.

`, resource, who)
}

// toyDoor returns a door that accepts tokens of an issuer on the private port.
func toyDoor(resource, private string) (*door, error) {
	idp, err := newIssuer(private)
	if err != nil {
		return nil, err
	}
	return &door{guard: newGuard(idp.url, resource), beside: idp, greet: func(out io.Writer) { greet(out, idp, resource) }}, nil
}
