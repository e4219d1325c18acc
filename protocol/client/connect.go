package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// Connect connects to a server and negotiates the newest revision that both sides know. ctx limits
// only Connect itself; its values reach the transport. If Connect fails, it closes everything that
// it opened.
//
// If opts allow revisions with and without a handshake, Connect sends server/discover first. If the
// server answers, or refuses with an error that only 2026-07-28 has, that revision is used. After
// any other error, an empty answer, or no answer within [ProbeTimeout], Connect sends initialize
// (2026-07-28 basic/versioning and basic/transports/stdio). If the server refuses initialize and
// names a revision without a handshake, because it was not ready before, Connect sends
// server/discover once more. If the server refuses initialize in another way, and the client would
// declare less of its handlers on an older revision, Connect offers that revision, once: some
// servers do not accept capabilities that they do not know.
//
// Some programs end if the first request is not initialize. If the connection ends after Connect has
// sent server/discover, Connect opens it again, once, and sends only initialize. If that fails, too,
// Connect returns the first error. Over HTTP it does not do this.
func Connect(ctx context.Context, to Target, opts ...Option) (*Client, error) {
	settings, err := given(to, opts)
	if err != nil {
		return nil, fmt.Errorf("client: connecting: %w", err)
	}
	dial := to.target()
	c, lost, err := connect(ctx, dial, settings)
	if !lost || settings.newest(withoutHandshake) == nil || settings.newest(withHandshake) == nil {
		return c, err
	}
	settings.offered = slices.DeleteFunc(settings.offered, func(d *dialect.Dialect) bool { return !d.Handshake() })
	again, _, failed := connect(ctx, dial, settings)
	if failed != nil && ctx.Err() == nil {
		return nil, err
	}
	return again, failed
}

// connect makes one connection and negotiates. lost is true if the connection has ended by itself,
// except over HTTP.
func connect(ctx context.Context, dial dialer, settings config) (_ *Client, lost bool, err error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel) // once the client is connected, ctx does not end it any more
	conn, err := dial(life)
	if err == nil && conn == nil {
		err = errors.New("the connection is nil")
	}
	if err != nil {
		if !stop() { // ctx has ended the dial, which sees only that life was canceled
			err = ctx.Err()
		}
		cancel()
		return nil, false, fmt.Errorf("client: connecting: %w", err)
	}
	c := newClient(life, cancel, conn, settings)
	c.link.start()
	err = c.negotiate(ctx)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		ended := c.Close()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case ended != nil && errors.Is(err, io.ErrUnexpectedEOF): // ended shows how the process has ended
			err = fmt.Errorf("%w (%w)", err, ended)
		}
		_, answered := errors.AsType[*interruptedError](err)
		lost = c.http == nil && !answered && errors.Is(err, io.ErrUnexpectedEOF)
		return nil, lost, fmt.Errorf("client: connecting: %w", err)
	}
	return c, false, nil
}

// given checks the arguments of Connect.
func given(to Target, opts []Option) (config, error) {
	switch {
	case to == nil || to.target() == nil:
		return config{}, errors.New("the target is nil")
	case slices.Contains(opts, nil):
		return config{}, errors.New("an option is nil")
	}
	c := newConfig(opts)
	if c.level != "" && c.level.Severity() < 0 {
		return config{}, fmt.Errorf("%q is not a log level", c.level)
	}
	return c, nil
}

// newClient returns a client whose goroutines have not begun. It owns conn and cancel from then on:
// link.close closes the one and calls the other. The functions of the link are set before start,
// because the reader uses them without a lock.
func newClient(life context.Context, cancel context.CancelFunc, conn transport.Conn, settings config) *Client {
	c := &Client{config: settings}
	h, overHTTP := conn.(*httpConn)
	if overHTTP {
		c.config.extensions = h.extensions()
	}
	c.can = c.config.capabilities()
	c.link = newLink(life, cancel, conn)
	c.link.seen = settings.frame
	c.link.request, c.link.notice, c.link.answered = c.request, c.notice, c.answeredRequest
	c.watched.turn = make(chan struct{}, 1)
	if overHTTP {
		c.http, h.gone = h, c.renewLater
	}
	return c
}

