package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// TestIDsAreFreeOnceAnswered: a client may use an id again as soon as it has read
// the answer.
func TestIDsAreFreeOnceAnswered(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	p.initialize("2025-11-25", `{}`)
	for range 500 {
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`), `echoed`)
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	causes := make(chan error, 1)
	wait := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		c.Progress(ctx, 1, nil, "too late")
		return text("too late"), nil
	}
	p := connect(t, newEngine(t, catalog{"wait": wait, "echo": echo}))
	p.initialize("2025-11-25", `{}`)
	p.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `-32600`, `"id":5`) // the id is in flight
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"changed my mind"}}`)
	var cancelled *engine.CancelledError
	if err := <-causes; !errors.As(err, &cancelled) || cancelled.Reason != "changed my mind" {
		t.Fatalf("cause %v", err)
	}
	shows(t, p.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `"result":{}`) // and free again
}

// TestCancelledIsSilentAtOnce: a handler that looks all the time sees the end of its
// context before anybody else does, and what it says then is not sent (2026-07-28
// basic/transports/stdio "Cancellation").
func TestCancelledIsSilentAtOnce(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	spin := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		close(began)
		for ctx.Err() == nil {
			runtime.Gosched()
		}
		c.Progress(ctx, 1, nil, "too late")
		return text("too late"), nil
	}
	p := connect(t, newEngine(t, catalog{"spin": spin}))
	p.initialize("2025-11-25", `{}`)
	for range 300 {
		p.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"spin","_meta":{"progressToken":1}}}`)
		<-began
		began = make(chan struct{})
		p.quiet(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	}
}

// TestCancelledBeforeServed: the cancellation arrives while the call waits for a
// goroutine.
func TestCancelledBeforeServed(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"wait": func(ctx context.Context, _ *engine.Call) (protocol.Result, error) {
		<-ctx.Done()
		return text("x"), nil
	}}))
	p.initialize("2025-11-25", `{}`)
	x, err := p.e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`))
	if err != nil {
		t.Fatal(err)
	}
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if err := x.Serve(p.ctx, p); err != nil {
		t.Fatal(err)
	}
	if len(p.frames) != 0 {
		t.Fatalf("answered: %s", <-p.frames)
	}
}

