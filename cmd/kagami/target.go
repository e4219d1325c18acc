package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// bearerEnv is the environment variable with the token if --bearer is not given. It is safer than
// the flag, because other users of the machine can read command lines.
const bearerEnv = "KAGAMI_BEARER"

func isURL(server string) bool {
	scheme, _, ok := strings.Cut(server, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// remote reports whether the words of a server are a URL.
func remote(server []string) bool { return len(server) == 1 && isURL(server[0]) }

// shownServer returns the words of a server for a message, without the password in a URL.
func shownServer(server []string) string {
	if u, err := url.Parse(server[0]); err == nil && isURL(server[0]) && u.User != nil {
		return u.Redacted()
	}
	return strings.Join(server, " ")
}

// shown returns the server for a message. A server that was given by name is shown by that name: its
// command line or URL may have secrets of the environment.
func (a *cli) shown(server []string) string { return cmp.Or(a.serverName, shownServer(server)) }

// looksLikeURL returns an error if a SERVER that cannot be used was probably meant as a URL.
func looksLikeURL(server string) error {
	if scheme, _, ok := strings.Cut(server, "://"); ok {
		return usagef("SERVER %q: got the scheme %s, want http or https", server, scheme)
	}
	host, _, _ := strings.Cut(server, "/")
	if _, port, ok := strings.Cut(host, ":"); ok && port != "" && strings.Trim(port, "0123456789") == "" {
		return usagef("SERVER %q: did you mean http://%s?", server, server)
	}
	return nil
}

// target returns the server at a URL, or a program to start. cleanup removes the program that was
// built.
func (a *cli) target(ctx context.Context, server []string) (to client.Target, cleanup func(), err error) {
	if remote(server) {
		to, err := a.endpoint(ctx, server[0])
		return to, func() {}, err
	}
	if len(a.headers) > 0 || a.bearer != "" {
		return nil, nil, usagef("--header and --bearer are for servers at a URL")
	}
	program, cleanup, err := a.program(ctx, server)
	if err != nil {
		return nil, nil, err
	}
	a.log = a.newServerLog()
	program.Stderr = a.log
	return heard(program, !isPackage(server) && !hasModule(program.Path, "github.com/kagami-mcp/kagami"), a.say), cleanup, nil
}

// hasModule reports whether a program is a Go program with code of this module.
func hasModule(program, module string) bool {
	info, err := buildinfo.ReadFile(program)
	return err == nil && (info.Main.Path == module || slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == module }))
}

// anonymous reports whether requests have no credentials.
func (a *cli) anonymous() bool {
	return len(a.headers) == 0 && a.token() == ""
}

// endpoint returns the server at a URL. Its credentials come from --bearer or --header. Without
// them, they come from a login.
func (a *cli) endpoint(ctx context.Context, address string) (client.Target, error) {
	fields, err := a.fields()
	if err != nil {
		return nil, err
	}
	var opts []client.HTTPOption
	for name, values := range fields {
		for _, value := range values {
			opts = append(opts, client.Header(name, value))
		}
	}
	if token := a.token(); token != "" {
		opts = append(opts, client.BearerToken(func(context.Context) (string, error) { return token, nil }))
	} else if fields.Get("Authorization") == "" {
		login, err := a.login(ctx, address)
		if err != nil {
			return nil, err
		}
		opts = append(opts, login)
	}
	return client.HTTP(address, opts...), nil
}

// fields returns the header fields that were given with --header.
func (a *cli) fields() (http.Header, error) {
	fields := http.Header{}
	for _, header := range a.headers {
		name, value, ok := strings.Cut(header, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(header, "\r\n") {
			return nil, usagef("--header: want 'Name: value', got %q", header)
		}
		fields.Add(name, strings.TrimSpace(value))
	}
	return fields, nil
}

// token returns the token given with --bearer or in the environment.
func (a *cli) token() string { return cmp.Or(a.bearer, os.Getenv(bearerEnv)) }

// otherPath suggests the usual path of an endpoint if the URL has no path and the server has
// nothing there.
func otherPath(server []string, err error) string {
	refused, ok := errors.AsType[*client.HTTPError](err)
	if !ok || !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, refused.Status) {
		return ""
	}
	u, failed := url.Parse(server[0])
	if failed != nil || u.Path != "" && u.Path != "/" {
		return ""
	}
	u.Path = "/mcp"
	return "\ndid you mean " + u.Redacted() + "?"
}
