package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// LogOption configures Logging. Other packages cannot implement it.
type LogOption interface{ logOption() }

type logOption func(*logging)

func (logOption) logOption() {}

// Redact hides members of arguments by name, at any depth. Case, "_", "-" and "." make no
// difference. Members with the name of a secret (framework.IsSecretName) and fields with the tag
// secret:"true" are always hidden. Variables of a URI are not members; only the tag hides them.
func Redact(names ...string) LogOption {
	return logOption(func(l *logging) {
		for _, name := range names {
			l.redact.names = append(l.redact.names, fold(name))
		}
	})
}

// RedactPattern hides text that matches a pattern, in arguments, names and errors. Numbers of
// arguments are searched as they were written. Tokens with their scheme, JSON web tokens, private
// keys, passwords in URLs and keys of well-known services are always hidden.
func RedactPattern(patterns ...*regexp.Regexp) LogOption {
	return logOption(func(l *logging) { l.redact.patterns = append(l.redact.patterns, patterns...) })
}

// WithoutArguments leaves arguments out of the log. Secrets of the arguments are still hidden in
// errors.
func WithoutArguments() LogOption {
	return logOption(func(l *logging) { l.arguments = false })
}

// Sample logs only one in n of the calls that are not logged as warnings: the first call and every
// nth after it. Warnings are never left out.
func Sample(n int) LogOption { return logOption(func(l *logging) { l.sample = int64(n) }) }

// Logging logs every call through the app's logger: the component, the caller, the outcome, the
// duration, and the trace if Trace is an earlier step. Calls that the server refused, or that
// failed through its fault, are logged as warnings; all others have level info. Handlers log with
// framework.Log.
//
// Arguments are logged as text of at most 2 KiB, without secrets (see Redact). Errors have the same
// limit. Secrets of the arguments are hidden in them if they have 4 bytes or more. Results are
// never logged.
//
// If a later step panics, the outcome is "panic". A call that was asked in rounds is logged when it
// is over, with the duration of its last round. Phase: trace.
func Logging(opts ...LogOption) framework.Middleware {
	l := &logging{arguments: true, sample: 1}
	for _, o := range opts {
		opt, ok := o.(logOption)
		if !ok {
			return broken("Logging: an option is nil")
		}
		opt(l)
	}
	if l.sample < 1 {
		return broken("Logging: Sample needs 1 or more")
	}
	if slices.Contains(l.redact.patterns, nil) {
		return broken("Logging: a pattern is nil")
	}
	return framework.Middleware{Name: "logging", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler { return watched(next, l.write) }}
}

// Bounds of the log entry of one call.
const (
	maxArguments = 2 << 10
	maxError     = 2 << 10
)

type logging struct {
	redact    redactor
	arguments bool
	sample    int64
	calls     atomic.Int64 // number of calls that Sample may leave out
}

func (l *logging) write(ctx context.Context, call *framework.Call, received json.RawMessage, outcome framework.Outcome, err error) {
	level := levelOf(outcome)
	if level == zapcore.InfoLevel && l.sample > 1 && l.calls.Add(1)%l.sample != 1 {
		return
	}
	if entry := framework.ServerFrom(ctx).Logger().Check(level, "call"); entry != nil {
		was := *call
		was.Arguments = received
		entry.Write(l.fields(ctx, &was, outcome, time.Since(call.Began()), err)...)
	}
}

func levelOf(outcome framework.Outcome) zapcore.Level {
	switch outcome {
	case framework.OutcomeFailed, framework.OutcomeTimeout, framework.OutcomeLimited, framework.OutcomeRejected, framework.OutcomeDenied, outcomePanic:
		return zapcore.WarnLevel
	default:
		return zapcore.InfoLevel
	}
}

func (l *logging) fields(ctx context.Context, call *framework.Call, outcome framework.Outcome, took time.Duration, err error) []zap.Field {
	name, arguments, secrets := l.redact.call(ctx, call, l.arguments || err != nil) // the text of err may repeat secrets of the arguments
	lite := framework.CallerLite(ctx)
	fields := append(make([]zap.Field, 0, 12),
		zap.String("method", call.Method), zap.String("name", name), zap.String("outcome", string(outcome)),
		zap.Duration("duration", took), zap.String("call", call.ID))
	if call.Round > 0 {
		fields = append(fields, zap.Int("rounds", call.Round+1))
	}
	if lite.Task != "" {
		fields = append(fields, zap.String("task", digest(lite.Task)))
	}
	if p := lite.Principal; p != nil {
		fields = append(fields, zap.String("subject", jsontext.Clip(p.Subject, maxName)))
	}
	if lite.RemoteAddr != "" {
		fields = append(fields, zap.String("address", lite.RemoteAddr))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		fields = append(fields, zap.Stringer("trace", span.TraceID()), zap.Stringer("span", span.SpanID()))
	}
	if l.arguments && arguments != nil { // as one text, because members would create any number of fields in an index of the log
		fields = append(fields, zap.String("arguments", jsontext.Clip(string(arguments), maxArguments)))
	}
	if err != nil && !errors.Is(err, framework.ErrPending) { // the engine logs why no answer can be awaited
		fields = append(fields, zap.String("error", l.redact.bounded(err.Error(), maxError, secrets)))
	}
	return fields
}