// TestNotificationsPrecedeTheAnswer: none lost, none overtaken, in order.
func TestNotificationsPrecedeTheAnswer(t *testing.T) {
	t.Parallel()
	burst := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		for i := range 100 {
			c.Progress(ctx, float64(i), nil, "")
			c.Log(ctx, protocol.LevelInfo, "", []byte(`1`))
		}
		go c.Log(ctx, protocol.LevelInfo, "", []byte(`"late"`)) // may be sent before the answer or not at all
		return text("done"), nil
	}
	p := connect(t, newEngine(t, catalog{"burst": burst}))
	p.initialize("2025-11-25", `{}`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`), `"result":{}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"burst","_meta":{"progressToken":"t"}}}`)
	for i := range 100 {
		shows(t, p.next(), `notifications/progress`, fmt.Sprintf(`"progress":%d`, i), `"progressToken":"t"`)
		shows(t, p.next(), `notifications/message`, `"data":1`)
	}
	last := p.next()
	if strings.Contains(last, `late`) {
		last = p.next()
	}
	shows(t, last, `"id":2`, `done`)
	p.served.Wait()
	if len(p.frames) != 0 {
		t.Fatalf("after the answer: %s", <-p.frames)
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	talk := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		c.Log(ctx, protocol.LevelInfo, "", []byte(`"info"`))
		c.Log(ctx, protocol.LevelError, "", []byte(`"error"`))
		return text("done"), nil
	}
	p := connect(t, newEngine(t, catalog{"talk": talk}))
	p.initialize("2025-06-18", `{}`)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk"}}`
	shows(t, p.ask(call), `done`) // the client did not ask for logs
	p.ask(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`)
	shows(t, p.ask(call), `"error"`, `notifications/message`)
	shows(t, p.next(), `done`)
	// A 2026-07-28 request on the same connection does not use the session's log level.
	shows(t, p.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"talk",`+modernMeta+`}}`), `done`)
	loud := strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"talk",`+loud+`}}`), `"info"`)
	shows(t, p.next(), `"error"`)
	shows(t, p.next(), `done`, `"resultType":"complete"`)
}

func TestAsk(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		r, err := ask(ctx, c, &protocol.ElicitParams{Message: "name?", Schema: []byte(`{"type":"object","properties":{}}`)}, nil)
		if err != nil {
			return text("failed: " + err.Error()), nil //nolint:nilerr // the test reads the text
		}
		return text("action " + r.(*protocol.ElicitResult).Action), nil
	}
	e := newEngine(t, catalog{"ask": ask})
	p := connect(t, e)
	p.initialize("2025-06-18", `{"elicitation":{}}`)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`
	shows(t, p.ask(call), `"method":"elicitation/create"`, `"id":1`, `name?`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`), `action accept`)
	shows(t, p.ask(call), `"method":"elicitation/create"`, `"id":2`) // ids are never reused
	shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`), `failed: `)

	mute := connect(t, e)
	mute.initialize("2025-06-18", `{}`)
	shows(t, mute.ask(call), `cannot be asked`)
	old := connect(t, e)
	old.initialize("2025-03-26", `{"elicitation":{}}`)
	shows(t, old.ask(call), `cannot be asked`)
	shows(t, old.ask(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ask",`+modernMeta+`}}`), `cannot be asked`)
}

// TestAskWaitsForInitialized: requests of ours are held back until the handshake
// is over.
func TestAskWaitsForInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		e := newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			_, err := ask(ctx, c, &protocol.PingParams{}, nil)
			return text("done"), err
		}})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		p.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
		synctest.Wait()
		if len(p.frames) != 0 {
			t.Fatalf("asked before initialized: %s", <-p.frames)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		shows(t, p.next(), `"method":"ping"`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"result":{}}`), `done`)
	})
}

func TestAskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan error, 3)
		var reports atomic.Int32
		ask := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			_, err := ask(ctx, c, &protocol.PingParams{}, func(protocol.Progress) { reports.Add(1) })
			answers <- err
			return text("done"), nil
		}
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"ask": ask}, AskTimeout: time.Minute,
		})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		p.initialize("2025-11-25", `{}`)

		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`
		shows(t, p.ask(call), `"method":"ping"`, `"progressToken":1`)
		time.Sleep(50 * time.Second)
		p.quiet2(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		time.Sleep(50 * time.Second) // progress renewed the minute
		if len(p.frames) != 0 {
			t.Fatalf("gave up early: %s", <-p.frames)
		}
		time.Sleep(20 * time.Second)
		shows(t, p.next(), `notifications/cancelled`, `"requestId":1`, `timeout`)
		shows(t, p.next(), `done`)
		if err := <-answers; err == nil {
			t.Fatal("no error after the timeout")
		}
		p.quiet2(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`)
		if n := reports.Load(); n != 1 {
			t.Errorf("%d reports, want only the one before the timeout", n)
		}

		shows(t, p.ask(call), `"method":"ping"`)
		cancel() // the connection is gone
		if err := <-answers; err == nil {
			t.Fatal("no error after the connection was gone")
		}
		synctest.Wait()
	})
}

// quiet2 serves a frame that must not be answered, while others are running.
func (p *peer) quiet2(frame string) {
	p.t.Helper()
	x, err := p.e.Accept(p.ctx, []byte(frame))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := x.Serve(p.ctx, p); err != nil {
		p.t.Fatal(err)
	}
}

func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		e := newEngine(t, catalog{"echo": echo})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		listen := func(id, filter string) {
			p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter + `,` + modernMeta + `}}`)
			synctest.Wait()
		}
		listen(`1`, `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["test://r","x://none"]}`)
		ack := p.next()
		shows(t, ack, `subscriptions/acknowledged`, `"io.modelcontextprotocol/subscriptionId":1`, `"toolsListChanged":true`, `"resourceSubscriptions":["test://r"]`)
		if strings.Contains(ack, "prompts") {
			t.Fatalf("prompts are not served, but acknowledged: %s", ack)
		}
		listen(`"1"`, `{"resourcesListChanged":true}`) // another id: the JSON type counts
		shows(t, p.next(), `"io.modelcontextprotocol/subscriptionId":"1"`)

		e.Changed(protocol.ListTools)
		synctest.Wait()
		shows(t, p.next(), `notifications/tools/list_changed`, `subscriptionId":1`)
		e.Changed(protocol.ListTemplates, protocol.ListResources)
		synctest.Wait()
		shows(t, p.next(), `notifications/resources/list_changed`, `subscriptionId":"1"`)
		e.Updated("test://r/below")
		e.Updated("test://rest")
		synctest.Wait()
		shows(t, p.next(), `notifications/resources/updated`, `test://r/below`, `subscriptionId":1`)

		p.quiet2(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		e.Changed(protocol.ListTools)
		synctest.Wait()
		if len(p.frames) != 0 {
			t.Fatalf("after the cancellation: %s", <-p.frames)
		}
		if err := e.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		shows(t, p.next(), `notifications/cancelled`, `"requestId":"1"`)
		shows(t, p.next(), `"id":"1"`, `"resultType":"complete"`, `subscriptionId":"1"`)
		cancel()
		synctest.Wait()
	})
}

