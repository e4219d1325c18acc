package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// probeTimeout limits server/discover. A server that does not answer in time is treated as one that
// does not know the method. Some servers of handshake revisions do not answer anything before
// initialize.
const probeTimeout = 5 * time.Second

// Option configures Connect. It is sealed.
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

	extensions map[string]json.RawMessage // extensions of the Authorizer; may be nil
}

func newConfig(opts []Option) config {
	c := config{
		info:    protocol.Implementation{Name: "kagami-client", Version: "0"},
		offered: dialect.All(),

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

// capabilities returns the capabilities that the handlers provide, and the extensions of the
// Authorizer.
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

// declared returns the capabilities to declare in initialize. If questions may become tasks, they
// include tasks (2025-11-25 basic/utilities/tasks).
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

// withHandshake and withoutHandshake select revisions. Negotiation treats the two kinds separately.
const (
	withHandshake    = true
	withoutHandshake = false
)

// newest returns the newest offered dialect with or without a handshake, or nil if none is offered.
func (c *config) newest(handshake bool) *dialect.Dialect {
	for _, d := range slices.Backward(c.offered) {
		if d.Handshake() == handshake {
			return d
		}
	}
	return nil
}

// mutual is like newest, for the dialects with a version in versions.
func (c *config) mutual(handshake bool, versions []string) *dialect.Dialect {
	for _, d := range slices.Backward(c.offered) {
		if d.Handshake() == handshake && slices.Contains(versions, d.String()) {
			return d
		}
	}
	return nil
}

// Name sets the name and the version that the client sends to the server.
func Name(name, version string) Option {
	return optionFunc(func(c *config) { c.info.Name, c.info.Version = name, version })
}

// Revisions limits the revisions that the client offers to the server. With handshake revisions
// only, Connect does not send server/discover. Without any handshake revision, Connect does not
// fall back to initialize.
func Revisions(revs ...protocol.Revision) Option {
	return optionFunc(func(c *config) {
		c.offered = slices.DeleteFunc(dialect.All(), func(d *dialect.Dialect) bool {
			return !slices.Contains(revs, d.Revision())
		})
	})
}

// ProbeTimeout sets how long server/discover may take before the client falls back to initialize.
// The default is 5 s, also if d is zero or negative. If there is no fallback, the timeout does not
// apply. The client also waits that long for the endpoint event of HTTP+SSE.
func ProbeTimeout(d time.Duration) Option { return optionFunc(func(c *config) { c.probe = d }) }

// LogLevel requests log messages of this level and above from the start, like [Client.SetLogLevel].
// A handshake server that does not declare logging is not asked. If the server refuses the level,
// Connect succeeds anyway. If the level is unknown, Connect returns an error. The default, "",
// requests nothing.
func LogLevel(level protocol.Level) Option { return optionFunc(func(c *config) { c.level = level }) }

// OnNotification calls fn for every notification, in order and never concurrently. Answers that
// arrive while fn runs are held back (see the package documentation). fn must neither call Close
// nor end its goroutine, as t.FailNow of a test does: later calls would wait until their contexts end.
func OnNotification(fn func(context.Context, protocol.Notification)) Option {
	return optionFunc(func(c *config) { c.notify = fn })
}

// Frame is a JSON-RPC message, or a batch of messages, as sent or received.
type Frame struct {
	Sent bool   // sent by the client; otherwise received
	Text []byte // valid until the function of OnFrame returns; read-only
}

// OnFrame calls fn for every frame in both directions. fn gets a sent frame before it is written,
// and a received frame before it is handled, even if it is not JSON.
//
// For a sent frame, ctx is the context of its call, with the values of the caller's context. For a
// received frame, ctx is the connection's. fn is called concurrently, and the connection waits for
// it. It must not call the client.
func OnFrame(fn func(ctx context.Context, f Frame)) Option {
	return optionFunc(func(c *config) { c.frame = fn })
}
