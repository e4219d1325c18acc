package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// An AppOption configures New. The interface is sealed. Build reports a fault for an option that is
// nil or has a value that is not allowed. If an option is given more than once, the last one takes
// effect, except for these: WithAuth may be given only once; WithExtension, OneOf and Validation
// accumulate.
type AppOption interface{ appOption() }

// appOption is the implementation of AppOption. apply returns the fault of its value, or "".
type appOption struct {
	name  string
	apply func(*appConfig) (problem string)
}

func (appOption) appOption() {}

// Principal is the caller of a request; see [Caller].
type Principal = transport.Principal

// appConfig holds the values of the options of an app.
type appConfig struct {
	title, instructions  string
	description, website string
	icons                []protocol.Icon
	logger               *zap.Logger // set by New, and nil in a zero App
	logs                 bool        // logger was set by WithLogger or UseLogger
	pageSize             int
	strict, detail       bool
	mapper               func(context.Context, error) error
	plans                binding.Options
	narrowing            binding.Narrowing // keywords to leave out of listed schemas
	profiled             bool              // names that model APIs refuse are faults
	grace                time.Duration
	auth                 transport.Authenticator // nil if callers need no credentials
	model                Model                   // nil if only the client has a model
	secrets              [][]byte                // seal round states; if nil, a random secret is used
	states               *rounds.Sealer          // made of secrets; if nil, one is made for this process
	stateTTL             time.Duration           // 0 selects the engine's default
	askTimeout           time.Duration           // 0 selects the engine's default
	store                Store                   // if nil, state is in memory, for this process only
	tasks                engine.TaskLimits
	extensions           map[string]json.RawMessage
	replayCheck          bool
}

func defaultConfig() appConfig {
	return appConfig{
		logger:   StderrLogger(),
		pageSize: 100,
		grace:    10 * time.Second,
		plans:    binding.Options{Bar: barred},
	}
}

// StderrLogger returns the logger of an app without WithLogger. It writes JSON lines to stderr,
// from level info up. It never writes to stdout, because stdout carries the protocol on stdio.
func StderrLogger() *zap.Logger {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	out, _, err := zap.Open("stderr")
	if err != nil {
		return zap.NewNop()
	}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(cfg), out, zapcore.InfoLevel))
}

// checked returns the apply function of an option. Unless ok is true, the option has the problem and
// sets nothing.
func checked[S any](ok bool, problem string, apply func(*S)) func(*S) string {
	return func(s *S) string {
		if !ok {
			return problem
		}
		apply(s)
		return ""
	}
}

func set(name string, apply func(*appConfig)) AppOption {
	return appOption{name, checked(true, "", apply)}
}

// WithTitle sets the server's display name.
func WithTitle(title string) AppOption {
	return set("WithTitle", func(c *appConfig) { c.title = title })
}

// WithInstructions sets the text that explains to the model how to use the server.
func WithInstructions(text string) AppOption {
	return set("WithInstructions", func(c *appConfig) { c.instructions = text })
}

// WithDescription sets a description of the server for people, as directories of clients show it.
// Clients see it from revision 2025-11-25 on. For models, use WithInstructions.
func WithDescription(text string) AppOption {
	return set("WithDescription", func(c *appConfig) { c.description = text })
}

// WithWebsiteURL sets the absolute URL, https or http, of a page about the server. Clients see it
// from revision 2025-11-25 on.
func WithWebsiteURL(address string) AppOption {
	problem := fmt.Sprintf("%q is not an absolute https or http URL", catalog.Clip(address))
	return appOption{"WithWebsiteURL", checked(isWeb(address), problem, func(c *appConfig) { c.website = address })}
}

// WithIcons sets the server's icons for user interfaces, as [Icons] does for a component. Clients
// see them from revision 2025-11-25 on.
func WithIcons(icons ...protocol.Icon) AppOption {
	return appOption{"WithIcons", func(c *appConfig) string { return setIcons(&c.icons, icons) }}
}

