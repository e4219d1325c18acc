package engine

import (
	"context"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/transport"
)

// dispatch runs a request. Add a case here for each new method of the specification.
//
// It runs in the goroutine of Serve, without a lock, and recovers panics of everything below it.
// The result belongs to the caller, which encodes it before the handler's buffer (Call.Lend) is
// given back.
func (x *exchange) dispatch(ctx context.Context) (result protocol.Result, err error) {
	defer recovered(&err)
	switch p := x.call.Params.(type) {
	case *protocol.InitializeParams:
		return x.initialize(ctx)
	case *protocol.DiscoverParams:
		return x.discover(), nil
	case *protocol.PingParams:
		return &protocol.EmptyResult{}, nil
	case *protocol.ListParams:
		return x.list(ctx, p)
	case *protocol.SubscribeParams:
		return x.subscribe(ctx, p)
	case *protocol.UnsubscribeParams:
		return x.unsubscribe(ctx, p)
	case *protocol.ListenParams:
		return x.listen(ctx, p)
	case *protocol.CompleteParams:
		return x.complete(ctx, p)
	case *protocol.SetLevelParams:
		return x.setLevel(ctx, p)
	case *protocol.GetTaskParams, *protocol.TaskResultParams, *protocol.ListTasksParams,
		*protocol.CancelTaskParams, *protocol.UpdateTaskParams:
		return x.tasks(ctx, p)
	default:
		return x.invoke(ctx, p)
	}
}

// invoke runs the handler of a tool call, a read, a prompt or a custom method.
//
// The handler comes from the snapshot that Accept took, even if the catalog has changed since.
func (x *exchange) invoke(ctx context.Context, p protocol.Params) (protocol.Result, error) {
	h, err := x.snapshot.Find(ctx, x.call, p)
	if err != nil {
		return nil, err
	}
	how, err := x.modeOf(ctx, h, p)
	if err != nil {
		return nil, err
	}
	if call, ok := p.(*protocol.CallToolParams); ok && how == asTask {
		return x.createTask(ctx, h, call, &rounds.Journal{})
	}
	x.call.detachable = how == detachable
	if x.dialect.InputRounds() {
		return x.inRounds(ctx, h, p)
	}
	return h.Handle(ctx, x.call)
}

// initialize answers the request that has opened the session. If other nodes can serve the session,
// initialize stores it before the client gets the answer.
//
// If it fails, sendError calls unopen, and the session is gone before the client has the error.
func (x *exchange) initialize(ctx context.Context) (protocol.Result, error) {
	if x.conn.kept() != nil {
		if err := x.conn.alter(ctx, x.session, func(*keptSession) {}); err != nil {
			return nil, err
		}
	}
	caps := x.conn.e.capabilities()
	if x.conn.fleeting() {
		caps.ToolsListChanged, caps.PromptsListChanged, caps.ResourcesChanged, caps.ResourcesSubscribe = false, false, false, false
		caps.Logging = false
		caps.TaskList = caps.TaskList && transport.PrincipalFrom(ctx) != nil
	} else {
		x.attachFeed(ctx)
	}
	return &protocol.InitializeResult{
		Version:      x.dialect.Revision().String(),
		Capabilities: caps,
		Server:       x.conn.e.cfg.Info,
		Instructions: x.conn.e.cfg.Instructions,
	}, nil
}

// attachFeed connects the session's feed to the client. The feed sends notifications that do not
// belong to a request, such as list_changed.
//
// From then on the goroutine of the feed may send, but not before the client has sent
// notifications/initialized.
func (x *exchange) attachFeed(ctx context.Context) {
	out := x.out
	ctx = context.WithoutCancel(ctx)
	if link := x.conn.link; link != nil && link.Out != nil {
		out, ctx = link.Out, link.Context() // unlike the context of the call, it does not keep this request in memory
	}
	x.session.feed.Attach(ctx, out)
}

func (x *exchange) discover() protocol.Result {
	return &protocol.DiscoverResult{
		Versions:     dialect.PerRequestVersions(),
		Capabilities: x.conn.e.capabilities(),
		Server:       x.conn.e.cfg.Info,
		Instructions: x.conn.e.cfg.Instructions,
	}
}

