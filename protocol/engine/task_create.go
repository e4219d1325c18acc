package engine

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// Tasked is a Handler whose calls may become tasks.
type Tasked interface {
	// TaskPolicy says when; nil: never. Read-only.
	TaskPolicy() *TaskPolicy
}

// TaskPolicy says when the calls of a tool become tasks, and how these live.
type TaskPolicy struct {
	// Required refuses calls of clients that cannot have, or do not want, a task. A
	// revision without tasks runs the tool in its request.
	Required bool
	// TTL from the creation, where the client has no wish; 0 = TaskLimits.TTL.
	TTL time.Duration
	// Poll is how often a client may ask; 0 = 1 second.
	Poll time.Duration
	// Retries is how often the handler runs again after an internal error or a panic.
	Retries int
	// Deaths is how often it runs again because the worker that ran it is gone; 0 = 5,
	// negative: never. Each run counts for both.
	Deaths int
	// Immediate is what the model gets at once, where the client asked for the task
	// (2025-11-25); "" leaves that to the client.
	Immediate string
	// AfterDetach keeps a call in its request until the handler calls Call.Detach, on
	// 2026-07-28: until then the client is asked in rounds.
	AfterDetach bool
	// When restricts tasks to some calls; nil: all.
	When func(ctx context.Context, arguments []byte) bool
	// Scopes that callers need to hear of such a task, to answer its questions and to cancel
	// it: those of the tool.
	Scopes []string
}

// TaskLimits bound what tasks may take. Where one is 0, the default is meant.
type TaskLimits struct {
	PerOwner  int           // tasks of one principal or session that are not over; 1,024. Creations at the same moment may exceed it
	Anonymous int           // of all that belong to nobody; 16,384
	Page      int           // tasks on a page of tasks/list; 100
	Workers   int           // tasks of a Queue that run here at once; 64. Negative: none
	TTL       time.Duration // of a task without another; 1 hour
	MaxTTL    time.Duration // that a client may wish for; 24 hours
	Record    task.Limits
}

func (l TaskLimits) orDefaults() TaskLimits {
	if l.PerOwner <= 0 {
		l.PerOwner = 1 << 10
	}
	if l.Anonymous <= 0 {
		l.Anonymous = 1 << 14
	}
	if l.Page <= 0 {
		l.Page = 100
	}
	if l.Workers == 0 {
		l.Workers = 64
	}
	if l.TTL <= 0 {
		l.TTL = time.Hour
	}
	if l.MaxTTL <= 0 {
		l.MaxTTL = 24 * time.Hour
	}
	return l
}

// defaultPoll is how often a client may ask for a task.
const defaultPoll = time.Second

// runMode is how a call runs: in its request, or as a task.
type runMode byte

const (
	inline     runMode = iota
	detachable         // inline, until the handler detaches
	asTask
)

// policy of a handler; nil: its calls are never tasks.
func policy(h Handler) *TaskPolicy {
	if t, ok := h.(Tasked); ok {
		return t.TaskPolicy()
	}
	return nil
}

// wayOf decides whether a call becomes a task.
func (x *exchange) wayOf(ctx context.Context, h Handler, p protocol.Params) (runMode, error) {
	call, ok := p.(*protocol.CallToolParams)
	if !ok || x.conn.e.cfg.Tasks == nil {
		return inline, nil
	}
	rule := policy(h)
	switch {
	case rule == nil && call.Task == nil:
		return inline, nil
	case x.dialect.CoreTasks():
		return x.wayByClient(ctx, call, rule)
	case x.dialect.TaskExtension() && rule != nil:
		return x.wayByServer(ctx, call, rule)
	}
	return inline, nil
}

// wayByClient is the way on 2025-11-25, where the client asks for a task
// (basic/utilities/tasks "Tool-Level Negotiation").
func (x *exchange) wayByClient(ctx context.Context, p *protocol.CallToolParams, rule *TaskPolicy) (runMode, error) {
	switch {
	case p.Task == nil && rule.Required:
		return inline, protocol.Faultf(protocol.FaultMethodNotFound, "the tool %q must be called as a task", p.Name)
	case p.Task == nil || !x.snapshot.Capabilities().Tasks: // not advertised: the wish is ignored
		return inline, nil
	case rule == nil:
		return inline, protocol.Faultf(protocol.FaultMethodNotFound, "the tool %q cannot be called as a task", p.Name)
	case !rule.Required && rule.When != nil && !rule.When(ctx, p.Arguments):
		return inline, nil
	}
	return asTask, nil
}

