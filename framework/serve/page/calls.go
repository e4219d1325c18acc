package page

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Bounds of the kept calls.
const (
	maxCalls       = 200
	maxResultBytes = 64 << 20
	maxRunning     = 64
)

// callKey is the key of the call's ID in the context of the call's requests.
type callKey struct{}

// Phases of a call.
const (
	phaseSent      = "sent"
	phaseResult    = "result"
	phaseError     = "error"
	phaseCancelled = "cancelled"
	phaseLost      = "lost" // the server may or may not have run the call
)

// order is a call that the browser asks for.
type order struct {
	Method    string          `json:"method"`
	Name      string          `json:"name"` // name of a tool or prompt; URI of a resource; ID of a task
	Arguments json.RawMessage `json:"arguments"`
	Task      bool            `json:"task"`
	TTL       int64           `json:"ttlMs"`

	mark string // identifies the call in the log of effects; "" if the server is not in this process
}

// call is a call and its outcome. calls.mu guards all fields.
type call struct {
	ID        string          `json:"id"`
	N         int             `json:"n"` // grows in the order of the calls
	Method    string          `json:"method"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Revision  string          `json:"revision"`
	At        time.Time       `json:"at"`
	Phase     string          `json:"phase"`
	Ms        float64         `json:"ms,omitempty"`
	Progress  *progress       `json:"progress,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Bytes     int             `json:"bytes,omitempty"`
	Fits      *fitting        `json:"fits,omitempty"` // nil if there is no output schema
	Task      *taskSeen       `json:"task,omitempty"`
	Rounds    []round         `json:"rounds,omitempty"` // for a call that asks in rounds, or has effects
	Result    json.RawMessage `json:"result,omitempty"` // as the server sent it
	Error     *callError      `json:"error,omitempty"`

	cancel context.CancelFunc
}

type progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// taskSeen is the state of a call that became a task.
type taskSeen struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// callError is the reason why a call has no result.
type callError struct {
	Code    int             `json:"code,omitempty"` // JSON-RPC code; 0 if the error does not come from the server
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// size returns the size of the arguments and of the outcome.
func (c *call) size() int {
	n := len(c.Arguments) + len(c.Result)
	if c.Error != nil {
		n += len(c.Error.Message) + len(c.Error.Data)
	}
	return n
}

// copy returns a copy that further changes do not affect. The caller holds calls.mu.
func (c *call) copy() call {
	out := *c
	out.Rounds = slices.Clone(c.Rounds)
	for i, r := range out.Rounds {
		out.Rounds[i].Effects, out.Rounds[i].Steps = slices.Clone(r.Effects), slices.Clone(r.Steps)
	}
	return out
}

// calls keeps the newest calls. add inserts a call, change updates it, and forget drops the oldest
// finished calls. mu guards all calls.
type calls struct {
	mu      sync.Mutex // guards the fields below and the fields of each call
	last    int
	byID    map[string]*call
	bytes   int // total size of the calls
	running int
}

func newCalls() *calls { return &calls{byID: map[string]*call{}} }

// add keeps a new call. If too many calls are running, it returns an error.
func (c *calls) add(one *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running >= maxRunning {
		return refuse(http.StatusTooManyRequests, "%d calls are running: wait for one, or stop one", maxRunning)
	}
	c.running++
	c.last++
	one.N = c.last
	c.byID[one.ID] = one
	c.bytes += one.size()
	c.forget(one)
	return nil
}

// forget drops the oldest finished calls until the bounds are met, but never the call just. The caller
// holds mu.
func (c *calls) forget(just *call) {
	for _, one := range c.sorted() {
		if len(c.byID) <= maxCalls && c.bytes <= maxResultBytes {
			return
		}
		if one.Phase != phaseSent && one != just {
			delete(c.byID, one.ID)
			c.bytes -= one.size()
		}
	}
}

// sorted returns all calls, oldest first. The caller holds mu.
func (c *calls) sorted() []*call {
	return slices.SortedFunc(maps.Values(c.byID), func(a, b *call) int { return cmp.Compare(a.N, b.N) })
}

// change calls fn with mu held, and returns a copy of the call. The copy has no arguments, because
// the browser has them, and no result.
func (c *calls) change(one *call, fn func()) call {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
	seen := one.copy()
	seen.Arguments, seen.Result = nil, nil
	return seen
}

// busy reports whether a call is running.
func (c *calls) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running > 0
}