// WithExtension declares an extension of the protocol, such as "io.modelcontextprotocol/ui", with
// its settings. The settings must encode to a JSON object; nil stands for an empty object. Clients
// of all revisions find the extension among the capabilities (SEP-2133).
//
// Declaring an extension twice is a fault. The extension of tasks cannot be declared: the server
// declares it if a component has the option Task.
func WithExtension(name string, settings any) AppOption {
	return appOption{"WithExtension", func(c *appConfig) string {
		if prefix, rest, _ := strings.Cut(name, "/"); prefix == "" || rest == "" { // SEP-2133: the prefix is mandatory
			return fmt.Sprintf("%q is not an extension name: want prefix/name, such as example.com/name", name)
		}
		if name == "io.modelcontextprotocol/tasks" {
			return "the server declares the extension of tasks itself; remove it, and give a component the option Task"
		}
		if settings == nil {
			settings = struct{}{}
		}
		raw, err := encoded(settings)
		if err == nil && !isObject(raw) {
			err = fmt.Errorf("%T does not encode as a JSON object", settings)
		}
		if err != nil {
			return "the settings of " + name + ": " + err.Error()
		}
		if _, twice := c.extensions[name]; twice {
			return "the extension " + name + " is declared twice"
		}
		if c.extensions == nil {
			c.extensions = make(map[string]json.RawMessage)
		}
		c.extensions[name] = raw
		return ""
	}}
}

// encoded returns the JSON of a value of the program. If a method of the value panics, encoded
// returns an error.
func encoded(value any) (json.RawMessage, error) {
	return guarded(func() (json.RawMessage, error) { return json.Marshal(value) })
}

// WithLogger sets the logger. The default is [StderrLogger]. A nil logger is a fault.
func WithLogger(l *zap.Logger) AppOption {
	return appOption{"WithLogger", checked(l != nil, "the logger is nil; zap.NewNop() logs nothing", func(c *appConfig) {
		c.logger, c.logs = l, true
	})}
}

// UseLogger is like WithLogger, for code that builds an app made by other code. It replaces the
// logger of WithLogger. Build reports a nil logger.
func (a *App) UseLogger(l *zap.Logger) *App {
	if l == nil {
		a.fault(callsite.Caller(1), "UseLogger: the logger is nil; zap.NewNop() logs nothing", "")
		return a
	}
	a.cfg.logger, a.cfg.logs = l, true
	return a
}

// HasLogger reports whether WithLogger or UseLogger has set the logger.
func (a *App) HasLogger() bool { return a.cfg.logs }

// WithPageSize sets the number of items on a page of a list, including the list of tasks. The
// default is 100, the minimum 1.
func WithPageSize(n int) AppOption {
	return appOption{"WithPageSize", checked(n >= 1, "the size must be 1 or more", func(c *appConfig) {
		c.pageSize = min(n, math.MaxInt32-1) // leaves room for the extra item that the engine requests
		c.tasks.Page = c.pageSize
	})}
}

// WithStrict turns warnings of Build into errors. Without it, Build reports warnings only together
// with errors. If there are no errors, Serve logs the warnings.
func WithStrict() AppOption { return set("WithStrict", func(c *appConfig) { c.strict = true }) }

// WithErrorDetail sends the texts of internal errors to clients. Use it only for development.
func WithErrorDetail() AppOption {
	return set("WithErrorDetail", func(c *appConfig) { c.detail = true })
}

// WithErrorMapper sets a function that maps an error of a handler before it is classified. Use it
// to turn domain errors into errors of UserErrorf or NotFoundf, or into a *protocol.Error. If the
// mapper returns nil, the error is used unchanged. A panic in the mapper is an internal error. The
// mapper is called concurrently, and may be called several times for one error.
func WithErrorMapper(mapper func(context.Context, error) error) AppOption {
	return appOption{"WithErrorMapper", checked(mapper != nil, "the mapper is nil", func(c *appConfig) { c.mapper = mapper })}
}

