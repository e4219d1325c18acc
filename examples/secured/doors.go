package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

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
}

// choice has the values of the program's own flags. Package serve has the other flags.
type choice struct {
	own    bool
	broker string // issuer of the provider
}

// choose parses the program's own flags, and returns the other arguments.
func choose(args []string) (c choice, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		switch name {
		case "-own-auth":
			c.own = true
		case "-broker":
			if i++; !inline && i < len(args) {
				value = args[i]
			} else if i--; !inline {
				return c, nil, errors.New("--broker needs the issuer of a provider")
			}
			c.broker = value
		default:
			rest = append(rest, args[i])
		}
	}
	if c.own && c.broker != "" {
		return c, nil, errors.New("--own-auth and --broker are two answers to one question")
	}
	return c, rest, nil
}

// open returns the door. resource is the URL of this server for clients, and private is the URL of
// its private port.
func (c choice) open(resource, private string) (*door, error) {
	switch origin := strings.TrimSuffix(resource, "/mcp"); {
	case c.own:
		users := authserver.DevLogin(
			authserver.User{Subject: "ann", Name: "Ann, who may write"},
			authserver.User{Subject: "bob", Name: "Bob, who may read", Scopes: []string{readNotes}},
		)
		return ownDoor(origin, resource, authserver.Own(users), "ann or bob, on a page of this server")
	case c.broker != "":
		return ownDoor(origin, resource, authserver.Broker(authserver.Provider{
			Issuer: c.broker, ClientID: os.Getenv("SECURED_CLIENT_ID"), ClientSecret: os.Getenv("SECURED_CLIENT_SECRET"),
		}), "a user of "+c.broker)
	}
	return toyDoor(resource, private)
}

// ownDoor returns a door with an authorization server in this program.
func ownDoor(origin, resource string, mode authserver.Mode, who string) (*door, error) {
	as, err := authserver.New(origin, mode, authserver.Scopes(
		authserver.Scope{Name: readNotes, Text: "Read your notes", Default: true},
		authserver.Scope{Name: writeNotes, Text: "Write notes in your name", Implies: []string{readNotes}},
	))
	if err != nil {
		return nil, err
	}
	return &door{
		guard:  as.Guard(resource),
		routes: []fiberhttp.Option{fiberhttp.Route("/", as.Handler())},
		greet: func(out io.Writer) {
			_, _ = fmt.Fprintf(out, `secured serves %[1]s, and issues the tokens itself. Try it from the root of the repository:

go run ./cmd/kagami call %[1]s add_note text="Buy tea"

Your browser opens. Log in as %[2]s, and allow what is asked. A second call asks nothing.

`, resource, who)
		},
	}, nil
}

// toyDoor returns a door that accepts tokens of an issuer on the private port.
func toyDoor(resource, private string) (*door, error) {
	idp, err := newIssuer(private)
	if err != nil {
		return nil, err
	}
	return &door{guard: newGuard(idp.url, resource), beside: idp, greet: func(out io.Writer) { greet(out, idp, resource) }}, nil
}