// onlyRunning returns the ID of the running call if there is exactly one, and "" otherwise. It does not
// count watches. Before 2026-07-28, a question does not identify its call.
func (c *calls) onlyRunning() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := ""
	for _, one := range c.byID {
		if one.Phase != phaseSent || one.Method == protocol.MethodSubscribe { // a watch asks nothing
			continue
		}
		if found != "" {
			return ""
		}
		found = one.ID
	}
	return found
}

// get returns a copy of a call, or nil if the call is not kept.
func (c *calls) get(id string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byID[id]
	if one == nil {
		return nil
	}
	seen := one.copy()
	return &seen
}

// list returns copies without results, newest first.
func (c *calls) list() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.sorted()
	list := make([]call, 0, len(all))
	for _, kept := range slices.Backward(all) {
		one := kept.copy()
		one.Result = nil
		list = append(list, one)
	}
	return list
}

// start begins a call and returns at once.
func (p *Page) start(o order) (string, error) {
	id := rand.Text()
	if p.options.Inside != nil {
		o.mark = id
	}
	params, err := o.params()
	if err != nil {
		return "", err
	}
	s, err := p.connected(p.life, true)
	if err != nil {
		return "", err
	}
	p.addSecretMembers(o.Arguments)
	one := &call{
		ID: id, Method: o.Method, Name: o.Name, Arguments: p.mask(o.Arguments),
		Revision: s.client.Revision(), At: time.Now(), Phase: phaseSent,
	}
	p.give(o.Arguments)
	ctx, cancel := context.WithCancel(context.WithValue(p.life, callKey{}, one.ID))
	one.cancel = cancel
	if err := p.calls.add(one); err != nil {
		cancel()
		return "", err
	}
	p.tellCall(*one)
	p.spawn(func() {
		defer cancel()
		result, err := p.run(ctx, s, o, one, params)
		p.finish(ctx, s, one, result, p.fits(o, result), err)
	})
	return one.ID, nil
}

// params returns the params of the request. The user's text is not changed.
func (o *order) params() (json.RawMessage, error) {
	if len(o.Arguments) > 0 && !json.Valid(o.Arguments) {
		return nil, refuse(http.StatusBadRequest, "the arguments are not JSON")
	}
	name, _ := json.Marshal(o.Name) // a string always marshals
	switch o.Method {
	case protocol.MethodCallTool, protocol.MethodGetPrompt:
		members := fmt.Appendf(nil, `{"name":%s`, name)
		if len(o.Arguments) > 0 {
			members = fmt.Appendf(members, `,"arguments":%s`, o.Arguments)
		}
		if o.mark != "" {
			members = fmt.Appendf(members, `,"_meta":{%q:%q}`, effectlog.Mark, o.mark)
		}
		return append(members, '}'), nil
	case protocol.MethodReadResource, protocol.MethodSubscribe:
		return fmt.Appendf(nil, `{"uri":%s}`, name), nil
	case protocol.MethodTaskResult:
		return fmt.Appendf(nil, `{"taskId":%s}`, name), nil
	case protocol.MethodPing:
		return nil, nil
	}
	return nil, refuse(http.StatusBadRequest, "the page does not call %q", o.Method)
}

// run makes the call and waits for its end.
func (p *Page) run(ctx context.Context, s *session, o order, one *call, params json.RawMessage) (json.RawMessage, error) {
	tell := client.OnProgress(func(at protocol.Progress) {
		p.tellCall(p.calls.change(one, func() { one.Progress = &progress{at.Done, at.Total, at.Message} }))
	})
	switch {
	case o.Method == protocol.MethodPing:
		return json.RawMessage(`{}`), s.client.Ping(ctx)
	case o.Method == protocol.MethodSubscribe:
		return nil, p.follow(ctx, s, one)
	case o.Method == protocol.MethodTaskResult:
		return s.client.Task(o.Name, tell).WaitRaw(ctx)
	case o.Task:
		return p.runTask(ctx, s, o, one, tell)
	}
	return s.client.Request(ctx, o.Method, params, client.InRounds(), tell)
}