// AllowUnknown makes the server ignore unknown argument keys. Without it, such calls are refused.
func AllowUnknown() AppOption {
	return set("AllowUnknown", func(c *appConfig) { c.plans.AllowUnknown = true })
}

// WithoutRepair turns off the repair of arguments. Repair accepts values that arrive as strings,
// and all arguments as one string. Optional arguments that arrive as null or "" count as
// absent (docs/validation.md).
func WithoutRepair() AppOption {
	return set("WithoutRepair", func(c *appConfig) { c.plans.NoRepair = true })
}

// WithShutdownGrace sets how long calls in flight may go on when Serve ends. The default is 10
// seconds. With 0 they are cancelled at once. A transport with an option Grace may cancel its calls
// earlier.
func WithShutdownGrace(d time.Duration) AppOption {
	return appOption{"WithShutdownGrace", checked(d >= 0, "the duration is negative", func(c *appConfig) { c.grace = d })}
}

// WithAuth requires a principal for every HTTP exchange. HTTP carriers call a before they read the
// body, and refuse the request if a refuses it. Other transports have principals of their own, or
// none. The authenticator is called concurrently.
//
// The authenticators of middleware/auth have a method Ready() error. If a has one and it returns an
// error, a cannot let any caller in. Build then reports a warning, and a carrier that serves the
// public ends at once with the error.
func WithAuth(a transport.Authenticator) AppOption {
	return appOption{"WithAuth", func(c *appConfig) string {
		switch {
		case a == nil || isNilPointer(a):
			return "the authenticator is nil"
		case c.auth != nil:
			return "the option is set twice; keep one authenticator"
		}
		c.auth = a
		return ""
	}}
}

// WithStateSecrets sets the secrets that seal the state of a call while its client answers in
// rounds (2026-07-28 basic/patterns/mrtr). Any process of the program with the same secrets can
// continue the call. A state is bound to the name of the app: another app with the same secrets
// refuses it.
//
// Each secret has at least 16 random bytes. The first secret seals states, and all secrets open
// them. To rotate, first add the new secret after the others in all processes. Then put it first in
// all processes. Remove the old secret when states sealed with it have expired (see
// [WithStateTTL]).
//
// Without this option, processes that share a store ([WithStore]) use a secret from the store.
// Without a shared store, a round must go to the process that asked; on other processes it fails.
func WithStateSecrets(secrets ...[]byte) AppOption {
	return appOption{"WithStateSecrets", func(c *appConfig) string {
		sealer, err := rounds.NewSealer(secrets...)
		if err != nil {
			return strings.TrimPrefix(err.Error(), "rounds: ")
		}
		c.states, c.secrets = sealer, nil
		for _, secret := range secrets {
			c.secrets = append(c.secrets, bytes.Clone(secret))
		}
		return ""
	}}
}

// WithStateTTL sets how long a client that is asked in rounds may take to answer. The default is 1
// hour, the minimum 1 second.
func WithStateTTL(d time.Duration) AppOption {
	return appOption{"WithStateTTL", checked(d >= time.Second, "the duration must be a second or more", func(c *appConfig) {
		c.stateTTL = d
	})}
}

// WithAskTimeout sets how long a handler waits for the answer of a client that is asked live. The
// time counts from the client's last sign of progress. The default is 10 minutes.
//
// After that the question fails. If the handler returns the error of the question, the caller gets
// a text that says so. The option does not apply to rounds and tasks: see [WithStateTTL] and [TTL].
func WithAskTimeout(d time.Duration) AppOption {
	return appOption{"WithAskTimeout", checked(d > 0, "the duration must be more than 0", func(c *appConfig) {
		c.askTimeout = d
	})}
}

// WithReplayCheck runs each handler that asks in rounds once more on the same answers. It logs the
// questions and effects that differ, because the next round of such a handler would not continue
// this one. Use it for development and tests: effects of the handler outside of Once happen twice.
// Middleware also runs twice.
func WithReplayCheck() AppOption {
	return set("WithReplayCheck", func(c *appConfig) { c.replayCheck = true })
}