// TestListenEndsWithTheToken: on carriers where each request has a token, a stream ends when the token
// of its request expires (2026-07-28 basic/authorization "Access Token Usage").
func TestListenEndsWithTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, catalog{"echo": echo})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		ctx := transport.WithPrincipal(context.Background(), &transport.Principal{Subject: "ann", Expires: time.Now().Add(time.Minute)})
		p.ctx = transport.WithRequest(ctx, &transport.Request{})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
		shows(t, p.next(), `subscriptions/acknowledged`)
		began := time.Now()
		p.served.Wait()
		shows(t, p.next(), `notifications/cancelled`)
		shows(t, p.next(), `"id":1`, `"resultType":"complete"`)
		if d := time.Since(began); d != time.Minute {
			t.Errorf("the stream ended after %v, want 1m0s", d)
		}
	})
}

// TestListenEndsWithTheConnection: a stream must not hold up a process whose
// input has ended, while its exchanges may still finish.
func TestListenEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, catalog{"echo": echo})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		gone, hangUp := context.WithCancel(context.Background())
		p.ctx = context.WithoutCancel(transport.Connect(gone, transport.Peer{Out: p}))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
		shows(t, p.next(), `subscriptions/acknowledged`)
		hangUp()
		p.served.Wait()
		shows(t, p.next(), `notifications/cancelled`)
		shows(t, p.next(), `"id":1`, `"resultType":"complete"`)
	})
}

func TestSessionChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		e := newEngine(t, catalog{"echo": echo})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		p.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		e.Changed(protocol.ListTools, protocol.ListTools)
		synctest.Wait()
		if len(p.frames) != 0 {
			t.Fatalf("before initialized: %s", <-p.frames)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		shows(t, p.next(), `notifications/tools/list_changed`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`), `"result":{}`)
		e.Updated("test://r")
		synctest.Wait()
		shows(t, p.next(), `notifications/resources/updated`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"test://r"}}`), `"result":{}`)
		e.Updated("test://r")
		synctest.Wait()
		if len(p.frames) != 0 {
			t.Fatalf("after unsubscribe: %s", <-p.frames)
		}
	})
}

func TestBatches(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	p.initialize("2025-03-26", `{}`)
	answer := p.ask(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/none"},` +
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}},` +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}},7,` +
		`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + modernMeta + `}}]`)
	shows(t, answer, `"id":1`, `"id":3`, `echoed`, `"id":2`, `"id":4`, `-32600`)
	if !strings.HasPrefix(answer, `[{`) || strings.Count(answer, `"jsonrpc"`) != 5 {
		t.Fatalf("want one array of five answers: %s", answer)
	}
	if strings.Count(answer, "-32600") != 3 || strings.Contains(answer, `"tools"`) {
		t.Errorf("want three refused messages: %s", answer)
	}
	p.quiet(`[{"jsonrpc":"2.0","method":"notifications/none"}]`)
	shows(t, p.ask(`[]`), `-32600`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), `"result":{}`)
}

// TestBatchIsBounded: the answers of a batch have a bound together, and each request has an answer still.
func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"large": func(context.Context, *engine.Call) (protocol.Result, error) {
		return text(strings.Repeat("x", 3<<20)), nil
	}}))
	p.initialize("2025-03-26", `{}`)
	const calls = 8
	var all []string
	for id := range calls {
		all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":"n%d","method":"tools/call","params":{"name":"large"}}`, id))
	}
	answer := p.ask("[" + strings.Join(all, ",") + "]")
	if len(answer) > 17<<20 || strings.Count(answer, `"error"`) != 3 || strings.Count(answer, "send this request by itself") != 3 {
		t.Errorf("%d bytes, %d errors", len(answer), strings.Count(answer, `"error"`))
	}
	for id := range calls {
		shows(t, answer, fmt.Sprintf(`"id":"n%d"`, id))
	}
}