// capabilities returns the capabilities of the components and of the engine itself. The dialect
// leaves out capabilities that its revision does not have.
func (e *Engine) capabilities() protocol.ServerCapabilities {
	caps := e.cfg.Catalog.Snapshot().Capabilities()
	caps.Logging = true
	caps.Extensions = e.cfg.Extensions
	caps.Tasks = caps.Tasks && e.cfg.Tasks != nil
	caps.TaskList, caps.TaskCancel = caps.Tasks, caps.Tasks // tasks are listed by principal or session
	return caps
}

func (x *exchange) list(ctx context.Context, p *protocol.ListParams) (protocol.Result, error) {
	page, err := x.snapshot.List(ctx, x.call, p)
	if err != nil {
		return nil, err
	}
	return page, nil
}

func (x *exchange) complete(ctx context.Context, p *protocol.CompleteParams) (protocol.Result, error) {
	completion, err := x.snapshot.Complete(ctx, x.call, p)
	if err != nil {
		return nil, err
	}
	return &protocol.CompleteResult{Completion: *completion}, nil
}

func (x *exchange) subscribe(ctx context.Context, p *protocol.SubscribeParams) (protocol.Result, error) {
	if err := x.snapshot.Subscribe(ctx, x.call, p.URI); err != nil {
		return nil, err
	}
	full := false
	err := x.conn.alter(ctx, x.session, func(k *keptSession) {
		known := slices.Contains(k.URIs, p.URI)
		size := len(p.URI)
		for _, uri := range k.URIs {
			size += len(uri)
		}
		if full = !known && (len(k.URIs) >= feed.MaxWatched || size > feed.MaxWatchedBytes); !known && !full {
			k.URIs = append(k.URIs, p.URI)
		}
	})
	if full {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "too many subscriptions: at most %d, and %d bytes of URIs", feed.MaxWatched, feed.MaxWatchedBytes)
	}
	return emptyUnless(err)
}

// unsubscribe ends the subscription to the URI. A client without a subscription in this spelling ends
// its subscriptions in others, because they mean the same resource.
func (x *exchange) unsubscribe(ctx context.Context, p *protocol.UnsubscribeParams) (protocol.Result, error) {
	return emptyUnless(x.conn.alter(ctx, x.session, func(k *keptSession) {
		if i := slices.Index(k.URIs, p.URI); i >= 0 {
			k.URIs = slices.Delete(k.URIs, i, i+1)
			return
		}
		normal := protocol.NormalURI(p.URI)
		k.URIs = slices.DeleteFunc(k.URIs, func(u string) bool { return protocol.NormalURI(u) == normal })
	}))
}

func (x *exchange) setLevel(ctx context.Context, p *protocol.SetLevelParams) (protocol.Result, error) {
	return emptyUnless(x.conn.alter(ctx, x.session, func(k *keptSession) { k.Level = p.Level }))
}

func emptyUnless(err error) (protocol.Result, error) {
	if err != nil {
		return nil, err
	}
	return &protocol.EmptyResult{}, nil
}

// tasks serves the methods of both designs of tasks.
func (x *exchange) tasks(ctx context.Context, p protocol.Params) (protocol.Result, error) {
	if x.dialect.TaskExtension() && !x.call.Capabilities().Tasks {
		return nil, needsTasks(protocol.MethodOf(p))
	}
	switch p := p.(type) {
	case *protocol.GetTaskParams:
		r, err := x.task(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		return x.taskResult(&r)
	case *protocol.TaskResultParams:
		return x.awaitTask(ctx, p.ID)
	case *protocol.ListTasksParams:
		return x.listTasks(ctx, p)
	case *protocol.CancelTaskParams:
		return x.cancelTask(ctx, p)
	case *protocol.UpdateTaskParams:
		return x.updateTask(ctx, p)
	}
	return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %s", jsontext.Clip(protocol.MethodOf(p), 128))
}
