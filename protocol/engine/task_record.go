package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// recorded returns this call as Record.Call. Without a queue no other process can run the task, and
// recorded leaves out what only another process needs.
func (x *exchange) recorded(ctx context.Context, scopes []string) ([]byte, error) {
	msg, fault := jsonrpc.Decode(x.frame)
	if fault != nil {
		return nil, fmt.Errorf("engine: recording a task: %s", fault.Reason)
	}
	var err error
	call := taskrecord.Call{
		Revision: x.dialect.String(), Scopes: scopes, Method: x.method, Session: x.call.Session(), Params: msg.Params,
	}
	if x.conn.e.cfg.Queue != nil {
		call.ID, call.Address = x.id.Append(nil), x.call.RemoteAddr()
		if p := transport.PrincipalFrom(ctx); p != nil {
			if call.Principal, err = taskrecord.RecordPrincipal(p); err != nil {
				return nil, fmt.Errorf("engine: recording a task: %w", err)
			}
		}
		if s := x.session; s != nil {
			call.Init, call.Level = json.RawMessage(s.init), s.logLevel()
		}
	}
	text, err := json.Marshal(call)
	if err != nil {
		return nil, fmt.Errorf("engine: recording a task: %w", err)
	}
	return text, nil
}

// noTask returns the fault for a task that does not exist, has expired, or belongs to another owner.
// It is the same fault, so that a client cannot find out which.
func noTask() error { return protocol.Faultf(protocol.FaultInvalidParams, "no such task") }

// lacksScopes returns the answer for the owner of a task who lacks its scopes. If a call of the tool
// would be refused with the scopes to request, it is that refusal. Otherwise it is noTask.
func (x *exchange) lacksScopes(ctx context.Context, r *task.Record) error {
	_, err := x.snapshot.Find(ctx, x.call, &protocol.CallToolParams{Name: taskrecord.Tool(r)})
	if refused, ok := errors.AsType[*transport.AuthError](err); ok {
		return refused
	}
	return noTask()
}

// read decodes the request again for each run, because a waiting task keeps only its text.
func (j *job) read(r *task.Record) (protocol.Params, Meta, error) {
	call, err := taskrecord.ReadCall(r)
	if err != nil {
		return nil, noMeta, err
	}
	params, meta, raw, err := call.Decode(j.from.dialect)
	return params, Meta{meta, raw}, err
}

// jobOf makes a job from a record of any node. From the request's context, only the principal is
// restored. If jobOf returns an error, the job can only fail, or be left to other workers. The
// error is task.ErrUnreadable if this version of the program cannot read a part of the record.
//
// The job is not registered, and has no timer. The caller must end its context. It never has the
// conn of a client: a session that is served here is found by its id when there is something to
// send.
func (e *Engine) jobOf(ctx context.Context, r *task.Record) (*job, error) {
	call, err := taskrecord.ReadCall(r)
	j := &job{
		e: e, id: r.ID, tool: taskrecord.Tool(r), policy: &TaskPolicy{},
		from: origin{
			conn: e.noConn, addr: call.Address, id: call.RequestID(), dialect: call.Dialect(), snapshot: e.cfg.Catalog.Snapshot(),
		},
	}
	if left := j.left(r); left > 0 {
		j.ends = time.Now().Add(left)
	}
	var who *transport.Principal // nil hides a principal in the context of Start
	if call.Principal != nil {
		var unreadable error
		who, unreadable = call.Principal.Restore()
		err = errors.Join(err, unreadable)
	}
	ctx = transport.WithPrincipal(ctx, who)
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	if err == nil && j.from.dialect == nil {
		err = fmt.Errorf("engine: a task of the unknown revision %q", call.Revision)
	}
	if err == nil {
		_, err = rounds.Parse(r.Journal)
	}
	if err != nil {
		j.from.dialect = dialect.Handshake("")
		return j, fmt.Errorf("%w: %w", task.ErrUnreadable, err)
	}
	if call.Session != "" {
		if j.from.session, err = e.restored(&keptSession{ID: call.Session, Init: call.Init, Level: call.Level}); err != nil {
			return j, fmt.Errorf("%w: %w", task.ErrUnreadable, err)
		}
		if call.Level != "" {
			j.from.session.level.Store(&call.Level)
		}
	}
	return j, j.find(ctx, r)
}

// find looks up the handler as the original caller. A tool that this caller cannot see any more is
// not run.
//
// It writes h and policy, before the job is registered. If it returns an error, h may be nil, and
// only fail may be called.
func (j *job) find(ctx context.Context, r *task.Record) error {
	params, meta, err := j.read(r)
	if err != nil {
		return fmt.Errorf("%w: %w", task.ErrUnreadable, err)
	}
	c := j.unstarted(r.Runs).call(params, meta, &rounds.Journal{})
	if j.h, err = j.from.snapshot.Find(ctx, c, params); err != nil {
		return err
	}
	rule := policy(j.h)
	if rule == nil {
		return protocol.Faultf(protocol.FaultInternal, "the tool does not run as a task any more")
	}
	j.policy = rule
	return nil
}
