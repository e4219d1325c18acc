package framework

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Errors of questions, resources and effects. errors.Is(ErrUnsupported, errors.ErrUnsupported) is
// true. None of them is context.Canceled: that error means that the call has ended, not that the
// user has refused.
//
// ErrPending means that a question was recorded, or that the call goes on as a task ([Detach]). The
// handler should return now. It will run again, with the answer or in the task. This is not a
// failure, and what the handler returns is ignored. ErrPending occurs only if the client is asked in
// rounds (2026-07-28), and in tasks.
//
// ErrUncertain means that an effect of AtMostOnce may or may not have happened.
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
	error         // made by fmt.Errorf: the text, and the wrapped errors
	notFound bool // errors.Is matches ErrNotFound
}

func (e *userError) Unwrap() error { return e.error }

// Is reports true for ErrNotFound if e is an error of NotFoundf.
func (e *userError) Is(target error) bool { return e.notFound && target == ErrNotFound }

// UserErrorf returns an error whose text is meant for the model and the user. It formats like
// fmt.Errorf; the text includes errors that are wrapped with %w.
func UserErrorf(format string, args ...any) error {
	return &userError{error: fmt.Errorf(format, args...)}
}

// NotFoundf is like UserErrorf, but errors.Is also matches ErrNotFound. For a resource, the client
// gets the specification's error "resource not found".
func NotFoundf(format string, args ...any) error {
	return &userError{error: fmt.Errorf(format, args...), notFound: true}
}

// argumentError is the error of InvalidArgumentf.
type argumentError struct {
	path string // JSON pointer
	error
}

// Error returns the text, with the argument in front.
func (e *argumentError) Error() string { return e.path + ": " + e.error.Error() }

func (e *argumentError) Unwrap() error { return e.error }

// InvalidArgumentf returns an error about one argument, with a text for the model. path is a dotted
// name or a JSON pointer; "" means all arguments. For several arguments, combine errors with
// errors.Join.
func InvalidArgumentf(path, format string, args ...any) error {
	return &argumentError{path: pointer(path), error: fmt.Errorf(format, args...)}
}

// pointer returns path as a JSON pointer.
func pointer(path string) string {
	if path == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + strings.ReplaceAll(path, ".", "/")
}

// becauseError is the error of Because.
type becauseError struct{ shown, cause error }

// Error returns both texts, for the log.
func (e *becauseError) Error() string { return e.shown.Error() + ": " + e.cause.Error() }

func (e *becauseError) Unwrap() []error { return []error{e.shown, e.cause} }

// Kept returns both errors, for a method Validate that returns e.
func (e *becauseError) Kept() (shown, cause error) { return e.shown, e.cause }

// Because returns an error that shows err to the client, and keeps cause for the log and for
// errors.Is. If err is not an error of this package, the client sees its text as if UserErrorf had
// made it. If either is nil, Because returns the other.
func Because(err, cause error) error {
	switch {
	case err == nil:
		return cause
	case cause == nil:
		return err
	}
	return &becauseError{shown: err, cause: cause}
}

// unsupportedError is the error for a question that the client cannot be asked.
type unsupportedError struct {
	what    string
	missing *protocol.ClientCapabilities // capabilities that the client lacks; nil if there is another reason
}

// Error says what is not possible.
func (e *unsupportedError) Error() string { return e.what }

func (e *unsupportedError) Unwrap() error { return ErrUnsupported }

// askError is the error of a question that the client or its user answered with an error, with an
// answer that cannot be used, or not at all. classify does not unwrap it: an error of the client must
// not be sent back to the client as an error of the server.
type askError struct {
	doing string
	cause error
	own   bool // the model of the app has answered, and not the client
}

// maxAskText limits what an askError repeats of the client's answer, in bytes.
const maxAskText = 1024

// Error returns the text for the log. It is short, because the client chooses it.
func (e *askError) Error() string { return e.doing + ": " + jsontext.Clip(e.cause.Error(), maxAskText) }

func (e *askError) Unwrap() error { return e.cause }

// class is the class of an error. It decides how the error is answered.
type class uint8

const (
	classInternal  class = iota // logged; the client gets a general text
	classUser                   // the text is meant for the model
	classNotFound               // the text is meant for the model
	classArguments              // issues of arguments
	classProtocol               // a *protocol.Error or *protocol.Fault, sent unchanged
	classMissing                // the client lacks a capability
	classCancelled              // the call is over, and no answer is sent
	classVisit                  // the error of URLRequired
)

// verdict is the result of classifying an error.
type verdict struct {
	class   class
	text    string
	invalid *binding.Invalid
	wire    error // set for classProtocol
	missing *protocol.ClientCapabilities
	visit   *visitError // set for classVisit
}

// classify returns the verdict of the outermost error in the chain of err that has a class. If no
// error has a class, the class is classInternal.
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