// wayByServer is the way on 2026-07-28, where the server decides and the client only
// says that it understands (the tasks extension, SEP-2663). A call that was asked in
// rounds before goes on as it began.
func (x *exchange) wayByServer(ctx context.Context, p *protocol.CallToolParams, rule *TaskPolicy) (runMode, error) {
	switch {
	case rule.When != nil && !rule.When(ctx, p.Arguments):
		return inline, nil
	case !x.call.Capabilities().Tasks && rule.Required:
		return inline, needsTasks("the tool " + strconv.Quote(p.Name) + " runs as a task only")
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

// Detach lets the call go on as a task, if it may become one and is none yet. The
// error is ErrPending then: the handler will run again in the task, with the same
// answers and effects, and shall return now. Otherwise it does nothing.
func (c *Call) Detach() error {
	if !c.detachable || c.run != nil {
		return nil
	}
	if r := c.round.Load(); r != nil && r.pending() {
		return ErrPending
	}
	c.detached.Store(true)
	c.outlet().end(ErrPending)
	return ErrPending
}

// Task names the task that the call runs in; empty outside of one.
func (c *Call) Task() string {
	if c.run == nil {
		return ""
	}
	return c.run.id
}

// Replays says that answers come from a journal: the handler runs again for each,
// in rounds or in a task.
func (c *Call) Replays() bool { return c.Dialect.InputRounds() || c.run != nil }

// WillRetry says that a task runs again if its handler ends by an error of its own
// now, one that is neither the client's nor the protocol's.
func (c *Call) WillRetry() bool {
	return c.run != nil && c.run.began < c.run.policy.Retries
}

// owner returns the owner of the tasks that this exchange may see: its principal, else its session,
// else nobody (""); then knowing the id is what gives access.
func (x *exchange) owner(ctx context.Context) string {
	if p := transport.PrincipalFrom(ctx); p != nil {
		return "principal:" + strconv.Itoa(len(p.Issuer)) + ":" + p.Issuer + ":" + p.Subject
	}
	if x.session != nil && x.session.id != "" {
		return "session:" + x.session.id
	}
	return ""
}

// createTask stores the task before anybody is told of it. Without a queue, this node runs it once
// the answer has been sent (see exchange.launch).
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
		return nil, unavailable("creating a task", err)
	}
	if e.cfg.Queue == nil { // else a worker takes it, here or elsewhere
		e.running.Add(1) // without begin: Shutdown waits for this exchange before it waits for tasks
		x.created = e.newJob(ctx, x, h, r)
	}
	return &protocol.CreateTaskResult{Task: taskOf(r), ImmediateResponse: policy(h).Immediate}, nil
}

func (x *exchange) newTask(ctx context.Context, rule *TaskPolicy, p *protocol.CallToolParams, journal *rounds.Journal) (*task.Record, error) {
	e := x.conn.e
	now := e.cfg.Now().Round(0).UTC()
	r := &task.Record{
		ID: rand.Text(), Owner: x.owner(ctx), Status: protocol.TaskWorking, Created: now, Updated: now,
		TTL: e.lifeOf(rule, p.Task), PollInterval: rule.Poll,
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

// lifeOf returns the TTL of a task: what the client asks for, limited, or else the policy's.
func (e *Engine) lifeOf(rule *TaskPolicy, wish *protocol.TaskRequest) time.Duration {
	limits, ttl := e.cfg.TaskLimits, rule.TTL
	if ttl <= 0 {
		ttl = limits.TTL
	}
	if wish == nil || wish.TTL == nil || *wish.TTL <= 0 {
		return ttl
	}
	most := max(limits.MaxTTL, ttl)
	if *wish.TTL > most.Milliseconds() {
		return most
	}
	return time.Duration(*wish.TTL) * time.Millisecond
}

// taskRoom returns an error if the owner, or all callers without one together, have as many tasks as
// they may.
func (e *Engine) taskRoom(ctx context.Context, owner string) error {
	most := e.cfg.TaskLimits.PerOwner
	if owner == "" {
		most = e.cfg.TaskLimits.Anonymous
	}
	n, err := e.cfg.Tasks.Count(ctx, owner)
	if err != nil {
		return unavailable("counting tasks", err)
	}
	if n >= most {
		return protocol.Faultf(protocol.FaultInternal, "too many tasks at once: at most %d", most)
	}
	return nil
}

// taskOf returns the part of a task that both designs have on the wire.
func taskOf(r *task.Record) protocol.Task {
	t := protocol.Task{
		ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created, Updated: r.Updated,
		PollInterval: r.PollInterval.Milliseconds(),
	}
	if r.TTL > 0 {
		t.TTL = new(max(r.TTL.Milliseconds(), 1))
	}
	return t
}
