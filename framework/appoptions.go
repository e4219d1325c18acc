package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// AppOption configures New. Sealed. One that is nil, or has a value that is not allowed, is
// a fault that Build reports. If an option is given twice, the last one counts, except
// WithAuth, which may be given only once, and WithExtension, OneOf and Validation, which
// add up.
type AppOption interface{ appOption() }

// appOption sets one thing, and returns what is wrong with it, or "".
type appOption struct {
	name  string
	apply func(*appConfig) (problem string)
}

func (appOption) appOption() {}

// Principal is who calls.
type Principal = transport.Principal

// appConfig is what the options decide.
type appConfig struct {
	title, instructions  string
	description, website string
	icons                []protocol.Icon
	logger               *zap.Logger // nil: the app was not made by New
	logs                 bool        // logger was set by WithLogger
	pageSize             int
	strict, detail       bool
	mapper               func(context.Context, error) error
	plans                binding.Options
	narrowing            binding.Narrowing // of listed schemas
	profiled             bool              // a name that model APIs refuse is a fault
	grace                time.Duration
	auth                 transport.Authenticator // nil: callers need no credentials
	model                Model                   // nil: there is only the client's
	secrets              [][]byte                // that seal states; nil: a random one
	states               *rounds.Sealer          // seals by secrets; nil: made for this process
	stateTTL             time.Duration           // 0: the engine's default
	askTimeout           time.Duration           // 0: the engine's default
	store                Store                   // nil: one in memory, for this process alone
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

// StderrLogger is the logger of an app without WithLogger: JSON lines from level info up.
// It never writes to stdout: that belongs to the protocol on stdio.
func StderrLogger() *zap.Logger {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	out, _, err := zap.Open("stderr")
	if err != nil {
		return zap.NewNop()
	}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(cfg), out, zapcore.InfoLevel))
}

func set(name string, apply func(*appConfig)) AppOption {
	return appOption{name, func(c *appConfig) string { apply(c); return "" }}
}

// WithTitle sets the server's display name.
func WithTitle(title string) AppOption {
	return set("WithTitle", func(c *appConfig) { c.title = title })
}

// WithInstructions tells the model how to use the server.
func WithInstructions(text string) AppOption {
	return set("WithInstructions", func(c *appConfig) { c.instructions = text })
}

// WithDescription says what the server is for, in the directories of clients; clients see
// it from 2025-11-25 on. It is for people; models read WithInstructions.
func WithDescription(text string) AppOption {
	return set("WithDescription", func(c *appConfig) { c.description = text })
}

// WithWebsiteURL is the absolute URL, https or http, of a page about the server; clients see it
// from 2025-11-25 on.
func WithWebsiteURL(address string) AppOption {
	return appOption{"WithWebsiteURL", func(c *appConfig) string {
		if !isWeb(address) {
			return fmt.Sprintf("%q is no absolute https or http URL", catalog.Clip(address))
		}
		c.website = address
		return ""
	}}
}

// WithIcons sets the server's icons for user interfaces, as [Icons] does for a component;
// clients see them from 2025-11-25 on.
func WithIcons(icons ...protocol.Icon) AppOption {
	return appOption{"WithIcons", func(c *appConfig) string { return setIcons(&c.icons, icons) }}
}

