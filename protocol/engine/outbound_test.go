package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// TestPanicOfAnOutbound: frame middleware that panics while a change is sent, or while questions are asked
// together, ends that stream or that call, and not the process.
func TestPanicOfAnOutbound(t *testing.T) {
	t.Parallel()
	reported := make(chan error, 8)
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"},
		Catalog: catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			ping := engine.Question{Params: &protocol.PingParams{}}
			replies := c.Questions(ctx, ping, ping)
			return nil, errors.Join(replies[0].Err, replies[1].Err)
		}},
		Failed: func(_ context.Context, _ *engine.Call, err error) { reported <- err },
		Frames: []transport.Middleware{func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				return next(ctx, frame, transport.OutboundFunc(func(ctx context.Context, sent transport.Frame) error {
					if text := string(sent.JSON); strings.Contains(text, "list_changed") || strings.Contains(text, `"method":"ping"`) {
						panic("in an Outbound")
					}
					return out.Send(ctx, sent)
				}))
			}
		}},
	})
	p := connect(t, e)
	p.send(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{` + modernMeta + `,"notifications":{"toolsListChanged":true}}}`)
	shows(t, p.next(), "acknowledged")
	e.Changed(protocol.ListTools)
	shows(t, p.next(), "notifications/cancelled")
	shows(t, p.next(), `"id":"l"`, `"result"`)
	p.initialize("2025-11-25", `{}`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`), `"id":1`, "-32603")
	if len(reported) != 2 {
		t.Fatalf("%d panics were reported, want 2", len(reported))
	}
	for range 2 {
		if err := <-reported; !strings.Contains(err.Error(), "in an Outbound") {
			t.Errorf("reported %v", err)
		}
	}
}

// TestFrameMiddlewareOfRefusedFrames: frame middleware gets a refused frame as it came, also one that cannot be
// decoded. If it panics, the refusal is still the answer.
func TestFrameMiddlewareOfRefusedFrames(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	p := connect(t, engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
		Frames: []transport.Middleware{func(transport.Next) transport.Next {
			return func(_ context.Context, frame []byte, _ transport.Outbound) error {
				seen <- string(frame)
				panic("in a middleware")
			}
		}},
	}))
	for frame, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`: `"id":"a"`, // there is no session
		`{"jsonrpc":"2.0","id":"b","method":7}`:            `"id":"b"`,
		`{"jsonrpc":"2.0","id":"c"`:                        "-32700",
		`[]`:                                               "-32600",
	} {
		shows(t, p.ask(frame), `"error"`, want)
		if got := <-seen; got != frame {
			t.Errorf("the middleware got %q for %s", got, frame)
		}
	}
}

// TestFrameMiddlewareThatAnswersNothing: a request is answered if frame middleware neither calls next nor
// sends anything, or if the carrier has not sent what it wanted to.
func TestFrameMiddlewareThatAnswersNothing(t *testing.T) {
	t.Parallel()
	answer := []byte(`{"jsonrpc":"2.0","id":7,"result":{"from":"the middleware"}}`)
	for name, tt := range map[string]struct {
		step func(ctx context.Context, out transport.Outbound)
		want string
	}{
		"nothing": {func(context.Context, transport.Outbound) {}, "-32603"},
		"an answer that is not final, and the client takes no stream": {func(ctx context.Context, out transport.Outbound) {
			_ = out.Send(ctx, transport.Frame{JSON: answer})
		}, "-32603"},
		"an answer": {func(ctx context.Context, out transport.Outbound) {
			_ = out.Send(ctx, transport.Frame{JSON: answer, Final: true})
		}, "the middleware"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reported []error
			e := engine.New(engine.Config{
				Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
				Failed: func(_ context.Context, _ *engine.Call, err error) { reported = append(reported, err) },
				Frames: []transport.Middleware{func(transport.Next) transport.Next {
					return func(ctx context.Context, _ []byte, out transport.Outbound) error {
						tt.step(ctx, out)
						return nil
					}
				}},
			})
			for frame, id := range map[string]string{
				`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + modernMeta + `}}`: `"id":7`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                       "",
			} {
				var sent []string
				x, err := e.Accept(t.Context(), []byte(frame))
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Serve(t.Context(), transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
					if !frame.Final {
						return transport.ErrNoStream
					}
					sent = append(sent, string(frame.JSON))
					return nil
				})); err != nil {
					t.Errorf("Serve: %v", err)
				}
				if id == "" {
					continue
				}
				if len(sent) != 1 {
					t.Fatalf("the answers are %q, want one", sent)
				}
				shows(t, sent[0], id, tt.want)
			}
			if failed := tt.want == "-32603"; failed != (len(reported) == 1) {
				t.Errorf("reported %v", reported)
			}
		})
	}
}

