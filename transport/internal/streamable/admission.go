package streamable

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Admission is a request that an Admitter has admitted.
type Admission struct {
	ctx    context.Context //nolint:containedctx // the request's
	r      *Request
	common []Field                                            // header fields of every reply
	who    string                                             // returned by Principal
	key    func(remoteAddr string, f transport.Fields) string // Config.ClientKey
}

// Context returns the context of the request, with its principal.
func (a *Admission) Context() context.Context { return a.ctx }

// Refuse returns a reply with a JSON-RPC error as its body.
func (a *Admission) Refuse(status int, message string, more ...Field) *Reply {
	return refuse(status, message, more...).with(a.common)
}

// NotAllowed returns the reply to a method that is not in methods.
func (a *Admission) NotAllowed(methods string) *Reply { return notAllowed(methods).with(a.common) }

// Accepted returns the reply to a frame whose answer is not in this response, or that has none.
func (a *Admission) Accepted() *Reply {
	return (&Reply{Status: http.StatusAccepted}).with(a.common)
}

// ShuttingDown returns the reply of an endpoint that is shutting down.
func (a *Admission) ShuttingDown() *Reply { return shuttingDown().with(a.common) }

// Unavailable returns the reply if sessions cannot be looked up now.
func (a *Admission) Unavailable() *Reply { return unavailable().with(a.common) }

// TooMany returns the reply to a client that has reached a limit.
func (a *Admission) TooMany(message string) *Reply {
	return a.Refuse(http.StatusTooManyRequests, message, retryAfter)
}

// TooLarge returns the reply to a body of more than limit bytes.
func (a *Admission) TooLarge(limit int) *Reply { return TooLarge(limit).with(a.common) }

// Unreadable returns the reply to a body that ended early or was malformed as HTTP.
func (a *Admission) Unreadable() *Reply {
	return a.Refuse(http.StatusBadRequest, "the body could not be read")
}

// NoJSON returns the reply to a POST whose body is not plain JSON, or nil if it is.
func (a *Admission) NoJSON() *Reply {
	if refused := unreadableContent(a.r.Fields); refused != nil {
		return refused.with(a.common)
	}
	return nil
}

// NoEvents returns the reply to a client that does not accept an SSE stream, or if the carrier cannot
// send one. Otherwise it returns nil.
func (a *Admission) NoEvents() *Reply {
	if _, sse := accepted(a.r.Fields); !sse {
		return a.Refuse(http.StatusNotAcceptable, "Accept must name text/event-stream")
	}
	if a.r.Whole {
		return a.Refuse(http.StatusInternalServerError, heldBack)
	}
	return nil
}

// Principal returns a key that identifies the principal, or "" without a principal.
func (a *Admission) Principal() string { return a.who }

// Client returns the key under which limits count the caller: the principal's, or else the key of
// Config.ClientKey, or else the address.
func (a *Admission) Client() string {
	if a.who != "" {
		return a.who
	}
	if a.key != nil {
		if key := a.key(a.r.RemoteAddr, a.r.Fields); key != "" {
			return key
		}
	}
	return addressKey(a.r.RemoteAddr)
}

// principalKey returns a key that identifies the principal of ctx. If ctx has no principal, or if the
// principal has no Subject and so does not identify a caller, it returns "".
func principalKey(ctx context.Context) string {
	p := transport.PrincipalFrom(ctx)
	if p == nil || p.Subject == "" {
		return ""
	}
	return p.Issuer + "\x00" + p.Subject
}

// usualAccept is the Accept of most clients, as 2025-03-26 basic/transports requires.
const usualAccept = typeJSON + ", " + typeSSE

// accepted reports which response types the client accepts. Without Accept, as from curl and some
// clients, it accepts both. A named type takes precedence over a range that includes it (RFC 9110
// section 12.5.1).
func accepted(f transport.Fields) (json, sse bool) {
	value, times := f.Value("Accept")
	switch {
	case times == 0, times == 1 && value == usualAccept:
		return true, true
	case times == 1 && value == typeSSE:
		return false, true
	}
	var j, s wish
	for _, value := range f.Values("Accept") {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			takes := !weighsNothing(params)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "*/*":
				j.say(1, takes)
				s.say(1, takes)
			case "application/*":
				j.say(2, takes)
			case "text/*":
				s.say(2, takes)
			case typeJSON:
				j.say(3, takes)
			case typeSSE:
				s.say(3, takes)
			}
		}
	}
	return j.takes, s.takes
}

// wish is the result of Accept for one media type. The most specific range decides.
type wish struct {
	precision int
	takes     bool
}

func (w *wish) say(precision int, takes bool) {
	if precision >= w.precision {
		w.precision, w.takes = precision, takes
	}
}

// weighsNothing reports whether the parameters contain q=0, "not acceptable" (RFC 9110 section
// 12.4.2).
func weighsNothing(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}

// contentIsJSON reports whether the body is JSON in UTF-8, which many clients spell utf8. Other types
// are also refused for security: browsers send some of them cross-origin without a preflight.
func contentIsJSON(f transport.Fields) bool {
	value, times := f.Value("Content-Type")
	if times != 1 {
		return false
	}
	if value == typeJSON {
		return true
	}
	name, params, err := mime.ParseMediaType(value)
	charset := strings.ToLower(params["charset"])
	return err == nil && name == typeJSON && (charset == "" || charset == "utf-8" || charset == "utf8")
}

// unreadableContent returns the refusal of a body of another type or of a compressed one, before the
// body is read. It returns nil if the body can be read.
func unreadableContent(f transport.Fields) *Reply {
	if !contentIsJSON(f) {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if coding, times := f.Value("Content-Encoding"); times > 1 || coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "compressed bodies are not accepted")
	}
	return nil
}