// WithExtension declares an extension of the protocol, such as
// "io.modelcontextprotocol/ui", with its settings: what encodes to a JSON object, or nil
// for none. Clients find it among the capabilities, those of the handshake revisions, too
// (SEP-2133). Each extension is declared once, and that of tasks where a component has Task.
func WithExtension(name string, settings any) AppOption {
	return appOption{"WithExtension", func(c *appConfig) string {
		if prefix, rest, _ := strings.Cut(name, "/"); prefix == "" || rest == "" { // SEP-2133: the prefix is mandatory
			return fmt.Sprintf("%q is no name of an extension: it has a prefix, as example.com/name", name)
		}
		if name == "io.modelcontextprotocol/tasks" {
			return "the extension of tasks is declared where a component has Task"
		}
		if settings == nil {
			settings = struct{}{}
		}
		raw, err := encoded(settings)
		if err == nil && !isObject(raw) {
			err = fmt.Errorf("%T is no JSON object", settings)
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

// encoded is the JSON of a value of the program, whose methods may panic.
func encoded(value any) (json.RawMessage, error) {
	return guarded(noContext{}, func(_ context.Context, value any) (json.RawMessage, error) { return json.Marshal(value) }, value)
}

// WithLogger replaces the logger (stderr, info).
func WithLogger(l *zap.Logger) AppOption {
	return appOption{"WithLogger", func(c *appConfig) string {
		if l == nil {
			return "the logger is nil; zap.NewNop() logs nothing"
		}
		c.logger, c.logs = l, true
		return ""
	}}
}

// UseLogger is WithLogger for code that builds an app made by others: it wins over their
// WithLogger. A nil logger is reported by Build.
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

// WithPageSize sets how many items a page of a list has, the list of tasks included;
// default 100, at least 1.
func WithPageSize(n int) AppOption {
	return appOption{"WithPageSize", func(c *appConfig) string {
		if n < 1 {
			return "the size must be 1 or more"
		}
		c.pageSize, c.tasks.Page = n, n
		return ""
	}}
}

// WithStrict turns warnings of Build into errors. Without it, warnings are part of the
// report of an app that has errors, and Serve logs those of an app that has none.
func WithStrict() AppOption { return set("WithStrict", func(c *appConfig) { c.strict = true }) }

// WithErrorDetail sends internal error texts to clients. For development.
func WithErrorDetail() AppOption {
	return set("WithErrorDetail", func(c *appConfig) { c.detail = true })
}

// WithErrorMapper maps a handler's error before it is classified: domain errors to
// UserErrorf, NotFoundf, *protocol.Error. If the mapper returns nil, the error stays as it
// was. It is called concurrently, and perhaps several times for one error; a panic in it is
// an internal error.
func WithErrorMapper(mapper func(context.Context, error) error) AppOption {
	return appOption{"WithErrorMapper", func(c *appConfig) string {
		if mapper == nil {
			return "the mapper is nil"
		}
		c.mapper = mapper
		return ""
	}}
}

// AllowUnknown has unknown argument keys ignored instead of refused.
func AllowUnknown() AppOption {
	return set("AllowUnknown", func(c *appConfig) { c.plans.AllowUnknown = true })
}

// WithoutRepair switches off the repair of arguments: of those that arrived as strings, also all
// of them as one, and of optional ones that arrived as null or "" (docs/validation.md).
func WithoutRepair() AppOption {
	return set("WithoutRepair", func(c *appConfig) { c.plans.NoRepair = true })
}

// WithShutdownGrace sets how long calls in flight may go on when Serve ends; default 10
// seconds. With 0 they are cancelled at once.
func WithShutdownGrace(d time.Duration) AppOption {
	return appOption{"WithShutdownGrace", func(c *appConfig) string {
		if d < 0 {
			return "the duration is negative"
		}
		c.grace = d
		return ""
	}}
}

// WithAuth demands a principal for every HTTP exchange: HTTP carriers ask a before they
// look at the body, and refuse what it refuses. Other carriers have principals of their
// own, or none. a is called concurrently.
//
// If a has a method Ready() error, as those of middleware/auth have, an error from it is a
// warning of Build, and a carrier that serves the public ends with it at once: a would let
// nobody in.
func WithAuth(a transport.Authenticator) AppOption {
	return appOption{"WithAuth", func(c *appConfig) string {
		switch {
		case a == nil:
			return "the authenticator is nil"
		case c.auth != nil:
			return "it is given twice; only one authenticator decides who calls"
		}
		c.auth = a
		return ""
	}}
}

// WithStateSecrets seals what travels with a client that is asked in rounds (2026-07-28
// basic/patterns/mrtr), so that any instance of the program with the same secrets takes the
// next round. A state is bound to the name of the app: another app with the same secrets
// refuses it. Each has at least 16 random bytes. The first seals, all open: to rotate, put
// a new one in front and drop the old one when nothing sealed with it is alive any more
// (see [WithStateTTL]). Without this option, processes that share a store ([WithStore]) use
// a secret that is kept there; otherwise a round must go to the process that asked, or
// fails.
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

// WithStateTTL sets how long a client that is asked in rounds may take to answer; default 1
// hour, at least a second.
func WithStateTTL(d time.Duration) AppOption {
	return appOption{"WithStateTTL", func(c *appConfig) string {
		if d < time.Second {
			return "the duration must be a second or more"
		}
		c.stateTTL = d
		return ""
	}}
}

// WithAskTimeout sets how long a handler waits for the answer of a client that is asked
// live, counted from the last sign that the client is working on it; default 10 minutes.
// Then the question fails with an error that tells the caller so, unless the handler
// returns another. It does not apply to rounds and tasks: see [WithStateTTL] and [TTL].
func WithAskTimeout(d time.Duration) AppOption {
	return appOption{"WithAskTimeout", func(c *appConfig) string {
		if d <= 0 {
			return "the duration must be more than 0"
		}
		c.askTimeout = d
		return ""
	}}
}

// WithReplayCheck runs each handler that asks in rounds once more on the same answers, and
// logs what it asks or does differently: its next round would not continue this one. For
// development and tests: whatever a handler does outside Once happens twice, and so does
// whatever middleware does, which runs again, too.
func WithReplayCheck() AppOption {
	return set("WithReplayCheck", func(c *appConfig) { c.replayCheck = true })
}