// negotiate finds a revision that both sides know, and settles on it.
//
// It runs in the goroutine of Connect, before the Client is returned. Meanwhile the reader already
// handles requests and notifications of the server. That is why dialect is atomic.
func (c *Client) negotiate(ctx context.Context) error {
	modern, legacy := c.config.newest(withoutHandshake), c.config.newest(withHandshake)
	if modern != nil {
		next, err := c.probe(ctx, modern, legacy)
		if other := c.counterOffer(err); other != nil {
			next, err = c.probe(ctx, other, legacy)
		}
		if err != nil || next == nil {
			return err
		}
		legacy = next
	}
	if legacy == nil {
		return errors.New("no revision to offer: check client.Revisions")
	}
	err := c.handshake(ctx, legacy)
	if other := c.counterOffer(err); other != nil { // the server was not ready for the probe
		if next, failed := c.probe(ctx, other, nil); next == nil {
			err = failed
		}
	}
	return err
}

// probe sends server/discover. It returns the dialect for initialize, or nil if the revision is
// settled.
func (c *Client) probe(ctx context.Context, modern, legacy *dialect.Dialect) (*dialect.Dialect, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if legacy != nil {
		bounded, cancel = c.http.patient(ctx, c.config.probe)
	}
	defer cancel()
	raw, err := c.do(bounded, modern, &protocol.DiscoverParams{}, how{quiet: true})
	if err != nil {
		return c.refused(ctx, legacy, err)
	}
	result, err := decodeResult[*protocol.DiscoverResult](modern, protocol.MethodDiscover, raw)
	if err == nil && len(result.Versions) == 0 {
		err = errors.New("the server's discovery names no version")
	}
	if err != nil {
		return orElse(legacy, err)
	}
	if d := c.config.mutual(withoutHandshake, result.Versions); d != nil {
		c.settle(d, result.Server, result.Capabilities, result.Instructions)
		return nil, nil
	}
	next := c.config.mutual(withHandshake, result.Versions)
	return orElse(next, fmt.Errorf("no common revision; the server knows %v", result.Versions))
}

// counterOffer returns the dialect for a second probe if err lists another revision without a
// handshake. Otherwise it returns nil (2026-07-28 basic/versioning).
func (c *Client) counterOffer(err error) *dialect.Dialect {
	fault, ok := errors.AsType[*protocol.Fault](err)
	if !ok || fault.Kind != protocol.FaultUnsupportedVersion {
		return nil
	}
	return c.config.mutual(withoutHandshake, fault.Supported)
}

// refused decides how to continue after the probe has failed. It returns the dialect for
// initialize, or an error. Errors that exist only in 2026-07-28 end the negotiation, unless both
// sides know another version.
func (c *Client) refused(ctx context.Context, legacy *dialect.Dialect, err error) (*dialect.Dialect, error) {
	lost := c.link.failure()
	fault, understood := errors.AsType[*protocol.Fault](err)
	switch {
	case ctx.Err() != nil, c.http != nil && saysNothing(err), c.http == nil && errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case lost != nil:
		return nil, lost
	case !understood:
		return orElse(legacy, err)
	}
	switch fault.Kind {
	case protocol.FaultUnsupportedVersion:
		if c.counterOffer(err) != nil {
			return nil, err
		}
		return orElse(c.config.mutual(withHandshake, fault.Supported), err)
	case protocol.FaultHeaderMismatch, protocol.FaultMissingCapability:
		return nil, err
	default:
		return orElse(legacy, err)
	}
}

// orElse returns next, the dialect to continue with. If next is nil, it returns err.
func orElse(next *dialect.Dialect, err error) (*dialect.Dialect, error) {
	if next == nil {
		return nil, err
	}
	return next, nil
}

