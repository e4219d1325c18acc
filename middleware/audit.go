package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Audit writes one JSON line per logical call, when the call is over:
//
//	{"time":"2026-07-28T12:00:00.123Z","issuer":"https://id.example","subject":"ann","address":"192.0.2.1:4711",
//	 "method":"tools/call","name":"refund","outcome":"limited","code":429,"durationMs":12.5,"rounds":2,"call":"k7-1","task":"..."}
//
// The principal identifies the caller. Without a principal, "session" is a digest of the session's
// ID, because anyone who has the ID itself can use the session. "task" is such a digest, too.
//
// Name is the component's name or the resource's URI. If a variable of a URI template is tagged
// secret, name is the template. Arguments and results are not written.
//
// The outcome is a framework.Outcome, or "panic" if a later step panicked. If the caller lacks
// scopes, the outcome is "denied", even if the caller receives a different error. Code is the code
// of a protocol.Error, such as 429; other errors have none. The duration covers only the last
// round. A round that is refused and may be sent again has a line of its own. A call has no line if
// its client never answers a question, if its task ends while it waits for an answer or a worker,
// or if there are too many tasks or its state is too large.
//
// Audit writes each line with one Write, before the call is answered. Writes do not overlap, so w
// may be a file opened for appending. If w blocks, all calls wait. If a write fails, the line is
// lost, the error is logged through the app's logger, and the call is answered as usual. Phase:
// trace; if Audit is given first, it sees what all other steps do.
func Audit(w io.Writer) framework.Middleware {
	if isNil(w) {
		return broken("Audit: the writer is nil")
	}
	a := &audit{w: w}
	return framework.Middleware{Name: "audit", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler { return watched(next, a.write) }}
}

type audit struct {
	mu   sync.Mutex // guards all below
	w    io.Writer
	buf  []byte
	torn bool // the last line was written in part
}

const outcomePanic framework.Outcome = "panic"

var errPanicked = errors.New("a later step panicked")

// watched returns a handler that calls done when a call is over, also if a later step panics.
// received are the arguments that came, because an inner step may change the call.
func watched(next framework.Handler, done func(ctx context.Context, call *framework.Call, received json.RawMessage, outcome framework.Outcome, err error)) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (result *framework.Result, err error) {
		call.Began() // starts the clock before the call, not when the duration is read
		received, outcome := call.Arguments, outcomePanic
		defer func() { // deferred, so that a call that panics is also recorded; the server recovers the panic
			judged := outcome
			if outcome == outcomePanic { // after a panic, a question may still be pending, or the task runs again
				judged = framework.OutcomeOf(ctx, nil, errPanicked)
			}
			if judged != framework.OutcomePending {
				done(ctx, call, received, outcome, err)
			}
		}()
		result, err = next(ctx, call)
		outcome = framework.OutcomeOf(ctx, result, err)
		return result, err
	}
}

func (a *audit) write(ctx context.Context, call *framework.Call, _ json.RawMessage, outcome framework.Outcome, failed error) {
	lite := framework.CallerLite(ctx)
	l := auditLine{call, outcome, failed}
	if err := a.put(&l, framework.RedactName(ctx, call), &lite); err != nil {
		framework.ServerFrom(ctx).Logger().Error("a line of the audit was not written",
			zap.String("call", call.ID), zap.String("outcome", string(outcome)), zap.Error(err))
	}
}

func (a *audit) put(l *auditLine, name string, lite *framework.CallInfoLite) error {
	a.mu.Lock()
	defer a.mu.Unlock() // deferred, so that a panic of the writer fails only one call and does not leave mu locked
	a.buf = a.buf[:0]
	if a.torn { // the rest of a lost line must not take the next one with it
		a.buf = append(a.buf, '\n')
	}
	a.buf = append(l.append(a.buf, name, lite), '\n')
	n, err := a.w.Write(a.buf)
	if err == nil || n > 0 && n <= len(a.buf) {
		a.torn = err != nil && a.buf[n-1] != '\n'
	}
	return err
}

// auditLine is the line of one finished call.
type auditLine struct {
	call    *framework.Call
	outcome framework.Outcome
	err     error
}

func (l *auditLine) append(dst []byte, name string, b *framework.CallInfoLite) []byte {
	text := func(key, value string) {
		if value != "" {
			dst = append(append(append(dst, '"'), key...), '"', ':')
			dst = append(jsontext.Quote(dst, value), ',')
		}
	}
	dst = append(dst, '{')
	text("time", l.call.Began().UTC().Format(time.RFC3339Nano))
	switch {
	case b.Principal != nil:
		text("issuer", b.Principal.Issuer)
		text("subject", b.Principal.Subject)
	case b.Session != "":
		text("session", digest(b.Session))
	}
	text("address", b.RemoteAddr)
	text("method", l.call.Method)
	text("name", jsontext.Clip(name, maxAuditName))
	text("outcome", string(l.outcome))
	if plain, ok := errors.AsType[*protocol.Error](l.err); ok {
		dst = append(strconv.AppendInt(append(dst, `"code":`...), int64(plain.Code), 10), ',')
	}
	ms := float64(time.Since(l.call.Began()).Microseconds()) / 1000
	dst = append(strconv.AppendFloat(append(dst, `"durationMs":`...), ms, 'f', -1, 64), ',')
	dst = append(strconv.AppendInt(append(dst, `"rounds":`...), int64(l.call.Round)+1, 10), ',')
	text("call", l.call.ID)
	if b.Task != "" {
		text("task", digest(b.Task))
	}
	dst[len(dst)-1] = '}'
	return dst
}

// maxAuditName bounds the name in a line. It is larger than the bound for logs (maxName), because
// an audit should distinguish two URIs.
const maxAuditName = 2 << 10