// own returns the verdict of err itself, without the errors that it wraps. It reports false if err
// has no class.
func own(err error) (verdict, bool) {
	switch e := err.(type) { //nolint:errorlint // err itself, not what it wraps: classify walks
	case *userError:
		if e.notFound {
			return verdict{class: classNotFound, text: e.Error()}, true
		}
		return verdict{class: classUser, text: e.Error()}, true
	case *argumentError:
		invalid := binding.NewInvalid(binding.Issue{Path: e.path, Hint: binding.Sentence(e.error.Error()), Rule: "invalid"})
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

// shown returns the verdict of the visible error of Because. If that error has no class of its own,
// its class is classUser.
func shown(err error) verdict {
	if v := classify(err); v.class != classInternal {
		return v
	}
	return verdict{class: classUser, text: err.Error()}
}

// joined returns the verdict of joined errors. It combines the issues of arguments and the texts
// for the user. An error of the protocol, of a missing capability or of a page, or a cancellation,
// takes precedence over all others.
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
		case classInternal: // only for the log
		}
	}
	switch {
	case len(issues) > 0:
		for _, text := range texts {
			issues = append(issues, binding.Issue{Hint: binding.Sentence(text), Rule: "invalid"})
		}
		return verdict{class: classArguments, invalid: binding.NewInvalid(issues...)}
	case len(texts) > 0:
		first.text = strings.Join(texts, "\n")
	}
	return first
}

// ended reports whether err says only that the context has ended.
func ended(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))
}

// abandoned reports whether the client has ended the call of ctx, so that err, an internal error,
// counts as the cancellation. Many dependencies have an error of their own for that, such as
// "canceling statement due to user request". Panics do not count.
func abandoned(ctx context.Context, err error) bool {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || h.Err() == nil || crashed(err) {
		return false
	}
	cause := context.Cause(h)
	return !errors.Is(cause, engine.ErrShutdown) && !errors.Is(cause, errTimeout) && !h.call.WillRetry()
}

// crashed reports whether err is a panic.
func crashed(err error) bool {
	_, handler := errors.AsType[*engine.PanicError](err)
	_, method := errors.AsType[*binding.Panic](err)
	return handler || method
}

// judge maps err with the app's error mapper and classifies it. It logs errors that the client does
// not see in full.
func (s *Server) judge(ctx context.Context, c *engine.Call, err error, b *componentHandler) verdict {
	err = s.mapError(ctx, err)
	v := classify(err)
	late := (v.class == classInternal || v.class == classCancelled) && ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout)
	var because *becauseError
	switch {
	case late: // in an effect of Once, the context is then canceled
		v.class, v.text = classUser, fmt.Sprintf("The %s took longer than %s and was stopped.", b.noun, b.timeout)
	case v.class == classCancelled && ctx.Err() == nil:
		v.class = classInternal // the cancellation is not of this call
	case v.class == classInternal && ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || abandoned(ctx, err)):
		v.class = classCancelled
	}
	over := late || v.class == classCancelled
	switch {
	case v.class == classInternal || over && !ended(ctx, err) || errors.As(err, &because) || errors.Is(err, ErrUncertain):
		s.logFailure(ctx, c, err, b.noun, b.info.Name)
	case v.class == classArguments && v.invalid.Cause != nil:
		s.logFailure(ctx, c, v.invalid.Cause, b.noun, b.info.Name)
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

// mapError passes err through the function set with WithErrorMapper. It returns err unchanged if
// there is no such function or if it returns nil. If the function panics, mapError returns the panic
// as an error.
func (s *Server) mapError(ctx context.Context, err error) error {
	if s.cfg.mapper == nil {
		return err
	}
	out, panicked := guarded(func() (error, error) { return s.cfg.mapper(ctx, err), nil })
	return cmp.Or(panicked, out, err)
}

// logFailure logs an error whose whole text the client does not get.
func (s *Server) logFailure(ctx context.Context, c *engine.Call, err error, noun, name string) {
	fields := []zap.Field{failure(ctx, err)}
	message := "background work failed" // for an error outside of a request
	if c != nil || name != "" {
		fields = append(fields, zap.String(noun, name))
		message = "a " + noun + " failed"
	}
	if c != nil {
		fields = append(fields, zap.String("call", c.ID()), zap.String("requestId", plainID(c.RequestID())))
	}
	fields = withStack(fields, err)
	if clientsDoing(ctx, err) {
		s.cfg.logger.Warn(message, fields...)
		return
	}
	s.cfg.logger.Error(message, fields...)
}

// plainID returns a JSON-RPC id as clients write it into their logs, without the quotes of JSON. A
// client chooses it, so a long one is cut.
func plainID(id string) string {
	if text, ok := jsontext.String([]byte(id)); ok {
		id = text
	}
	return jsontext.Clip(id, 128)
}

// clientsDoing reports whether err is only worth a warning: a question was answered badly or not at
// all, or the client had cancelled the call. Clients can cause any number of these errors.
func clientsDoing(ctx context.Context, err error) bool {
	ask, asked := errors.AsType[*askError](err)
	return asked && !ask.own || abandoned(ctx, err) && !errors.Is(err, ErrUncertain)
}

// logCause logs what a refused answer keeps for the log, if anything.
func (h *callCtx) logCause(ctx context.Context, invalid *binding.Invalid) {
	if h != nil && invalid.Cause != nil {
		h.server.logFailure(ctx, h.call, invalid.Cause, h.component.noun, h.component.info.Name)
	}
}

// logUnsendable logs an error whose data cannot be encoded as JSON. The client gets the error
// without its data.
func (s *Server) logUnsendable(ctx context.Context, c *engine.Call, err error, b *componentHandler) {
	var data any
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		data = fault.Data
	} else if plain, ok := errors.AsType[*protocol.Error](err); ok {
		data = plain.Data
	}
	if raw, ok := data.(json.RawMessage); data == nil || ok && len(raw) == 0 {
		return
	}
	if _, unsendable := encoded(data); unsendable != nil {
		s.logFailure(ctx, c, fmt.Errorf("the data of the error %w has no JSON form, and was left out: %w", err, unsendable), b.noun, b.info.Name)
	}
}

