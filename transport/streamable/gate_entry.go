package streamable

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Entry is a request that a Gate let in.
type Entry struct {
	ctx    context.Context //nolint:containedctx // the request's
	r      *Request
	common []Field                                            // header fields of every reply
	who    string                                             // returned by Principal
	key    func(remoteAddr string, f transport.Fields) string // Config.ClientKey
}

// Context is the request's; it carries the principal.
func (e *Entry) Context() context.Context { return e.ctx }

// Refuse is a reply whose body is a JSON-RPC error.
func (e *Entry) Refuse(status int, message string, more ...Field) *Reply {
	return refuse(status, message, more...).with(e.common)
}

// NotAllowed is the reply to a method that is not among methods.
func (e *Entry) NotAllowed(methods string) *Reply { return notAllowed(methods).with(e.common) }

// Taken is the reply to a frame that is answered elsewhere or not at all.
func (e *Entry) Taken() *Reply {
	return (&Reply{Status: http.StatusAccepted}).with(e.common)
}

// ShuttingDown is the reply of an endpoint that takes no more.
func (e *Entry) ShuttingDown() *Reply { return shuttingDown().with(e.common) }

// Unavailable is the reply where sessions cannot be looked up now.
func (e *Entry) Unavailable() *Reply { return unavailable().with(e.common) }

// TooMany is the reply to a client that has enough of something, or when there is no room.
func (e *Entry) TooMany(message string) *Reply {
	return e.Refuse(http.StatusTooManyRequests, message, retryAfter)
}

// TooLarge is the reply to a body of more than limit bytes.
func (e *Entry) TooLarge(limit int) *Reply { return TooLarge(limit).with(e.common) }

// Unreadable is the reply to a body that broke off or was malformed as HTTP.
func (e *Entry) Unreadable() *Reply {
	return e.Refuse(http.StatusBadRequest, "the body could not be read")
}

// NoJSON refuses a POST that has no plain JSON as its body; nil: it has.
func (e *Entry) NoJSON() *Reply {
	if refused := unreadableContent(e.r.Fields); refused != nil {
		return refused.with(e.common)
	}
	return nil
}

// NoEvents refuses a client that takes no SSE stream, or cannot be sent one; nil: it does,
// and can.
func (e *Entry) NoEvents() *Reply {
	if _, sse := accepted(e.r.Fields); !sse {
		return e.Refuse(http.StatusNotAcceptable, "Accept must name text/event-stream")
	}
	if e.r.Whole {
		return e.Refuse(http.StatusInternalServerError, heldBack)
	}
	return nil
}

// Principal is a key by which principals are told apart; empty where there is none.
func (e *Entry) Principal() string { return e.who }

// Client returns the key under which limits count a caller: its principal, else what the program
// knows it by, else its address.
func (e *Entry) Client() string {
	if e.who != "" {
		return e.who
	}
	if e.key != nil {
		if key := e.key(e.r.RemoteAddr, e.r.Fields); key != "" {
			return key
		}
	}
	return addressKey(e.r.RemoteAddr)
}

// principalKey returns a key that tells principals apart; empty if ctx has none.
func principalKey(ctx context.Context) string {
	p := transport.PrincipalFrom(ctx)
	if p == nil {
		return ""
	}
	return p.Issuer + "\x00" + p.Subject
}

// usualAccept is what most clients send, as 2025-03-26 basic/transports demands.
const usualAccept = typeJSON + ", " + typeSSE

// accepted reports which response types the client accepts. Without Accept, as from some
// clients and from curl, it is both. A named type takes precedence over a range that includes
// it (RFC 9110 section 12.5.1).
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

// wish is what Accept says about one media type: the most specific range decides.
type wish struct {
	precision int
	takes     bool
}

func (w *wish) say(precision int, takes bool) {
	if precision >= w.precision {
		w.precision, w.takes = precision, takes
	}
}

// weighsNothing reports whether the parameters contain q=0, "not acceptable" (RFC 9110
// section 12.4.2).
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

// contentIsJSON reports whether the body is JSON in UTF-8. Bodies of some other types are
// refused for safety, too: browsers send those cross-origin without a preflight.
func contentIsJSON(f transport.Fields) bool {
	value, times := f.Value("Content-Type")
	if times != 1 {
		return false
	}
	if value == typeJSON {
		return true
	}
	name, params, err := mime.ParseMediaType(value)
	charset := params["charset"]
	return err == nil && name == typeJSON && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

// unreadableContent refuses a body of another type or with a Content-Encoding, before it is
// read. Nil: the body can be read.
func unreadableContent(f transport.Fields) *Reply {
	if !contentIsJSON(f) {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if _, encoded := f.Value("Content-Encoding"); encoded > 0 {
		return refuse(http.StatusUnsupportedMediaType, "compressed bodies are not accepted")
	}
	return nil
}
