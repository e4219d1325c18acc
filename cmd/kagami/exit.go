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
type unreachedError struct{ err error }

func (e *unreachedError) Error() string { return e.err.Error() }
func (e *unreachedError) Unwrap() error { return e.err }

// unlistedError is the error for a component that the server does not list.
type unlistedError struct{ text string }

func (e *unlistedError) Error() string { return e.text }

// invalidParams is the JSON-RPC error code for a tool or prompt that does not exist.
const invalidParams = -32602

// missingError is the error for something that does not exist.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// exitOf returns the outcome of a command that has returned err.
func exitOf(ctx context.Context, err error) exit {
	if err == nil {
		return exitOK
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if status, ok := errors.AsType[*client.HTTPError](err); ok && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden) {
		return exitLogin
	}
	if isLogin(err) {
		return exitLogin
	}
	if _, ok := errors.AsType[*changedError](err); ok {
		return exitContract
	}
	if absent(err) {
		return exitNotFound
	}
	if _, ok := errors.AsType[*toolError](err); ok {
		return exitTool
	}
	if unreached(err) {
		return exitNoServer
	}
	return exitFailure
}

// isLogin reports whether a login is needed or has failed. An authorization server that cannot be
// reached is a different failure.
func isLogin(err error) bool {
	_, ok := errors.AsType[*oauth.Error](err)
	return ok && !errors.Is(err, oauth.ErrUnavailable) && !errors.Is(err, oauth.ErrStore)
}

// absent reports whether the server has no such component or task. An unlisted component may exist,
// so it counts as absent only if the server also refuses it.
func absent(err error) bool {
	fault, refused := errors.AsType[*protocol.Fault](err)
	answer, answered := errors.AsType[*protocol.Error](err)
	_, failed := errors.AsType[*toolError](err)
	if _, unlisted := errors.AsType[*unlistedError](err); unlisted && (failed || answered && answer.Code == invalidParams) {
		return true
	}
	if _, missing := errors.AsType[*missingError](err); missing {
		return true
	}
	return errors.Is(err, client.ErrTaskGone) || refused && fault.Kind == protocol.FaultResourceNotFound
}

// unreached reports whether the server could not be reached, or has ended.
func unreached(err error) bool {
	if _, ok := errors.AsType[*unreachedError](err); ok {
		return true
	}
	_, network := errors.AsType[*url.Error](err)
	_, ended := errors.AsType[*exec.ExitError](err)
	return network || ended || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrClosed)
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
	if !ok || status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
		return err
	}
	body := strings.ToLower(strings.TrimSpace(status.Body))
	if !strings.HasPrefix(body, "<!doctype") && !strings.HasPrefix(body, "<html") {
		return err
	}
	return &unreachedError{fmt.Errorf("no MCP server at %s: it answers HTTP %d with a page of HTML", server, status.Status)}
}
