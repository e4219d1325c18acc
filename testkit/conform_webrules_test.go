package testkit

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// webRules are about requests over Streamable HTTP.
func webRules() []kagamiRule {
	return overWeb(slices.Concat(webAnswers(), webSessions(), webHeaders()))
}

func webAnswers() []kagamiRule {
	return []kagamiRule{
		{
			number: "http-1", text: "A request is answered with 200 and the response, as application/json or text/event-stream.",
			check: streamed,
		},
		{
			number: "http-2", text: "A notification is accepted with 202 and no body.",
			check: func(w *visitor) error {
				a, err := w.post(`{"jsonrpc":"2.0","method":"notifications/testkit"}`)
				if err == nil && len(a.body) > 0 {
					err = errors.New("want no body")
				}
				if err == nil {
					err = a.is(http.StatusAccepted)
				}
				return err
			},
		},
		{
			number: "http-3", text: "A request from a page of another site is refused with 403.",
			check: func(w *visitor) error {
				a, err := w.edited(w.request(w.alive(), "{}"), func(h http.Header) { h.Set("Origin", "https://testkit.invalid") })
				if err == nil {
					err = a.is(http.StatusForbidden)
				}
				return err
			},
		},
	}
}

func webSessions() []kagamiRule {
	return []kagamiRule{
		{
			number: "http-4", text: "A session id is visible ASCII, and each session has another.",
			at: (*dialect.Dialect).Handshake, check: sessionID,
		},
		{
			number: "http-5", text: "A request without its session id is refused with 400, one of a session that is not there with 404.",
			at: (*dialect.Dialect).Handshake, check: func(w *visitor) error {
				if err := w.sessions(); err != nil {
					return err
				}
				frame := w.request("ping", "{}")
				w.web.session = ""
				if err := w.statusOf(frame, http.StatusBadRequest); err != nil {
					return err
				}
				w.web.session = "testkit-none"
				return w.statusOf(frame, http.StatusNotFound)
			},
		},
		{
			number: "http-6", text: "A session that was ended by DELETE is gone: 404.",
			at: (*dialect.Dialect).Handshake, check: deadSession,
		},
	}
}

func webHeaders() []kagamiRule {
	versioned := func(d *dialect.Dialect) bool { return d.Handshake() && d.VersionHeader() }
	return []kagamiRule{
		{
			number: "http-7", text: "An unsupported MCP-Protocol-Version is refused with 400.",
			at: versioned, check: func(w *visitor) error {
				a, err := w.edited(w.request("ping", "{}"), func(h http.Header) { h.Set("Mcp-Protocol-Version", "1999-01-01") })
				if err == nil {
					err = a.is(http.StatusBadRequest)
				}
				return err
			},
		},
		{
			number: "http-8", text: "MCP-Protocol-Version that is missing, or not that of the body, is refused with 400 and -32020.",
			at: (*dialect.Dialect).MirrorHeaders, check: func(w *visitor) error {
				return w.mismatches(w.request(w.alive(), "{}"), "Mcp-Protocol-Version", "", "2025-11-25")
			},
		},
		{
			number: "http-9", text: "Mcp-Method that is missing, or not that of the body in its letter case, is refused with 400 and -32020.",
			at: (*dialect.Dialect).MirrorHeaders, check: func(w *visitor) error {
				return w.mismatches(w.request(w.alive(), "{}"), "Mcp-Method", "", "tools/list", "SERVER/DISCOVER")
			},
		},
		{
			number: "http-10", text: "Errors have the statuses of their codes: 404 for -32601, 400 for -32022 and for what is missing in _meta.",
			at: (*dialect.Dialect).StatusByCode, check: statuses,
		},
		{
			number: "http-11", text: "There are no sessions: a session id is ignored, and none is given.",
			at: (*dialect.Dialect).CancelByClose, check: func(w *visitor) error {
				a, err := w.edited(w.request(w.alive(), "{}"), func(h http.Header) { h.Set(sessionHeader, "testkit-none") })
				if err == nil && a.header.Get(sessionHeader) != "" {
					err = errors.New("want no session id")
				}
				if err == nil {
					err = a.is(http.StatusOK)
				}
				return err
			},
		},
	}
}

// overWeb makes rules about requests over HTTP, at the revisions that have Streamable HTTP.
func overWeb(rules []kagamiRule) []kagamiRule {
	for i, r := range rules {
		rules[i].http, rules[i].source = true, "basic/transports, \"Streamable HTTP\""
		rules[i].at = func(d *dialect.Dialect) bool {
			return (d.Resumable() || d.CancelByClose()) && r.holds(d)
		}
	}
	return rules
}

// webCallRules are about calls over Streamable HTTP.
func webCallRules() []kagamiRule {
	return overWeb([]kagamiRule{
		{
			number: "http-12", text: "Mcp-Name that is missing, or not that of the body, is refused with 400 and -32020; one in base64 is read.",
			at: (*dialect.Dialect).MirrorHeaders, check: func(w *visitor) error {
				frame := w.request("tools/call", callOf(toolSteps, "{}"))
				if err := w.mismatches(frame, "Mcp-Name", "", toolFail, "=?base64?!!?="); err != nil {
					return err
				}
				encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(toolSteps)) + "?="
				a, err := w.edited(frame, func(h http.Header) { h.Set("Mcp-Name", encoded) })
				if err == nil {
					err = a.is(http.StatusOK)
				}
				return err
			},
		},
		{
			number: "http-13", text: "An argument that belongs in a header, and is not there, or another, is refused with 400 and -32020.",
			at: (*dialect.Dialect).MirrorHeaders, check: func(w *visitor) error {
				const header = "Mcp-Param-Testkit-Region"
				frame := w.request("tools/call", callOf(guestAt, `{"region":"Oslo"}`))
				if err := w.mismatches(frame, header, "", "Kyoto"); err != nil {
					return err
				}
				a, err := w.edited(frame, func(h http.Header) { h.Set(header, "Oslo") })
				if err == nil {
					err = a.is(http.StatusOK)
				}
				return err
			},
		},
		{
			number: "http-14", text: "A client that cannot do what a call needs is refused with 400 and -32021.",
			at: (*dialect.Dialect).StatusByCode, check: func(w *visitor) error {
				return w.statusOf(w.request("tools/call", callOf(guestAsk, "{}")), http.StatusBadRequest, codeMissingCapability)
			},
		},
		{
			number: "http-15", text: "What is said of a call comes on its own stream, before the response, which ends it.",
			check: progresses,
		},
		{
			number: "http-16", text: "Closing the stream of a call cancels it.",
			at: (*dialect.Dialect).CancelByClose, check: closes,
		},
	})
}

// closes closes the response in the middle of a call.
func closes(w *visitor) error {
	ticket, v := w.guest.expect()
	ctx, leave := context.WithCancel(w.ctx)
	defer leave()
	left := make(chan error, 1)
	frame := w.request("tools/call", callOf(guestWait, ticketOf(ticket)))
	go func() {
		_, err := w.over(ctx, http.MethodPost, frame)
		left <- err
	}()
	select {
	case <-v.began:
	case err := <-left: // also if w.ctx ends
		return errors.Join(errNotRun, err)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("want no answer: %w", err)
	}
	return v.cancelled(w.ctx)
}
