// Package bridge keeps the session of a client while the server behind it is replaced. The client
// is on one side, and processes of the server are on the other. They exchange JSON-RPC messages,
// one per line.
//
// A new process receives the requests that made the session: initialize, the log level, and
// subscriptions. An old process finishes its calls. While the code does not compile, the bridge
// itself answers calls.
//
// Messages pass unchanged, except for the ids of requests from the server. Each process counts from
// one, so the bridge adds a prefix to the id.
//
// Bridge serves a client on stdin and stdout, Proxy serves clients over HTTP.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// Bridge is the session of one client on stdin and stdout. Methods are safe for concurrent use, except that Serve
// is called once, and Replace by one goroutine.
//
// Three kinds of goroutines use a Bridge: Serve reads the client, one goroutine per process reads that process, and
// Replace changes the current process. The mutex mu guards their common state. Serve and the readers release mu
// before they write a line, so a peer that does not read blocks only its own direction. Replace writes the few
// lines of open subscriptions while it holds mu, because no other line may precede them. The lock writing is
// taken after mu and never before it.
type Bridge struct {
	out     io.Writer
	writing sync.Mutex // guards out

	gone  chan struct{}
	first chan struct{} // closed when the first process serves

	made int            // number of started processes; used only by Replace
	live sync.WaitGroup // goroutines for processes

	mu        sync.Mutex
	session   sessionState
	current   *child   // nil before the first
	processes []*child // running processes: current, and old ones with open calls
	broken    string   // text of Break; "" if calls are served
	closed    bool     // Close was called
}

// sessionState is the part of a session that a new process needs.
type sessionState struct {
	initialize, initialized, level []byte
	subscribed                     map[string][]byte // requests of resources/subscribe by URI
	listens                        map[string][]byte // requests of subscriptions/listen by id (2026-07-28)
	meta                           json.RawMessage   // _meta of a request of 2026-07-28
}

// New returns a bridge that writes the messages for the client to out.
func New(out io.Writer) *Bridge {
	return &Bridge{
		out: out, gone: make(chan struct{}, 1), first: make(chan struct{}),
		session: sessionState{subscribed: map[string][]byte{}, listens: map[string][]byte{}},
	}
}

// Gone returns a channel that receives a value when the current process has ended by itself.
func (b *Bridge) Gone() <-chan struct{} { return b.gone }

// Serve reads the messages of the client until in or ctx ends. If reading fails, Serve returns that error.
func (b *Bridge) Serve(ctx context.Context, in io.Reader) error {
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(ctx, in, lines)
	}()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return <-failed
			}
			if err := b.fromClient(ctx, line); err != nil {
				return nil //nolint:nilerr // ctx has ended
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// readLines sends the lines of in until in or ctx ends. A read that is waiting continues after ctx
// has ended.
func readLines(ctx context.Context, in io.Reader, to chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case to <- line:
			case <-ctx.Done():
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the client: %w", err)
		}
	}
}

// Close ends all processes. Call it after Serve and Replace have returned.
func (b *Bridge) Close() {
	b.mu.Lock()
	b.closed = true
	last := b.current
	b.mu.Unlock()
	if last != nil {
		last.end()
	}
	b.live.Wait()
}

// Break makes the bridge answer calls of tools with this text until the next Replace. The current process still
// answers all other requests.
func (b *Bridge) Break(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = text
}

