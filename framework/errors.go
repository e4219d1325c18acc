package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// Sentinels. ErrUnsupported also Is errors.ErrUnsupported. None of them Is
// context.Canceled: that is the call's end, not the user's answer.
//
// ErrPending says that the question was filed. The handler should return now and will run
// again with the answer; this is not a failure, and whatever it returns along with
// ErrPending is ignored. It occurs only where the client is asked in rounds (2026-07-28).
//
// ErrUncertain says that an AtMostOnce effect may or may not have happened.
var (
	ErrDeclined    = errors.New("the user declined to answer")
	ErrCancelled   = errors.New("the user dismissed the question without an answer")
	ErrUnsupported = fmt.Errorf("the client cannot be asked for this: %w", errors.ErrUnsupported)
	ErrNotFound    = errors.New("not found")
	ErrUncertain   = errors.New("it is not certain whether the effect has happened")
	ErrPending     = engine.ErrPending
)

// userError is the error of UserErrorf and NotFoundf.
type userError struct {
	error         // made by fmt.Errorf: the text, and what it wraps
	notFound bool // Is ErrNotFound
}

func (e *userError) Unwrap() error { return e.error }

// Is makes errors of NotFoundf an ErrNotFound.
func (e *userError) Is(target error) bool { return e.notFound && target == ErrNotFound }

// UserErrorf returns an error whose text is meant for the model and the user. It formats
// like fmt.Errorf: the text of a %w is shown, too.
func UserErrorf(format string, args ...any) error {
	return &userError{error: fmt.Errorf(format, args...)}
}

// NotFoundf is a UserErrorf that Is ErrNotFound: from a resource, the
// specification's "resource not found".
func NotFoundf(format string, args ...any) error {
	return &userError{error: fmt.Errorf(format, args...), notFound: true}
}

// argumentError is the error of InvalidArgumentf.
type argumentError struct {
	path string // JSON pointer
	error
}

// Error names the argument.
func (e *argumentError) Error() string { return e.path + ": " + e.error.Error() }

func (e *argumentError) Unwrap() error { return e.error }

// InvalidArgumentf blames one argument; path is a dotted name or a JSON pointer.
// errors.Join blames several. The text is meant for the model.
func InvalidArgumentf(path, format string, args ...any) error {
	return &argumentError{path: pointer(path), error: fmt.Errorf(format, args...)}
}

// pointer turns a dotted name into a JSON pointer.
func pointer(path string) string {
	if path == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + strings.ReplaceAll(path, ".", "/")
}

// becauseError is the error of Because.
type becauseError struct{ shown, cause error }

// Error is for the log, and has both texts.
func (e *becauseError) Error() string { return e.shown.Error() + ": " + e.cause.Error() }

func (e *becauseError) Unwrap() []error { return []error{e.shown, e.cause} }

// Because shows err to the client and keeps cause for the log and for errors.Is. An err
// that does not come from this package is shown as if UserErrorf had made it. If either is
// nil, the other is returned.
func Because(err, cause error) error {
	switch {
	case err == nil:
		return cause
	case cause == nil:
		return err
	}
	return &becauseError{shown: err, cause: cause}
}

// unsupportedError has what the client would have needed.
type unsupportedError struct {
	what    string
	missing *protocol.ClientCapabilities // nil: it is not because of the client's capabilities
}

// Error names what could not be done.
func (e *unsupportedError) Error() string { return e.what }

func (e *unsupportedError) Unwrap() error { return ErrUnsupported }

// askError is the error that the client answered a question with. When a call's error is
// classified, it is not unwrapped: the client's own error must not come back to the client as
// the server's.
type askError struct {
	doing string
	cause error
}

// Error is for the log.
func (e *askError) Error() string { return e.doing + ": " + e.cause.Error() }

func (e *askError) Unwrap() error { return e.cause }

// class decides how an error is answered.
type class uint8

const (
	classInternal  class = iota // logged; the client gets a general text
	classUser                   // its text is meant for the model
	classNotFound               // so is this one's
	classArguments              // issues of arguments
	classProtocol               // a *protocol.Error or *protocol.Fault, as it is
	classMissing                // the client lacks a capability
	classCancelled              // the call is over: nobody is listening
	classVisit                  // of URLRequired
)

// verdict is an error, classified.
type verdict struct {
	class   class
	text    string
	invalid *binding.Invalid
	wire    error // classProtocol
	missing *protocol.ClientCapabilities
	visit   *visitError // classVisit
}

// classify classifies an error by the outermost one in its chain that has a class.
func classify(err error) verdict {
	for err != nil {
		if v, ok := own(err); ok {
			return v
		}
		switch e := err.(type) { //nolint:errorlint // classify walks along the chain itself
		case *becauseError:
			return shown(e.shown)
		case interface{ Unwrap() []error }:
			return joined(e.Unwrap())
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return verdict{}
		}
	}
	return verdict{}
}

