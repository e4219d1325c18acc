package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// exit is the outcome of a command.
type exit struct {
	code int
	kind string // kind of failure, for --json
}

// Exits of all commands. They are documented, because scripts depend on them.
var (
	exitOK          = exit{0, ""}
	exitFailure     = exit{1, "failure"}
	exitUsage       = exit{2, "usage"}
	exitLogin       = exit{3, "authorization"}
	exitNoServer    = exit{4, "no server"}
	exitTool        = exit{5, "tool"}
	exitContract    = exit{6, "contract"}
	exitNotFound    = exit{7, "not found"}
	exitInterrupted = exit{130, "interrupted"}
)

const exitHelp = `Exit codes: 0 success, 1 another failure, 2 wrong usage, 3 the server wants a login or
refuses the token, 4 no server or a broken connection, 5 the tool failed, 6 the server's API
has changed (diff), 7 there is no such tool, resource or prompt, 130 interrupted.
With --json a failure is also printed as JSON on stdout.`

// unreachedError is the error for a server that cannot be started or reached.
type unreachedError struct{ error }

func (e *unreachedError) Unwrap() error { return e.error }

// unlistedError is the error for a component that the server does not list.
type unlistedError struct{ text string }

func (e *unlistedError) Error() string { return e.text }

// invalidParams is the JSON-RPC error code for a tool or prompt that does not exist.
const invalidParams = -32602

// missingError is the error for something that does not exist.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// wraps reports whether err has an error of type E.
func wraps[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// exitOf returns the outcome of a command that has returned err.
func exitOf(ctx context.Context, err error) exit {
	switch {
	case err == nil:
		return exitOK
	case wraps[*usageError](err):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case denied(err), isLogin(err):
		return exitLogin
	case wraps[*changedError](err):
		return exitContract
	case absent(err):
		return exitNotFound
	case wraps[*toolError](err):
		return exitTool
	case wraps[*unreachedError](err), wraps[*url.Error](err), wraps[*exec.ExitError](err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, client.ErrClosed):
		return exitNoServer
	}
	return exitFailure
}

// denied reports whether the server refuses the caller.
func denied(err error) bool {
	status, ok := errors.AsType[*client.HTTPError](err)
	return ok && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden)
}

// isLogin reports whether a login is needed or has failed. An authorization server that cannot be
// reached is a different failure.
func isLogin(err error) bool {
	return wraps[*oauth.Error](err) && !errors.Is(err, oauth.ErrUnavailable) && !errors.Is(err, oauth.ErrStore)
}

// absent reports whether the server has no such component or task. An unlisted component may exist,
// so it counts as absent only if the server also refuses it.
func absent(err error) bool {
	fault, refused := errors.AsType[*protocol.Fault](err)
	answer, answered := errors.AsType[*protocol.Error](err)
	return wraps[*unlistedError](err) && (wraps[*toolError](err) || answered && answer.Code == invalidParams) ||
		wraps[*missingError](err) || errors.Is(err, client.ErrTaskGone) || refused && fault.Kind == protocol.FaultResourceNotFound
}

// report prints a failure as JSON for programs.
func (e exit) report(out io.Writer, err error) {
	_ = json.NewEncoder(out).Encode(map[string]any{"error": map[string]any{ // stdout may be closed
		"code": e.code, "kind": e.kind, "message": failure(err),
	}})
}

// noPage replaces an HTML page in an error, because a server that answers with one is not an MCP
// server.
func noPage(server string, err error) error {
	status, ok := errors.AsType[*client.HTTPError](err)
	if !ok || denied(err) {
		return err
	}
	body := strings.ToLower(strings.TrimSpace(status.Body))
	if !strings.HasPrefix(body, "<!doctype") && !strings.HasPrefix(body, "<html") {
		return err
	}
	return &unreachedError{fmt.Errorf("no MCP server at %s: it answers HTTP %d with a page of HTML", server, status.Status)}
}