// fromClient passes a line of the client on. It waits for the first process, unless Break refuses
// the call.
func (b *Bridge) fromClient(ctx context.Context, line []byte) error {
	all := framesOf(line)
	if answer := b.refused(all); answer != nil {
		b.send(answer)
		return nil
	}
	select {
	case <-b.first:
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(all) == 1 && all[0].response() {
		if to, id := b.asker(all[0].ID); to != nil { // nil if no process waits for this answer
			to.write(with(alone(line), "id", id))
		}
		return nil
	}
	to, answers := b.route(all)
	for _, answer := range answers {
		b.send(answer)
	}
	if to != nil {
		to.write(line)
	}
	return nil
}

// route returns the process for a line, or the answers if it has ended.
func (b *Bridge) route(all []frame) (to *child, answers [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to = b.current
	for i := range all {
		to = b.note(&all[i], to)
	}
	if !to.dead {
		return to, nil
	}
	for i := range all {
		if all[i].request() {
			answers = append(answers, refusal(&all[i], hasEnded))
		}
	}
	return nil, answers
}

// refused returns the answer to a call that Break refuses. For all other messages it returns nil.
func (b *Bridge) refused(all []frame) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(all) != 1 || !all[0].request() || all[0].Method != protocol.MethodCallTool || b.broken == "" {
		return nil
	}
	return refusal(&all[0], b.broken)
}

// note records what later processes need of a message. It returns the process that the message is
// for. The caller holds mu.
func (b *Bridge) note(f *frame, to *child) *child {
	if meta := f.param("_meta"); f.request() && f.param("_meta", metaRevision) != nil {
		b.session.meta = meta
	}
	switch f.Method {
	case protocol.MethodInitialize:
		b.session.initialize = f.line()
	case protocol.NotificationInitialized:
		b.session.initialized = f.line()
	case protocol.MethodSetLevel:
		b.session.level = f.line()
	case protocol.MethodSubscribe:
		b.session.subscribed[f.uri()] = f.line()
	case protocol.MethodUnsubscribe:
		b.session.unsubscribe(f.uri())
	case protocol.MethodListen:
		b.session.listens[key(f.ID)] = f.line()
	case protocol.NotificationCancelled:
		id := key(f.param("requestId"))
		delete(b.session.listens, id)
		for _, c := range b.processes {
			if _, owes := c.owed[id]; owes {
				delete(c.owed, id) // servers do not answer a cancelled request
				return c
			}
		}
	}
	if f.request() {
		if state := key(f.param("requestState")); state != "" {
			for _, c := range b.processes {
				if c.rounds[state] {
					delete(c.rounds, state)
					to = c
				}
			}
		}
		to.owed[key(f.ID)] = *f
	}
	return to
}

// unsubscribe removes a subscription, as servers do: without one in this spelling, it removes those in other
// spellings of the URI.
func (m *sessionState) unsubscribe(uri string) {
	if m.subscribed[uri] != nil {
		delete(m.subscribed, uri)
		return
	}
	maps.DeleteFunc(m.subscribed, func(other string, _ []byte) bool { return protocol.NormalURI(other) == protocol.NormalURI(uri) })
}

// send writes a line to the client.
func (b *Bridge) send(line []byte) {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(append(slices.Clip(line), '\n')) // a client that has ended also closes stdin
}

// read passes on the messages of a process until the process ends.
func (b *Bridge) read(c *child) {
	for _, line := range c.early {
		if line = b.fromChild(c, line); line != nil {
			b.send(line)
		}
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if line = b.fromChild(c, line); line != nil {
				b.send(line)
			}
		}
		if err != nil {
			break
		}
	}
	_ = c.cmd.Wait()
	close(c.done)
	b.ended(c)
}

// fromChild returns the line for the client. If the client must not receive it, fromChild returns nil.
func (b *Bridge) fromChild(c *child, line []byte) []byte {
	all := framesOf(line)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(all) != 1 { // a batch contains only answers
		for i := range all {
			delete(c.owed, key(all[i].ID))
		}
		return line
	}
	f := &all[0]
	switch {
	case f.request():
		name := c.prefixed(f.ID)
		c.asked[name] = f.ID
		return with(line, "id", quoted(name))
	case f.response():
		return b.answered(c, f, line)
	case f.Method == protocol.NotificationCancelled:
		if name := c.prefixed(f.param("requestId")); c.asked[name] != nil {
			return with(line, "params", with(f.Params, "requestId", quoted(name)))
		}
	case f.Method == protocol.NotificationProgress, f.Method == protocol.NotificationMessage:
		return line
	case f.Method == acknowledged:
		id := key(f.param("_meta", metaSubscription))
		if c.again[id] { // an earlier process has sent the acknowledgement
			delete(c.again, id)
			return nil
		}
	}
	if c.retired {
		return nil
	}
	return line
}

// answered returns the line if the client waits for this answer, and nil otherwise. The caller holds mu.
func (b *Bridge) answered(c *child, f *frame, line []byte) []byte {
	id := key(f.ID)
	if _, owes := c.owed[id]; !owes {
		return nil
	}
	delete(c.owed, id)
	delete(b.session.listens, id) // an answer ends a subscription
	var result struct {
		State json.RawMessage `json:"requestState"`
	}
	if json.Unmarshal(f.Result, &result) == nil && len(result.State) > 0 {
		c.rounds[key(result.State)] = true
	}
	return line
}

// prefixed returns the text of the id that the client receives for a request of the server.
func (c *child) prefixed(id json.RawMessage) string { return fmt.Sprintf("%d:%s", c.number, key(id)) }