// handshake initializes the session. A server may answer with another revision, or refuse and list
// the revisions that it knows (2025-11-25 basic/lifecycle "Version Negotiation").
func (c *Client) handshake(ctx context.Context, offer *dialect.Dialect) error {
	raw, err := c.introduce(ctx, offer)
	if c.http != nil && isOldServer(err) {
		if failed := c.http.fallBack(ctx, c.config.probe); failed != nil {
			return fmt.Errorf("%w; HTTP+SSE: %w", err, failed)
		}
		raw, err = c.introduce(ctx, offer)
	}
	if fault, ok := errors.AsType[*protocol.Fault](err); ok && fault.Kind == protocol.FaultUnsupportedVersion {
		if other := c.config.mutual(withHandshake, fault.Supported); other != nil && other != offer {
			raw, err = c.initialize(ctx, other)
		}
	}
	if err != nil {
		return err
	}
	name := textAt(raw, "protocolVersion")
	agreed := c.config.mutual(withHandshake, []string{name})
	if agreed == nil {
		return fmt.Errorf("the server answered with revision %q, which was not offered", name)
	}
	result, err := decodeResult[*protocol.InitializeResult](agreed, protocol.MethodInitialize, raw)
	if err != nil {
		return err
	}
	c.settle(agreed, result.Server, result.Capabilities, result.Instructions)
	c.link.greet()
	if err := c.notify(ctx, agreed, &protocol.InitializedParams{}); err != nil {
		return err
	}
	if c.config.level == "" || !result.Capabilities.Logging {
		return nil
	}
	err = c.SetLogLevel(ctx, c.config.level)
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return nil // some servers declare logging but have no method to set a level: mcp-go 0.32 over HTTP
	}
	return err
}

// introduce sends initialize. Some servers refuse the whole request if a capability has a member
// that they do not know, instead of offering an older revision. If the client declares less on an
// older revision, introduce then offers the newest such revision, once.
func (c *Client) introduce(ctx context.Context, offer *dialect.Dialect) ([]byte, error) {
	raw, err := c.initialize(ctx, offer)
	if !refusesParams(err) {
		return raw, err
	}
	can := c.config.declared()
	declared := offer.AppendClientCapabilities(nil, &can)
	older := c.config.offered[:slices.Index(c.config.offered, offer)]
	for _, d := range slices.Backward(older) {
		if d.Handshake() && !bytes.Equal(d.AppendClientCapabilities(nil, &can), declared) {
			if again, failed := c.initialize(ctx, d); failed == nil {
				return again, nil
			}
			break
		}
	}
	return raw, err
}

// refusesParams reports whether a server may have refused initialize because of its capabilities.
func refusesParams(err error) bool {
	fault, ok := errors.AsType[*protocol.Fault](err)
	if ok && fault.Kind == protocol.FaultUnsupportedVersion {
		return false
	}
	if status, ok := errors.AsType[*HTTPError](err); ok {
		return status.Status == http.StatusBadRequest || status.Status == http.StatusInternalServerError
	}
	_, refused := errors.AsType[*protocol.Error](err)
	return refused
}

// initialize sends the request and returns its result, undecoded. A renewal calls it, too, with the
// agreed dialect.
func (c *Client) initialize(ctx context.Context, d *dialect.Dialect) ([]byte, error) {
	c.dialect.Store(d) // before the request, because the server may already send a ping
	return c.do(ctx, d, &protocol.InitializeParams{
		Version: d.String(), Capabilities: c.config.declared(), Client: c.config.info,
	}, how{quiet: true})
}

// settle ends the negotiation. It is called once, before Connect returns, and writes the fields
// that are read without a lock afterwards.
func (c *Client) settle(d *dialect.Dialect, server protocol.Implementation, can protocol.ServerCapabilities, instructions string) {
	c.server, c.capabilities, c.instructions = server, can, instructions
	if c.config.level != "" {
		c.level.Store(&c.config.level)
	}
	c.dialect.Store(d)
	if c.http != nil {
		c.http.agreed.Store(d)
	}
}
