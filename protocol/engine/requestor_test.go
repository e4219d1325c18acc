package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

const (
	holds    = `{"elicitation":{},"tasks":{"cancel":{},"requests":{"elicitation":{"create":{}}}}}`
	theirs   = `"taskId":"t","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null,"pollInterval":30000`
	callAsk  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`
	callQuit = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
)

// holding is an engine that asks its client once, within a minute of silence, and a
// client that makes the question the task "t". The call outlives the connection.
func holding(connection context.Context, t *testing.T) (p *peer, answers chan error, progress *int) {
	t.Helper()
	answers, progress = make(chan error, 1), new(int)
	ask := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, err := c.Ask(ctx, &protocol.ElicitParams{
			Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		}, func(protocol.Progress) { *progress++ })
		answers <- err
		return text("done"), nil
	}
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"ask": ask}, AskTimeout: time.Minute,
	})
	p = &peer{t: t, e: e, frames: make(chan string, 100)}
	p.ctx = context.WithoutCancel(transport.Connect(connection, transport.Peer{Out: p}))
	p.initialize("2025-11-25", holds)
	shows(t, p.ask(callAsk), `"method":"elicitation/create"`, `"progressToken":1`, `"task":{"ttl":60000}`)
	p.quiet2(`{"jsonrpc":"2.0","id":1,"result":{"task":{` + theirs + `}}}`)
	return p, answers, progress
}

// TestTaskOfTheClientProgresses: the token of the request is good for as long as the
// task lives (2025-11-25 basic/utilities/progress), and progress is a sign of life.
func TestTaskOfTheClientProgresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connection, hangUp := context.WithCancel(context.Background())
		defer hangUp()
		p, answers, progress := holding(connection, t)
		began := time.Now()
		time.Sleep(25 * time.Second)
		p.quiet2(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		p.quiet2(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}`) // of nothing
		if *progress != 1 || len(p.frames) != 0 {
			t.Fatalf("%d reports, %d frames", *progress, len(p.frames))
		}
		for id := 2; ; id++ {
			frame := p.next()
			if strings.Contains(frame, `tasks/cancel`) {
				shows(t, frame, `"params":{"taskId":"t"}`)
				if waited := time.Since(began); waited != 85*time.Second {
					t.Errorf("given up after %v", waited)
				}
				break
			}
			shows(t, frame, `"method":"tasks/get"`)
			p.quiet2(strings.Replace(`{"jsonrpc":"2.0","id":#,"result":{`+theirs+`}}`, "#", string(rune('0'+id)), 1))
		}
		shows(t, p.next(), `done`)
		if err := <-answers; err == nil {
			t.Error("no error after the timeout")
		}
		p.served.Wait()
	})
}

// TestTaskOfAClientThatIsGone: the connection ends the wait at once, although the call
// lives on.
func TestTaskOfAClientThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connection, hangUp := context.WithCancel(context.Background())
		p, answers, _ := holding(connection, t)
		time.Sleep(10 * time.Second)
		hangUp()
		began := time.Now()
		if err := <-answers; err == nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		p.served.Wait()
		shows(t, p.next(), `done`)
	})
}

// TestTaskOfTheClientIsNotCreatedTwice: a second answer to the request is as harmless as
// any that matches nothing, and the call can be cancelled after it.
func TestTaskOfTheClientIsNotCreatedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connection, hangUp := context.WithCancel(context.Background())
		defer hangUp()
		p, answers, _ := holding(connection, t)
		for range 3 {
			p.quiet2(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
		}
		p.quiet2(callQuit)
		shows(t, p.next(), `"method":"tasks/cancel"`, `"taskId":"t"`)
		if err := <-answers; err == nil {
			t.Error("the second answer counts")
		}
		p.served.Wait()
	})
}
