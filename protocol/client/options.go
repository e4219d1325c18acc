package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// probeTimeout bounds server/discover. After it the server counts as one that does not know the
// method: some servers of handshake revisions answer nothing before initialize.
const probeTimeout = 5 * time.Second

// Option configures Connect. Sealed.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	info     protocol.Implementation
	offered  []*dialect.Dialect // oldest first
	probe    time.Duration
	level    protocol.Level
	formOnly bool

	maxRounds int
	unchecked bool
	oneByOne  bool
	noTasks   bool
	approve   func(context.Context, *Approval) error

	elicit func(context.Context, *ElicitRequest) (*ElicitAnswer, error)
	sample func(context.Context, *SampleRequest) (*SampleAnswer, error)
	roots  func(context.Context) ([]protocol.Root, error)
	notify func(context.Context, protocol.Notification)
	frame  func(context.Context, Frame)

	extensions map[string]json.RawMessage // of the Authorizer; nil: none
}

func newConfig(opts []Option) config {
	c := config{
		info:    protocol.Implementation{Name: "kagami-client", Version: "0"},
		offered: dialect.All(),
		probe:   probeTimeout,

		maxRounds: defaultMaxRounds,
	}
	for _, o := range opts {
		o.option(&c)
	}
	if c.probe <= 0 {
		c.probe = probeTimeout
	}
	return c
}

// capabilities are those that the handlers provide, and the extensions of the Authorizer.
func (c *config) capabilities() protocol.ClientCapabilities {
	return protocol.ClientCapabilities{
		Elicitation:      c.elicit != nil,
		ElicitURL:        c.elicit != nil && !c.formOnly,
		Sampling:         c.sample != nil,
		SamplingTool:     c.sample != nil,
		Roots:            c.roots != nil,
		RootsListChanged: c.roots != nil,
		Extensions:       c.extensions,
	}
}

// declared are the capabilities of a session. If the revision has tasks, the server may have
// its questions answered as tasks (2025-11-25 basic/utilities/tasks).
func (c *config) declared() protocol.ClientCapabilities {
	can := c.capabilities()
	if c.makesTasks() {
		can.Tasks, can.TaskList, can.TaskCancel = true, true, true
		can.TaskElicitation, can.TaskSampling = c.elicit != nil, c.sample != nil
	}
	return can
}

// makesTasks reports whether questions of the server may become tasks.
func (c *config) makesTasks() bool { return !c.noTasks && (c.elicit != nil || c.sample != nil) }

// era says whether a revision has a handshake: negotiation treats the two kinds apart.
type era bool

const (
	withHandshake    era = true
	withoutHandshake era = false
)

// newest returns the newest offered dialect of an era; nil if none is offered.
func (c *config) newest(e era) *dialect.Dialect {
	for _, d := range slices.Backward(c.offered) {
		if era(d.Handshake()) == e {
			return d
		}
	}
	return nil
}

// mutual returns the newest offered dialect of an era that is among versions; nil if there
// is none.
func (c *config) mutual(e era, versions []string) *dialect.Dialect {
	for _, d := range slices.Backward(c.offered) {
		if era(d.Handshake()) == e && slices.Contains(versions, d.String()) {
			return d
		}
	}
	return nil
}

// Name tells the server who the client is.
func Name(name, version string) Option {
	return optionFunc(func(c *config) { c.info.Name, c.info.Version = name, version })
}

// Revisions restricts what is offered to the server. With handshake revisions only, the
// probe by server/discover is skipped; without any there is no fallback to initialize.
func Revisions(revs ...protocol.Revision) Option {
	return optionFunc(func(c *config) {
		c.offered = slices.DeleteFunc(dialect.All(), func(d *dialect.Dialect) bool {
			return !slices.Contains(revs, d.Revision())
		})
	})
}

// ProbeTimeout sets how long server/discover may take before the client falls back to
// initialize; default 5 s, also for zero or less. It does not apply if there is no
// fallback. The endpoint event of HTTP+SSE may take as long again.
func ProbeTimeout(d time.Duration) Option { return optionFunc(func(c *config) { c.probe = d }) }

// LogLevel asks for log messages of this level and above from the start, as
// [Client.SetLogLevel] does later; a server of a handshake revision that does not log is
// not asked, and if the server refuses, Connect succeeds all the same. An unknown level is
// an error of Connect; the default, "", asks for nothing.
func LogLevel(level protocol.Level) Option { return optionFunc(func(c *config) { c.level = level }) }

// OnNotification sees every notification in order. fn is never called
// concurrently; while it runs, answers that arrived later are held back (see the
// package documentation). It must not call Close.
func OnNotification(fn func(context.Context, protocol.Notification)) Option {
	return optionFunc(func(c *config) { c.notify = fn })
}

// Frame is a JSON-RPC message, or a batch of them, as it crossed the connection.
type Frame struct {
	Sent bool   // by the client; else it was received
	Text []byte // valid until the function of OnFrame returns; read-only
}

// OnFrame shows fn every frame in both directions: a sent one before it is written, a received
// one before anything is done with it, even if it is not JSON. For a sent frame ctx is the
// context of the call that it belongs to, with the values of the caller's context. For a
// received frame ctx is the connection's. fn is called concurrently, and the connection waits
// while it runs. It must not call the client.
func OnFrame(fn func(ctx context.Context, f Frame)) Option {
	return optionFunc(func(c *config) { c.frame = fn })
}