// follow adds an event for each change of a resource, until the user stops the call.
func (p *Page) follow(ctx context.Context, s *session, one *call) error {
	updates, err := s.client.Subscribe(ctx, one.Name)
	if err != nil {
		return err
	}
	for uri := range updates {
		p.events.add("updated", map[string]any{"call": one.ID, "uri": uri})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New("the server has ended the subscription")
}

// runTask makes the call as a task and waits for its result.
func (p *Page) runTask(ctx context.Context, s *session, o order, one *call, tell client.CallOption) (json.RawMessage, error) {
	seen := func(t protocol.Task) {
		p.tellCall(p.calls.change(one, func() { one.Task = &taskSeen{ID: t.ID, Status: string(t.Status), Message: t.Message} }))
	}
	var args any
	if len(o.Arguments) > 0 {
		args = o.Arguments
	}
	t, err := s.client.CallTask(ctx, o.Name, args, tell, client.OnTask(seen), client.TaskTTL(time.Duration(o.TTL)*time.Millisecond))
	if err != nil {
		return nil, err
	}
	if t.ID() != "" {
		seen(t.State())
	}
	result, err := t.WaitRaw(ctx)
	if ctx.Err() != nil && t.ID() != "" {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
		defer cancel()
		_ = t.Cancel(bounded) // the user has stopped the call; a task that is over already is as well
	}
	return result, err
}

// callPatience bounds requests that end a call, and other short requests.
const callPatience = 5 * time.Second

// finish records the outcome of a call.
func (p *Page) finish(ctx context.Context, s *session, one *call, result json.RawMessage, fits *fitting, err error) {
	seen := p.calls.change(one, func() {
		p.calls.running--
		before := one.size()
		one.Ms = milliseconds(time.Since(one.At))
		one.Phase = phaseResult
		if n := len(one.Rounds); n > 0 && one.Rounds[n-1].Asks > 0 {
			one.Rounds = append(one.Rounds, round{}) // the last round, which had no effects
		}
		switch {
		case err == nil:
			one.Result, one.Bytes, one.IsError, one.Fits = result, len(result), isError(result), fits
		case ctx.Err() != nil:
			one.Phase = phaseCancelled
		case lost(err):
			one.Phase = phaseLost
			one.Error = p.explained(err)
		default:
			one.Phase = phaseError
			one.Error = p.explained(err)
		}
		p.calls.bytes += one.size() - before
		p.calls.forget(one)
	})
	p.tellCall(seen)
	if err != nil && ctx.Err() == nil {
		p.failed(s, err)
	}
}

func isError(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &r) == nil && r.IsError
}

// lost reports whether the connection failed, so that the server may or may not have run the
// request.
func lost(err error) bool {
	_, network := errors.AsType[*url.Error](err)
	return network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrClosed)
}

// explained returns the error for the browser.
func (p *Page) explained(err error) *callError {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		data, failed := json.Marshal(e.Data)
		if failed != nil || e.Data == nil {
			data = nil
		}
		return &callError{Code: e.Code, Message: p.unkeyed(e.Message), Data: data}
	}
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		return &callError{Message: p.unkeyed(fault.Error())}
	}
	return &callError{Message: p.unkeyed(err.Error())}
}

func (p *Page) tellCall(seen call) { p.events.add("call", map[string]any{"call": seen}) }

// stop cancels a call and withdraws its questions. If the call is not running, it returns false.
func (p *Page) stop(id string) bool {
	one := p.calls.get(id)
	if one == nil || one.Phase != phaseSent {
		return false
	}
	one.cancel()
	p.asked.withdraw(id)
	return true
}
