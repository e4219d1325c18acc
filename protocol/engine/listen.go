package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/transport"
)

// listen serves a subscription stream: first the acknowledgement, then changes. It ends when the
// client cancels, its token expires or the server stops (2026-07-28 basic/patterns/subscriptions).
//
// Accept has registered the feed, so that it collects all changes that later frames cause. listen
// starts the feed after the acknowledgement, so that no change is sent before it.
//
// The feed belongs to the exchange, but Shutdown, an expired token or the end of the connection may
// stop it at any time. Until Start nothing else sends on x.out, and after Settle nothing does: the
// acknowledgement is the first frame, and the result the last. Shutdown may have stopped all feeds
// before this one was registered, so listen checks running after Start.
func (x *exchange) listen(ctx context.Context, p *protocol.ListenParams) (protocol.Result, error) {
	f := x.feed
	defer f.Stop()
	if p.Filter.Tasks != nil && !x.call.Capabilities().Tasks {
		return nil, needsTasks("taskIds")
	}
	filter, over, err := x.honouredTasks(ctx, p.Filter.Tasks)
	if err != nil {
		return nil, err
	}
	honored := x.honored(ctx, p.Filter)
	honored.Tasks = filter
	f.Narrow(honored)
	f.Attach(ctx, x.out)
	defer x.expiring(ctx)()
	if err := x.acknowledge(ctx, f); errors.Is(err, transport.ErrNoStream) {
		return nil, protocol.Faultf(protocol.FaultInvalidRequest, "a subscription is a stream: Accept must name text/event-stream, and the server be able to send it")
	} else if err != nil {
		return nil, err
	}
	if err := x.sendOver(ctx, over); err != nil {
		return nil, err
	}
	f.Start()
	x.snapshot = nil // a stream lasts long, and would keep an old catalog in memory
	if x.conn.e.running.Closed() {
		f.Stop()
	}
	if ended, already := f.Ended(); !already {
		select {
		case <-ctx.Done():
			f.Stop()
			f.Settle() // nothing is sent after Serve has returned
			return nil, context.Cause(ctx)
		case <-ended:
		}
	}
	f.Settle()
	return &protocol.ListenResult{ID: x.id}, x.farewell(ctx)
}

// expiring stops the stream when the token of its request expires, on carriers where each request has
// a token. From then on the listener is not authenticated any more (2026-07-28 basic/authorization
// "Access Token Usage"). The caller must call stop.
func (x *exchange) expiring(ctx context.Context) (stop func()) {
	p := transport.PrincipalFrom(ctx)
	if p == nil || p.Expires.IsZero() || transport.RequestFrom(ctx) == nil {
		return func() {}
	}
	timer := time.AfterFunc(p.Expires.Sub(x.conn.e.cfg.Now()), x.feed.Stop)
	return func() { timer.Stop() }
}

// subscribed registers the feed of a listen request. It runs in Accept, in the order of arrival.
func (x *exchange) subscribed(p *protocol.ListenParams) {
	x.feed = x.conn.e.feeds.Stream(x.dialect, x.id, p.Filter)
	x.conn.listen(x, x.feed)
}

// honored returns the part of the filter that this server serves. The rest is not refused, but left
// out of the acknowledgement.
func (x *exchange) honored(ctx context.Context, want protocol.SubscriptionFilter) protocol.SubscriptionFilter {
	caps := x.snapshot.Capabilities()
	got := protocol.SubscriptionFilter{
		Tools:     want.Tools && caps.ToolsListChanged,
		Prompts:   want.Prompts && caps.PromptsListChanged,
		Resources: want.Resources && caps.ResourcesChanged,
	}
	if !caps.ResourcesSubscribe {
		return got
	}
	for _, uri := range want.URIs[:min(len(want.URIs), feed.MaxWatched)] {
		if x.snapshot.Subscribe(ctx, x.call, uri) == nil {
			got.URIs = append(got.URIs, uri)
		}
	}
	return got
}

// acknowledge sends the filter that the feed now has. It must be called before Start.
func (x *exchange) acknowledge(ctx context.Context, f *feed.Feed) error {
	frame, err := feed.Notification(x.dialect,
		&protocol.AcknowledgedParams{Filter: f.Filter()}, &protocol.RequestMeta{SubscriptionID: x.id})
	if err != nil {
		return err
	}
	return x.streamFrame(ctx, frame)
}

// farewell sends notifications/cancelled at the graceful end of a listen stream, if the connection
// carries several exchanges. basic/patterns/cancellation requires the notification, the schema limits
// it to stdio, and basic/patterns/subscriptions wants the result after it.
func (x *exchange) farewell(ctx context.Context) error {
	if x.conn.single {
		return nil
	}
	frame, err := feed.Notification(x.dialect, &protocol.CancelledParams{ID: x.id}, nil)
	if err != nil {
		return err
	}
	return x.streamFrame(ctx, frame)
}