// TestBatchTakesQuestionBack checks a call in a batch that leaves a goroutine with an open
// question. The cancellation of the question is sent at once, and is not a part of the batch of
// answers.
func TestBatchTakesQuestionBack(t *testing.T) {
	t.Parallel()
	leave, end := make(chan struct{}), make(chan struct{})
	var left sync.WaitGroup
	p := connect(t, newEngine(t, catalog{
		"leaves": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			left.Go(func() {
				if _, err := ask(ctx, c, &protocol.PingParams{}, nil); err == nil {
					t.Error("nobody answered")
				}
			})
			<-leave
			return text("first"), nil
		},
		"stays": func(context.Context, *engine.Call) (protocol.Result, error) {
			<-end
			return text("second"), nil
		},
	}))
	p.initialize("2025-03-26", `{}`)
	shows(t, p.ask(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leaves"}},`+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stays"}}]`), `"method":"ping"`)
	close(leave)
	if taken := p.next(); !strings.HasPrefix(taken, `{`) || !strings.Contains(taken, `notifications/cancelled`) {
		t.Fatalf("want the question taken back: %s", taken)
	}
	left.Wait()
	close(end)
	if answers := p.next(); !strings.HasPrefix(answers, `[{`) || strings.Count(answers, `"jsonrpc"`) != 2 {
		t.Fatalf("want two answers: %s", answers)
	}
}

// TestNoStream checks a client over HTTP that accepts one answer and no messages before it. It
// cannot be asked and cannot subscribe, and the error contains the reason.
func TestNoStream(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, err := ask(ctx, c, &protocol.PingParams{}, nil)
		if !errors.Is(err, engine.ErrCannotAsk) {
			t.Errorf("asked: %v", err)
		}
		return text("not asked"), nil
	}}))
	p.initialize("2025-11-25", `{}`)
	for frame, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`:                                                             "not asked",
		`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`: `"id":"L","error":{"code":-32600,"message":"a subscription is a stream`,
	} {
		x, err := p.e.Accept(p.ctx, []byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		var answer string
		if err := x.Serve(p.ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
			if !frame.Final {
				return transport.ErrNoStream
			}
			answer = string(frame.JSON)
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		shows(t, answer, want)
	}
}

func TestFrameMiddleware(t *testing.T) {
	t.Parallel()
	var seen []string
	watch := func(name string) transport.Middleware {
		return func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				seen = append(seen, name)
				if strings.Contains(string(frame), "boom") {
					panic("in a middleware")
				}
				return next(ctx, frame, out)
			}
		}
	}
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
		Frames: []transport.Middleware{watch("a"), watch("b")},
	})
	p := connect(t, e)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `"result":{}`)
	p.served.Wait()
	if fmt.Sprint(seen) != "[a b]" {
		t.Fatalf("ran %v", seen)
	}
	shows(t, p.ask(`{"jsonrpc":"2.0","id":"boom","method":"ping"}`), `-32603`, `"id":"boom"`)
}

func TestInFlightLimit(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free() // also if the test fails
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, MaxInFlight: 2,
		Catalog: catalog{"wait": func(context.Context, *engine.Call) (protocol.Result, error) {
			<-release
			return text("done"), nil
		}},
	})
	p := connect(t, e)
	p.initialize("2025-11-25", `{}`)
	for _, id := range []string{"1", "2"} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"wait"}}`)
	}
	shows(t, p.ask(`{"jsonrpc":"2.0","id":3,"method":"ping"}`), `"id":3`, `too many requests`)
	free()
	shows(t, p.next(), `done`)
	shows(t, p.next(), `done`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`), `"result":{}`)
}

// TestTraceContext: the caller's trace goes on with the requests that it causes.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, err := ask(ctx, c, &protocol.PingParams{}, nil)
		return text("done"), err
	}}))
	p.initialize("2025-11-25", `{}`)
	const trace = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{`+trace+`,"baggage":7,"x":1}}}`),
		`"method":"ping"`, trace)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"result":{}}`), `done`)
}

func TestRootsChanged(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{}, 1)
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
		OnRootsChanged: func(context.Context) {
			heard <- struct{}{}
			panic("must not end the process")
		},
	})
	p := connect(t, e)
	p.initialize("2025-11-25", `{"roots":{"listChanged":true}}`)
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	<-heard
	shows(t, p.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`), `"result":{}`)
}

// TestListenInOrder: a subscription knows of what changes as soon as its frame was
// accepted, whenever it is served.
func TestListenInOrder(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{})
	p := connect(t, e)
	x, err := e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"promptsListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["test://r","x://none"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	e.Updated("test://r")
	e.Updated("x://none") // which cannot be read, and is not honored
	e.Changed(protocol.ListPrompts, protocol.ListTools)
	p.served.Go(func() { _ = x.Serve(p.ctx, p) })
	shows(t, p.next(), "acknowledged", "test://r")
	shows(t, p.next(), "notifications/tools/list_changed")
	shows(t, p.next(), "notifications/resources/updated", "test://r")
	p.close()
	p.served.Wait()
	select {
	case frame := <-p.frames:
		shows(t, frame, "cancelled") // the end of the stream, and nothing else before it
	default:
	}
}
