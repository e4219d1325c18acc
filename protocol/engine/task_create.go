package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// defaultPoll is the default of TaskPolicy.Poll.
const defaultPoll = time.Second

// runMode is how a call runs: in its request, or as a task.
type runMode byte

const (
	inline     runMode = iota
	detachable         // in its request, until the handler detaches
	asTask
)

// modeOf returns how a call runs: in its request, or as a task.
func (x *exchange) modeOf(ctx context.Context, h Handler, p protocol.Params) (runMode, error) {
	call, ok := p.(*protocol.CallToolParams)
	if !ok || x.conn.e.cfg.Tasks == nil {
		return inline, nil
	}
	rule := policy(h)
	switch {
	case rule == nil && call.Task == nil:
		return inline, nil
	case x.dialect.CoreTasks():
		return x.modeByClient(ctx, call, rule)
	case x.dialect.TaskExtension() && rule != nil:
		return x.modeByServer(ctx, call, rule)
	}
	return inline, nil
}

// modeByClient returns the mode on 2025-11-25, where the client asks for a task (basic/utilities/tasks
// "Tool-Level Negotiation").
func (x *exchange) modeByClient(ctx context.Context, p *protocol.CallToolParams, rule *TaskPolicy) (runMode, error) {
	switch {
	case p.Task == nil && rule.Required:
		return inline, protocol.Faultf(protocol.FaultMethodNotFound, "the tool %q must be called as a task", p.Name)
	case p.Task == nil || !x.snapshot.Capabilities().Tasks: // without the capability, the client's wish is ignored
		return inline, nil
	case rule == nil:
		return inline, protocol.Faultf(protocol.FaultMethodNotFound, "the tool %q cannot be called as a task", p.Name)
	case !rule.Required && rule.When != nil && !rule.When(ctx, p.Arguments):
		return inline, nil
	}
	return asTask, nil
}

// modeByServer returns the mode on 2026-07-28, where the server decides and the client only declares
// the extension (the tasks extension, SEP-2663). A call that was asked in rounds continues in its
// request.
func (x *exchange) modeByServer(ctx context.Context, p *protocol.CallToolParams, rule *TaskPolicy) (runMode, error) {
	switch {
	case rule.When != nil && !rule.When(ctx, p.Arguments):
		return inline, nil
	case !x.call.Capabilities().Tasks && rule.Required:
		return inline, needsTasks("the tool " + strconv.Quote(p.Name) + " runs only as a task")
	case !x.call.Capabilities().Tasks:
		return inline, nil
	case rule.AfterDetach || p.Inputs.State != nil || p.Inputs.Responses != nil:
		return detachable, nil
	}
	return asTask, nil
}

func needsTasks(why string) error {
	return &protocol.Fault{
		Kind: protocol.FaultMissingCapability, Message: why + ": declare the tasks extension",
		Required: &protocol.ClientCapabilities{Tasks: true},
	}
}

// owner returns the owner of the tasks that this exchange may see. This is the principal, or the session if
// there is no principal with a Subject. Without either, owner returns "", and a client needs only the id of
// a task to use it.
func (x *exchange) owner(ctx context.Context) string {
	if p := transport.PrincipalFrom(ctx); p != nil && p.Subject != "" {
		return "principal:" + strconv.Itoa(len(p.Issuer)) + ":" + p.Issuer + ":" + p.Subject
	}
	if x.session != nil && x.session.id != "" {
		return "session:" + x.session.id
	}
	return ""
}

// createTask stores the task before the client gets its id. Without a queue, this node runs it after
// the answer has been sent (see exchange.launch).
//
// The job is registered before the client can name the task, so that an early cancellation finds
// it. It has no goroutine until launch. journal belongs to createTask.
func (x *exchange) createTask(ctx context.Context, h Handler, p *protocol.CallToolParams, journal *rounds.Journal) (protocol.Result, error) {
	e := x.conn.e
	r, err := x.newTask(ctx, policy(h), p, journal)
	if err != nil {
		return nil, err
	}
	if err := e.taskRoom(ctx, r.Owner); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := e.cfg.Tasks.Create(ctx, *r); err != nil {
		return nil, storeerror.New("creating a task", err)
	}
	if e.cfg.Queue == nil { // with a queue, a worker of any node takes it
		e.running.Add() // without Begin, because Shutdown waits for this exchange before it waits for tasks
		x.created = e.newJob(ctx, x, h, r)
	}
	return &protocol.CreateTaskResult{Task: taskrecord.TaskOf(r), ImmediateResponse: policy(h).Immediate}, nil
}

// newTask returns the record of a new task, which is not stored yet. It does not refer to the
// memory of the frame.
func (x *exchange) newTask(ctx context.Context, rule *TaskPolicy, p *protocol.CallToolParams, journal *rounds.Journal) (*task.Record, error) {
	e := x.conn.e
	now := e.cfg.Now().Round(0).UTC()
	r := &task.Record{
		ID: rand.Text(), Owner: x.owner(ctx), Status: protocol.TaskWorking, Created: now, Updated: now,
		TTL: lifeOf(rule, p.Task), PollInterval: rule.Poll,
	}
	if r.PollInterval <= 0 {
		r.PollInterval = defaultPoll
	}
	journal.Call, journal.Expires = x.call.ID(), now.Add(r.TTL)
	r.Journal = journal.Append(nil)
	call, err := x.recorded(ctx, rule.Scopes)
	if err != nil {
		return nil, err
	}
	r.Call = call
	return r, nil
}

// lifeOf returns the TTL of a task: the client's, within limits, otherwise the policy's.
func lifeOf(rule *TaskPolicy, wish *protocol.TaskRequest) time.Duration {
	ttl := cmp.Or(rule.TTL, defaultTTL)
	if wish == nil || wish.TTL == nil || *wish.TTL <= 0 {
		return ttl
	}
	most := max(maxTTL, ttl)
	if *wish.TTL > most.Milliseconds() {
		return most
	}
	return time.Duration(*wish.TTL) * time.Millisecond
}

// taskRoom returns an error if the owner has too many tasks. All callers without an owner count
// together.
//
// Counting and creating are two steps. Concurrent creations may therefore exceed the limit by their
// number.
func (e *Engine) taskRoom(ctx context.Context, owner string) error {
	most := e.cfg.TaskLimits.PerOwner
	if owner == "" {
		most = anonymousTasks
	}
	n, err := e.cfg.Tasks.Count(ctx, owner)
	if err != nil {
		return storeerror.New("counting tasks", err)
	}
	if n >= most {
		return protocol.Faultf(protocol.FaultInternal, "too many tasks at once: at most %d", most)
	}
	return nil
}