// own classifies err itself, and not what it wraps.
func own(err error) (verdict, bool) {
	switch e := err.(type) { //nolint:errorlint // err itself, not what it wraps: classify walks
	case *userError:
		if e.notFound {
			return verdict{class: classNotFound, text: e.Error()}, true
		}
		return verdict{class: classUser, text: e.Error()}, true
	case *argumentError:
		invalid := binding.NewInvalid(binding.Issue{Path: e.path, Hint: sentence(e.error.Error()), Rule: "invalid"})
		return verdict{class: classArguments, invalid: invalid}, true
	case *binding.Invalid:
		return verdict{class: classArguments, invalid: e}, true
	case *protocol.Error:
		return verdict{class: classProtocol, wire: e}, true
	case *protocol.Fault:
		return verdict{class: classProtocol, wire: e}, true
	case *unsupportedError:
		return verdict{class: classMissing, text: e.Error(), missing: e.missing}, true
	case *askError:
		return verdict{class: classInternal}, true
	case *visitError:
		return verdict{class: classVisit, visit: e}, true
	}
	switch err {
	case ErrDeclined: //nolint:errorlint // err itself, not what it wraps: classify walks
		return verdict{class: classUser, text: "The user declined to answer."}, true
	case ErrCancelled:
		return verdict{class: classUser, text: "The user dismissed the question without an answer."}, true
	case ErrUnsupported:
		return verdict{class: classMissing, text: err.Error()}, true
	case ErrNotFound:
		return verdict{class: classNotFound, text: "not found"}, true
	case ErrUncertain:
		return verdict{class: classUser, text: "It is not certain whether an earlier attempt of this call took effect. It was not repeated."}, true
	case context.Canceled:
		return verdict{class: classCancelled}, true
	}
	return verdict{}, false
}

// shown is the class of the visible error of Because: that of a user error, unless it has a
// class of its own.
func shown(err error) verdict {
	if v := classify(err); v.class != classInternal {
		return v
	}
	return verdict{class: classUser, text: err.Error()}
}

// joined combines the issues of arguments and the texts for the user; any other class wins
// alone.
func joined(errs []error) verdict {
	var issues []binding.Issue
	var texts []string
	var first verdict
	for _, err := range errs {
		v := classify(err)
		switch v.class {
		case classArguments:
			issues = append(issues, v.invalid.Issues...)
		case classUser, classNotFound:
			texts = append(texts, v.text)
			if first.class == classInternal {
				first.class = v.class
			}
		case classProtocol, classMissing, classCancelled, classVisit:
			return v
		case classInternal: // the log gets it in full
		}
	}
	switch {
	case len(issues) > 0:
		for _, text := range texts {
			issues = append(issues, binding.Issue{Hint: sentence(text), Rule: "invalid"})
		}
		return verdict{class: classArguments, invalid: binding.NewInvalid(issues...)}
	case len(texts) > 0:
		first.text = strings.Join(texts, "\n")
	}
	return first
}

// sentence ends the text with a full stop.
func sentence(text string) string {
	if text == "" || strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

// judge maps the error with the app's mapper, classifies it, and logs what the client is not
// told.
func (s *Server) judge(ctx context.Context, c *engine.Call, err error, b *bound) verdict {
	err = s.mapped(ctx, err)
	v := classify(err)
	var because *becauseError
	switch {
	case v.class == classInternal && ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout):
		v.class, v.text = classUser, fmt.Sprintf("The %s took longer than %s and was stopped.", b.noun, b.timeout)
	case v.class == classCancelled && ctx.Err() == nil:
		v.class = classInternal // it was cancelled by somebody else
	case v.class == classInternal && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		v.class = classCancelled
	}
	switch {
	case v.class == classInternal || errors.As(err, &because) || errors.Is(err, ErrUncertain):
		s.logFailure(ctx, c, err, b.noun, b.info.Name)
	case v.class == classArguments && v.invalid.Panic != nil:
		s.logFailure(ctx, c, v.invalid.Panic, b.noun, b.info.Name)
	case v.class == classProtocol:
		s.logUnsendable(ctx, c, v.wire, b)
	}
	if v.class == classInternal {
		v.text = fmt.Sprintf("The %s failed. The error was logged.", b.noun)
		if s.cfg.detail {
			v.text = err.Error()
		}
	}
	return v
}