// withStack adds the stack of the panic if err is one.
func withStack(fields []zap.Field, err error) []zap.Field {
	if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	} else if panicked, ok := errors.AsType[*binding.Panic](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	}
	return fields
}

// failure returns the log field of err, without secret arguments.
func failure(ctx context.Context, err error) zap.Field {
	if hidden := secretsOf(ctx); len(hidden) > 0 {
		return zap.String("error", RedactText(fmt.Sprint(err), hidden))
	}
	return zap.Error(err)
}

// secretsOf returns the texts of the call's arguments that are secret by their tag or name.
func secretsOf(ctx context.Context) []string {
	h := callCtxFrom(ctx)
	if h == nil {
		return nil
	}
	redacted, hidden := RedactArguments(ctx, h.seen.Arguments)
	return appendSecrets(hidden, redacted)
}

// invalidFault returns the error that lists all issues of the arguments.
func invalidFault(kind protocol.FaultKind, name string, invalid *binding.Invalid) *protocol.Fault {
	return &protocol.Fault{Kind: kind, Message: invalid.Text(name), Data: map[string]any{"issues": invalid.Issues}}
}

// refusal returns the JSON-RPC error for the verdict, if it does not depend on the kind of component.
// Otherwise answer is nil, and the caller answers with text, in the form of the component's kind.
func (v *verdict) refusal(ctx context.Context, c *engine.Call) (text string, answer error) {
	switch v.class {
	case classProtocol:
		return "", v.wire
	case classCancelled:
		return "", context.Cause(ctx) // the engine knows it, and does not log it
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

// loggedError is the text of an error that is already logged, without secret arguments. The engine
// reports the error again, and Server.failed ignores it.
type loggedError string

// Error returns the text.
func (e loggedError) Error() string { return string(e) }

// logged returns the loggedError of err, which logFailure has logged for the call of ctx.
func logged(ctx context.Context, err error) error {
	return loggedError(RedactText(fmt.Sprint(err), secretsOf(ctx)))
}

// refuseTool returns the answer to an error of a tool. Errors of the protocol stay JSON-RPC errors.
// Other errors become results that the model sees. If a task will retry, refuseTool returns a
// loggedError. It does not wrap err, because the engine would otherwise send an error of the client
// inside err.
func (b *componentHandler) refuseTool(ctx context.Context, c *engine.Call, err error) (protocol.Result, error) {
	v := b.server.judge(ctx, c, err, b)
	switch {
	case v.class == classInternal && c.WillRetry():
		return nil, logged(ctx, err)
	case v.class == classArguments:
		return nil, invalidFault(protocol.FaultInvalidArguments, b.info.Name, v.invalid)
	}
	text, err := v.refusal(ctx, c)
	if err != nil {
		return nil, err
	}
	return toolError(text), nil
}

// refusePlain returns the answer to an error of a prompt, a resource or a method: a JSON-RPC error.
func (b *componentHandler) refusePlain(ctx context.Context, c *engine.Call, err error) (protocol.Result, error) {
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
	text, err := v.refusal(ctx, c)
	if err != nil {
		return nil, err
	}
	return nil, &protocol.Error{Code: protocol.CodeInternal, Message: text}
}

// spoken returns the answer to an error of frame middleware: a protocol error, if the error has a text for the
// client. It logs the cause that Because keeps.
func (s *Server) spoken(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, because := errors.AsType[*becauseError](err); because {
		s.logFailure(ctx, nil, err, "request", "refused by a frame middleware")
	}
	switch v := classify(err); v.class {
	case classUser, classNotFound:
		return &protocol.Error{Code: protocol.CodeInternal, Message: v.text}
	case classArguments:
		return invalidFault(protocol.FaultInvalidParams, "The request", v.invalid)
	default:
		return err
	}
}
