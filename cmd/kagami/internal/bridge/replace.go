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

// Replace starts cmd and makes it the current process. changed names the notifications for lists
// that have changed. If the new process does not answer, Replace returns an error and the current
// process stays.
func (b *Bridge) Replace(ctx context.Context, cmd *exec.Cmd, changed ...string) error {
	b.made++
	c, err := start(cmd, b.made)
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	b.mu.Lock()
	replay := b.session.replay()
	b.mu.Unlock()
	if err := c.replay(ctx, replay); err != nil {
		c.kill()
		_ = c.cmd.Wait()
		return fmt.Errorf("starting the server: %w", err)
	}
	old, news := b.takeOver(c, replay, changed)
	b.live.Go(func() { b.read(c) })
	for _, line := range news {
		b.send(line)
	}
	if old != nil {
		b.live.Go(func() { b.retire(old) })
	}
	return nil
}

// probe is the id of a request that the bridge itself sends.
const probe = `"kagami-dev"`

// replay returns the messages that recreate the session, in order.
func (m *sessionState) replay() [][]byte {
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

// since returns the messages that bring a process from the session of replay to this one. The old process
// has answered them.
func (m *sessionState) since(replay [][]byte) (news [][]byte) {
	for _, line := range replay {
		if f := framesOf(line)[0]; f.Method == protocol.MethodSubscribe && m.subscribed[f.uri()] == nil {
			f.Method = protocol.MethodUnsubscribe
			news = append(news, f.line())
		}
	}
	for _, line := range m.replay() {
		if !slices.ContainsFunc(replay, func(other []byte) bool { return bytes.Equal(other, line) }) {
			news = append(news, line)
		}
	}
	return news
}

// takeOver makes c the current process. It returns the previous process, or nil, and the
// notifications for the client.
func (b *Bridge) takeOver(c *child, replay [][]byte, changed []string) (old *child, told [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.session.since(replay) {
		c.write(line)
	}
	old, b.current, b.broken = b.current, c, ""
	select {
	case <-b.gone: // the end of the previous process does not matter any more
	default:
	}
	b.processes = append(b.processes, c)
	if old == nil {
		close(b.first)
	} else {
		old.retired = true
	}
	for _, id := range slices.Sorted(maps.Keys(b.session.listens)) {
		line := b.session.listens[id]
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
	if b.session.initialized != nil {
		for _, method := range changed {
			told = append(told, news(method, nil))
		}
	}
	return old, told
}

// filterOf maps notifications to the members of subscriptions/listen that ask for them
// (2026-07-28).
var filterOf = map[string]string{
	protocol.NotificationToolsChanged:     "toolsListChanged",
	protocol.NotificationResourcesChanged: "resourcesListChanged",
	protocol.NotificationPromptsChanged:   "promptsListChanged",
}

// retire ends a process when it has answered all its requests.
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

// ended answers the requests that a process did not answer before it ended.
func (b *Bridge) ended(c *child) {
	b.mu.Lock()
	c.dead = true
	b.processes = slices.DeleteFunc(b.processes, func(other *child) bool { return other == c })
	var answers [][]byte
	for id, f := range c.owed {
		answers = append(answers, refusal(&f, hasEnded))
		delete(b.session.listens, id)
	}
	c.owed = map[string]frame{}
	if c == b.current && !b.closed {
		select {
		case b.gone <- struct{}{}:
		default: // the last value was not received yet
		}
	}
	b.mu.Unlock()
	for _, line := range answers {
		b.send(line)
	}
}

const hasEnded = "kagami dev: the server ended before it answered; its log shows the cause"

// asker returns the process that waits for this answer of the client, and the id without the prefix.
func (b *Bridge) asker(id json.RawMessage) (*child, json.RawMessage) {
	var name string
	if json.Unmarshal(id, &name) != nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.processes {
		if own := c.asked[name]; own != nil {
			delete(c.asked, name)
			return c, own
		}
	}
	return nil, nil
}