// TestFrameMiddlewareAnswersOnce: frame middleware that has sent the answer gets no second one for its error
// or its panic, which are reported. Silence after a cancellation is not a failure.
func TestFrameMiddlewareAnswersOnce(t *testing.T) {
	t.Parallel()
	answered := func(ctx context.Context, out transport.Outbound) {
		_ = out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","id":7,"result":{"from":"the middleware"}}`), Final: true})
	}
	for name, tt := range map[string]struct {
		step    func(ctx context.Context, cancel func(), out transport.Outbound) error
		want    string
		reports int
	}{
		"an error after the answer": {func(ctx context.Context, _ func(), out transport.Outbound) error {
			answered(ctx, out)
			return errors.New("boom")
		}, "the middleware", 1},
		"a panic after the answer": {func(ctx context.Context, _ func(), out transport.Outbound) error {
			answered(ctx, out)
			panic("boom")
		}, "the middleware", 1},
		"a panic after progress": {func(ctx context.Context, _ func(), out transport.Outbound) error {
			_ = out.Send(ctx, transport.Frame{JSON: []byte(`{}`)})
			panic("boom")
		}, "-32603", 1},
		"nothing after a cancellation": {func(_ context.Context, cancel func(), _ transport.Outbound) error {
			cancel()
			return nil
		}, "cancelled", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			reports := 0
			e := engine.New(engine.Config{
				Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
				Failed: func(context.Context, *engine.Call, error) { reports++ },
				Frames: []transport.Middleware{func(transport.Next) transport.Next {
					return func(ctx context.Context, _ []byte, out transport.Outbound) error { return tt.step(ctx, cancel, out) }
				}},
			})
			var sent []string
			x, err := e.Accept(ctx, []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+modernMeta+`}}`))
			if err != nil {
				t.Fatal(err)
			}
			_ = x.Serve(ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
				if frame.Final {
					sent = append(sent, string(frame.JSON))
				}
				return nil
			}))
			if len(sent) != 1 || reports != tt.reports {
				t.Fatalf("the answers are %q, with %d reports", sent, reports)
			}
			shows(t, sent[0], `"id":7`, tt.want)
		})
	}
}

// TestCancelledListenSettles: Serve of a cancelled subscription returns after the frame that is being sent.
func TestCancelledListenSettles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, catalog{})
		p := connect(t, e)
		release := make(chan struct{})
		var returned atomic.Bool
		x, err := e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`))
		if err != nil {
			t.Fatal(err)
		}
		p.served.Go(func() {
			_ = x.Serve(p.ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
				if strings.Contains(string(frame.JSON), "list_changed") {
					<-release
				}
				return nil
			}))
			returned.Store(true)
		})
		synctest.Wait()
		e.Changed(protocol.ListTools)
		synctest.Wait()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
		synctest.Wait()
		if returned.Load() {
			t.Error("Serve has returned while a frame of it was being sent")
		}
		close(release)
		synctest.Wait()
		if !returned.Load() {
			t.Error("Serve has not returned")
		}
	})
}

// TestFailedChange: a change that cannot be sent, as while a store is unavailable, does not end the
// notifications of the session.
func TestFailedChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, catalog{})
		p := connect(t, e)
		var away atomic.Bool
		p.ctx = transport.Connect(p.ctx, transport.Peer{Out: transport.OutboundFunc(func(ctx context.Context, frame transport.Frame) error {
			if away.Load() {
				return errors.New("the store is unavailable")
			}
			return p.Send(ctx, frame)
		})})
		p.initialize("2025-11-25", `{}`)
		away.Store(true)
		e.Changed(protocol.ListTools)
		synctest.Wait()
		away.Store(false)
		e.Changed(protocol.ListTools)
		synctest.Wait()
		if len(p.frames) != 1 {
			t.Fatalf("%d notifications after the one that failed, want 1", len(p.frames))
		}
		shows(t, p.next(), "notifications/tools/list_changed")
	})
}
