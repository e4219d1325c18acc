package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
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
		_, err := ask(ctx, c, &protocol.ElicitParams{
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

// TestAskEndsWithMalformedResponses: a response that cannot be read ends the request that it answers, which
// would otherwise wait until AskTimeout.
func TestAskEndsWithMalformedResponses(t *testing.T) {
	t.Parallel()
	for title, response := range map[string]string{
		"error is a text":      `{"jsonrpc":"2.0","id":1,"error":"no"}`,
		"error is null":        `{"jsonrpc":"2.0","id":1,"error":null}`,
		"message is null":      `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":null}}`,
		"code is missing":      `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`,
		"code is a text":       `{"jsonrpc":"2.0","id":1,"error":{"code":"E_NO","message":"no"}}`,
		"result and error":     `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}`,
		"no version":           `{"id":1,"result":{}}`,
		"result is undefined":  `{"jsonrpc":"2.0","id":1}`,
		"in a batch":           `[{"jsonrpc":"2.0","id":1,"error":"no"}]`,
		"half of a character":  `{"jsonrpc":"2.0","id":1,"result":{"text":"\ud83d"}}`,
		"half, and all fields": `{"jsonrpc":"2.0","id":1,"method":null,"result":null,"error":{"code":1,"message":"\ud83d"}}`,
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
					_, err := ask(ctx, c, &protocol.PingParams{}, nil)
					return text(fmt.Sprint("failed: ", err)), nil
				}}))
				p.initialize("2025-03-26", `{}`)
				shows(t, p.ask(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask"}}`), `"method":"ping"`, `"id":1`)
				shows(t, p.ask(response), `"id":"a"`, `failed: `)
			})
		})
	}
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

// teller is a client that makes each question a task which is over at once, and tells so.
type teller struct {
	*peer
	looks, fetched int
	unfinished     int // what so many looks find
}

var requestID = regexp.MustCompile(`"id":(\d+),"method":"([a-z/]+)"`)

// questions are the ids of the next n, and answers what is asked of tasks meanwhile.
func (c *teller) questions(n int) (ids []string) {
	for len(ids) < n {
		id, method := c.request()
		if method == "elicitation/create" {
			ids = append(ids, id)
		} else {
			c.about(id, method)
		}
	}
	return ids
}

func (c *teller) request() (id, method string) {
	c.t.Helper()
	frame := c.next()
	found := requestID.FindStringSubmatch(frame)
	if found == nil {
		c.t.Fatalf("not a request: %s", frame)
	}
	return found[1], found[2]
}

// about answers a request about a task.
func (c *teller) about(id, method string) {
	c.t.Helper()
	if method == "tasks/get" {
		c.looks++
		state := over(theirs)
		if c.looks <= c.unfinished {
			state = theirs
		}
		c.quiet2(`{"jsonrpc":"2.0","id":` + id + `,"result":{` + state + `}}`)
		return
	}
	c.fetched++
	c.quiet2(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{}}}`)
}

func (c *teller) create(id string) {
	c.t.Helper()
	c.quiet2(`{"jsonrpc":"2.0","id":` + id + `,"result":{"task":{` + named(theirs, id) + `}}}`)
}

func (c *teller) tell(id string) {
	c.t.Helper()
	c.quiet2(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{` + named(over(theirs), id) + `}}`)
}

func named(task, id string) string { return strings.Replace(task, `"t"`, `"t`+id+`"`, 1) }

func over(task string) string { return strings.Replace(task, "working", "completed", 1) }

// TestNewsOfTheClientsTasksIsKept checks that a question does not wait for the next poll after its
// client has reported the end of the task, whenever the report is read.
func TestNewsOfTheClientsTasksIsKept(t *testing.T) {
	t.Parallel()
	for title, test := range map[string]struct {
		times, atOnce int
		answer        func(c *teller, ids []string)
	}{
		// The handler may or may not have read the answer when the news comes.
		"right after its creation": {500, 1, func(c *teller, ids []string) { c.create(ids[0]); c.tell(ids[0]) }},
		"before the creation of others": {1, 3, func(c *teller, ids []string) {
			each(ids, c.tell)
			each(ids, func(id string) { c.create(id); synctest.Wait() })
		}},
		"after that of strange tasks": {1, 3, func(c *teller, ids []string) {
			for i := range 100 {
				c.tell(fmt.Sprint("-strange-", i))
			}
			each(ids, c.tell)
			each(ids, func(id string) { c.create(id); synctest.Wait() })
		}},
		"after that of strange tasks and a look": {1, 3, func(c *teller, ids []string) {
			for i := range 100 {
				c.tell(fmt.Sprint("-strange-", i))
			}
			each(ids, c.create)
			c.unfinished = 3 // which is what they were to look at for fear that they had missed news
			for range ids {
				c.about(c.request())
			}
			each(ids, c.tell)
		}},
		"with that of many": {2, 100, func(c *teller, ids []string) {
			each(ids, c.tell)
			each(ids, c.create)
		}},
		"after a second answer": {1, 1, func(c *teller, ids []string) {
			c.create(ids[0])
			synctest.Wait()
			c.create(ids[0])
			c.tell(ids[0])
		}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, began := asked(t, test.times, test.atOnce), time.Now()
				for range test.times {
					test.answer(c, c.questions(test.atOnce))
				}
				all := test.times * test.atOnce // the questions
				for c.fetched < all {
					c.about(c.request())
				}
				shows(t, c.next(), `done`)
				if took := time.Since(began); took != 0 || c.looks != all+c.unfinished {
					t.Errorf("%d questions took %v and %d looks", all, took, c.looks)
				}
				c.served.Wait()
			})
		})
	}
}

func each(ids []string, do func(id string)) {
	for _, id := range ids {
		do(id)
	}
}

// asked is a client whose call asks it so many questions at once, so many times.
func asked(t *testing.T, times, atOnce int) *teller {
	t.Helper()
	ask := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		for range times {
			var all sync.WaitGroup
			for range atOnce {
				all.Go(func() {
					if _, err := ask(ctx, c, &protocol.ElicitParams{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, nil); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		return text("done"), nil
	}
	p := connect(t, newEngine(t, catalog{"ask": ask}))
	p.initialize("2025-11-25", holds)
	p.send(callAsk)
	return &teller{peer: p}
}
