package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Replace starts a process of the server, which is not started yet, and lets it take over. changed names the
// notifications of lists that have changed. If the process does not answer, everything stays as it was, and
// the error says why. Replace is not called concurrently.
func (b *Bridge) Replace(ctx context.Context, cmd *exec.Cmd, changed ...string) error {
	b.made++
	c, err := start(cmd, b.made)
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	hello := b.hello()
	if err := c.greet(ctx, hello); err != nil {
		c.kill()
		_ = c.cmd.Wait()
		return fmt.Errorf("starting the server: %w", err)
	}
	old, news := b.takeOver(c, hello, changed)
	b.live.Go(func() { b.read(c) })
	for _, line := range news {
		b.send(line)
	}
	if old != nil {
		b.live.Go(func() { b.retire(old) })
	}
	return nil
}

// hello is what a new process must hear, in this order.
func (b *Bridge) hello() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said.hello()
}

// probe is the id of a request of the bridge itself.
const probe = `"kagami-dev"`

func (m *memory) hello() [][]byte {
	var all [][]byte
	for _, line := range [][]byte{m.initialize, m.initialized, m.level} {
		if line != nil {
			all = append(all, line)
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(m.subscribed)) {
		all = append(all, m.subscribed[uri])
	}
	if m.initialize == nil && m.meta != nil {
		all = append(all, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":%s}}`, probe, protocol.MethodDiscover, m.meta))
	}
	return all
}

// takeOver makes c the process that serves. It returns the one before, if there was one, and what is to be sent to the client.
func (b *Bridge) takeOver(c *child, hello [][]byte, changed []string) (old *child, told [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said.hello() { // what was said in the meantime; the client has its answers already
		if !slices.ContainsFunc(hello, func(heard []byte) bool { return bytes.Equal(heard, line) }) {
			c.write(line)
		}
	}
	old, b.current, b.broken = b.current, c, ""
	b.processes = append(b.processes, c)
	if old == nil {
		close(b.first)
	} else {
		old.retired = true
	}
	for _, id := range slices.Sorted(maps.Keys(b.said.listens)) {
		line := b.said.listens[id]
		f := framesOf(line)[0]
		if old != nil {
			delete(old.owed, id)
		}
		c.owed[id], c.again[id] = f, true
		c.write(line)
		for _, method := range changed {
			if string(f.param("notifications", filterOf[method])) == "true" {
				told = append(told, news(method, f.ID))
			}
		}
	}
	if b.said.initialized != nil {
		for _, method := range changed {
			told = append(told, news(method, nil))
		}
	}
	return old, told
}

// filterOf are the members by which a client of 2026-07-28 asks for notifications.
var filterOf = map[string]string{
	protocol.NotificationToolsChanged:     "toolsListChanged",
	protocol.NotificationResourcesChanged: "resourcesListChanged",
	protocol.NotificationPromptsChanged:   "promptsListChanged",
}

// retire ends a process when it has answered all that it owes.
func (b *Bridge) retire(c *child) {
	deadline := time.After(rest)
	for b.busy(c) {
		select {
		case <-c.done:
			return
		case <-deadline:
			c.end()
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.end()
}

func (b *Bridge) busy(c *child) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && len(c.owed)+len(c.rounds) > 0
}

// ended answers what a process owes that has ended.
func (b *Bridge) ended(c *child) {
	b.mu.Lock()
	c.dead = true
	b.processes = slices.DeleteFunc(b.processes, func(other *child) bool { return other == c })
	var answers [][]byte
	for id, f := range c.owed {
		answers = append(answers, refusal(&f, hasEnded))
		delete(b.said.listens, id)
	}
	c.owed = map[string]frame{}
	alone := c == b.current && !b.closed
	b.mu.Unlock()
	for _, line := range answers {
		b.send(line)
	}
	if alone {
		select {
		case b.gone <- struct{}{}:
		default: // one is not taken yet
		}
	}
}

const hasEnded = "kagami dev: the server has ended before it answered; its log says why"

// asker is the process that waits for the answer to a request of its own, or nil.
func (b *Bridge) asker(id json.RawMessage) (*child, json.RawMessage) {
	number, own, ok := ownID(id)
	if !ok {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.processes {
		if fmt.Sprint(c.number) == number && c.asked[key(own)] {
			delete(c.asked, key(own))
			return c, own
		}
	}
	return nil, nil
}