// mapped is the result of WithErrorMapper's function for err. It is err if there is no function
// or that returns nil, and its panic if it panics.
func (s *Server) mapped(ctx context.Context, err error) error {
	if s.cfg.mapper == nil {
		return err
	}
	out, panicked := guarded(ctx, func(ctx context.Context, err error) (error, error) { return s.cfg.mapper(ctx, err), nil }, err)
	return cmp.Or(panicked, out, err)
}

// logFailure logs an error of which the client does not get the whole text.
func (s *Server) logFailure(ctx context.Context, c *engine.Call, err error, noun, name string) {
	fields := []zap.Field{failure(ctx, err)}
	message := "background work failed" // of no request
	if c != nil || name != "" {
		fields = append(fields, zap.String(noun, name))
		message = "a " + noun + " failed"
	}
	if c != nil {
		fields = append(fields, zap.String("call", c.ID()))
	}
	s.cfg.logger.Error(message, withStack(fields, err)...)
}

// logPanic logs the panic of a method of the program's on an answer, if there was one.
func (h *handling) logPanic(ctx context.Context, invalid *binding.Invalid) {
	if h != nil && invalid.Panic != nil {
		h.server.logFailure(ctx, h.call, invalid.Panic, h.bound.noun, h.bound.info.Name)
	}
}

// logUnsendable logs that the data of an error has no JSON form: the client gets the error without.
func (s *Server) logUnsendable(ctx context.Context, c *engine.Call, err error, b *bound) {
	var data any
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		data = fault.Data
	} else if plain, ok := errors.AsType[*protocol.Error](err); ok {
		data = plain.Data
	}
	if data == nil {
		return
	}
	if _, unsendable := encoded(data); unsendable != nil {
		s.logFailure(ctx, c, fmt.Errorf("the data of the error %w has no JSON form, and was left out: %w", err, unsendable), b.noun, b.info.Name)
	}
}

// withStack adds the stack of a panic.
func withStack(fields []zap.Field, err error) []zap.Field {
	if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	} else if panicked, ok := errors.AsType[*binding.Panic](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	}
	return fields
}

// failure is err for the log, without the arguments that are secret by their tag or name.
func failure(ctx context.Context, err error) zap.Field {
	if h := handlingFrom(ctx); h != nil {
		redacted, hidden := RedactArguments(ctx, h.seen.Arguments)
		if hidden = appendSecrets(hidden, redacted); len(hidden) > 0 {
			return zap.String("error", RedactText(fmt.Sprint(err), hidden))
		}
	}
	return zap.Error(err)
}

// invalidFault tells the caller all that is wrong with the arguments.
func invalidFault(kind protocol.FaultKind, name string, invalid *binding.Invalid) *protocol.Fault {
	return &protocol.Fault{Kind: kind, Message: invalid.Text(name), Data: map[string]any{"issues": invalid.Issues}}
}

// refusal is the JSON-RPC error for err whatever was called; nil: the error is answered by its
// text, in a form that depends on what was called.
func (v *verdict) refusal(ctx context.Context, c *engine.Call, err error) (text string, answer error) {
	switch v.class {
	case classProtocol:
		return "", v.wire
	case classCancelled:
		return "", err
	case classMissing:
		if v.missing != nil && c.Dialect.InputRounds() {
			return "", &protocol.Fault{Kind: protocol.FaultMissingCapability, Message: v.text, Required: v.missing}
		}
	case classVisit:
		return v.visit.demand(ctx)
	default:
	}
	return v.text, nil
}

// refuseTool answers errors of tools: as results that the model sees, except errors of the
// protocol.
func (b *bound) refuseTool(ctx context.Context, c *engine.Call, err error) (protocol.Result, error) {
	v := b.server.judge(ctx, c, err, b)
	switch {
	case v.class == classInternal && c.WillRetry():
		return nil, err
	case v.class == classArguments:
		return nil, invalidFault(protocol.FaultInvalidArguments, b.info.Name, v.invalid)
	}
	text, err := v.refusal(ctx, c, err)
	if err != nil {
		return nil, err
	}
	return toolError(text), nil
}

// refusePlain answers errors of prompts, resources and methods: JSON-RPC errors.
func (b *bound) refusePlain(ctx context.Context, c *engine.Call, err error) (protocol.Result, error) {
	v := b.server.judge(ctx, c, err, b)
	switch v.class {
	case classArguments:
		return nil, invalidFault(protocol.FaultInvalidParams, b.info.Name, v.invalid)
	case classNotFound:
		switch p := c.Params.(type) {
		case *protocol.ReadResourceParams:
			return nil, &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: v.text, URI: p.URI}
		case *protocol.SubscribeParams:
			return nil, &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: v.text, URI: p.URI}
		}
	default:
	}
	text, err := v.refusal(ctx, c, err)
	if err != nil {
		return nil, err
	}
	return nil, &protocol.Error{Code: protocol.CodeInternal, Message: text}
}
