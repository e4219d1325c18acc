package framework_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// carrier is a transport that does what the test says.
type carrier func(ctx context.Context, host transport.Host) error

func (c carrier) Serve(ctx context.Context, host transport.Host) error { return c(ctx, host) }

func untilDone(ctx context.Context, _ transport.Host) error {
	<-ctx.Done()
	return nil
}

func TestServe(t *testing.T) {
	t.Parallel()
	failure, waits := errors.New("port in use"), errors.New("waits for the end of its context")
	tests := map[string]struct {
		transports []transport.Transport
		start      error
		cancel     bool
		want       error // nil: Serve returns nil
		ran        string
	}{
		"context ends":                  {[]transport.Transport{carrier(untilDone), carrier(untilDone)}, nil, true, nil, "start1 start2 stop2 stop1"},
		"transport fails":               {[]transport.Transport{carrier(untilDone), carrier(func(context.Context, transport.Host) error { return failure })}, nil, false, failure, "start1 start2 stop2 stop1"},
		"all have ended":                {[]transport.Transport{carrier(func(context.Context, transport.Host) error { return nil })}, nil, false, nil, "start1 start2 stop2 stop1"},
		"start fails":                   {[]transport.Transport{carrier(func(context.Context, transport.Host) error { panic("served") })}, failure, false, failure, "start1 stop2 stop1"},
		"context ends during the start": {[]transport.Transport{carrier(untilDone)}, waits, true, nil, "start1 stop2 stop1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran []string
				hook := func(name string, err error) func(context.Context, *framework.Server) error {
					return func(ctx context.Context, s *framework.Server) error {
						if framework.ServerFrom(ctx) != s {
							t.Error("the hook does not know its server")
						}
						ran = append(ran, name)
						if errors.Is(err, waits) {
							<-ctx.Done()
							return ctx.Err()
						}
						return err
					}
				}
				s, err := quiet().OnStart(hook("start1", tt.start)).OnStart(hook("start2", nil)).
					OnStop(hook("stop1", nil)).OnStop(hook("stop2", nil)).Build()
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel {
					time.AfterFunc(time.Second, cancel)
				}
				if err := s.Serve(ctx, tt.transports...); !errors.Is(err, tt.want) {
					t.Errorf("Serve = %v, want %v", err, tt.want)
				}
				if got := strings.Join(ran, " "); got != tt.ran {
					t.Errorf("ran %s, want %s", got, tt.ran)
				}
			})
		})
	}
}

func TestServeNeedsATransport(t *testing.T) {
	t.Parallel()
	if err := build(t, quiet()).Serve(t.Context()); err == nil {
		t.Error("Serve without a transport succeeds")
	}
}

// TestServeOnBadTransports: a transport that panics, or that is a nil pointer, is an error of Serve, and the
// process goes on.
func TestServeOnBadTransports(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	s := build(t, quiet(framework.WithLogger(zap.New(core))))
	bad := carrier(func(context.Context, transport.Host) error { panic("out of order") })
	if err := s.Serve(t.Context(), (*carrier)(nil)); err == nil || !strings.Contains(err.Error(), "transport 1 of 1 is nil") {
		t.Errorf("Serve on a nil pointer: %v", err)
	}
	if err := s.Serve(t.Context(), carrier(untilDone), bad); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("Serve on a transport that panics: %v", err)
	}
	if logged := stacks(logs.All()); !strings.Contains(logged, "a transport failed") || !strings.Contains(logged, "serve_test.go") {
		t.Errorf("logged %s", logged)
	}
}

func TestShutdownEndsServe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := 0
		s, err := quiet().OnStop(func(context.Context, *framework.Server) error { stopped++; return errors.New("stop failed") }).Build()
		if err != nil {
			t.Fatal(err)
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := s.Serve(t.Context(), carrier(untilDone)); err == nil || !strings.Contains(err.Error(), "stop failed") {
				t.Errorf("Serve = %v", err)
			}
		})
		synctest.Wait()
		if err := s.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "stop failed") {
			t.Errorf("Shutdown = %v", err)
		}
		serving.Wait()
		if stopped != 1 {
			t.Errorf("OnStop ran %d times", stopped)
		}
	})
}

// TestGrace: a call in flight ends within the grace period, and its answer is sent.
// TestServedOnce: a server that has stopped runs no function of OnStart, and says so.
func TestServedOnce(t *testing.T) {
	t.Parallel()
	ends := map[string]func(context.Context, *framework.Server) error{
		"Serve": func(ctx context.Context, s *framework.Server) error {
			return s.Serve(ctx, carrier(func(context.Context, transport.Host) error { return nil }))
		},
		"Shutdown": func(ctx context.Context, s *framework.Server) error { return s.Shutdown(ctx) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := false
				s := build(t, quiet().
					OnStart(func(context.Context, *framework.Server) error {
						if stopped {
							t.Error("OnStart ran after OnStop")
						}
						return nil
					}).
					OnStop(func(context.Context, *framework.Server) error { stopped = true; return nil }))
				if err := end(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if err := s.Serve(t.Context(), carrier(untilDone)); err == nil || !strings.Contains(err.Error(), "has stopped") {
					t.Errorf("Serve = %v", err)
				}
				if err := connect(t.Context(), s); err == nil {
					t.Error("it takes connections")
				}
				if err := s.Start(t.Context()); name == "Shutdown" && (err == nil || !strings.Contains(err.Error(), "has stopped")) {
					t.Errorf("Start = %v", err)
				}
			})
		})
	}
}

// TestShutdownThatWaitsForItself checks that Shutdown returns an error at once if a hook calls it.
func TestShutdownThatWaitsForItself(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]func(*framework.App, func(context.Context, *framework.Server) error) *framework.App{
		"OnStart": (*framework.App).OnStart, "OnStop": (*framework.App).OnStop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told error
				s := build(t, hook(quiet(), func(ctx context.Context, s *framework.Server) error {
					told = s.Shutdown(ctx)
					return nil
				}))
				if err := s.Serve(t.Context(), carrier(func(context.Context, transport.Host) error { return nil })); err != nil {
					t.Error(err)
				}
				if told == nil || !strings.Contains(told.Error(), "waits for itself") {
					t.Errorf("the function was told %v", told)
				}
			})
		})
	}
}

// TestShutdownAgain: the second Shutdown waits for a handler that the first has left behind.
func TestShutdownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var returned atomic.Int64
		s := build(t, quiet().Add(framework.Tool("t", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Hour)
			returned.Add(1)
			return "", nil
		})))
		var calling sync.WaitGroup
		calling.Go(func() { _ = callTool(t, s) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v", err)
		}
		if err := s.Shutdown(t.Context()); err != nil { // waits
			t.Errorf("the second Shutdown = %v", err)
		}
		synctest.Wait()
		if returned.Load() != 1 {
			t.Error("the second Shutdown has not waited for the handler")
		}
		calling.Wait()
	})
}

// toolCall calls the tool t.
const toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// callTool calls the tool t, and waits for the end of the call.
func callTool(t *testing.T, host transport.Host) error {
	conn := transport.Connect(t.Context(), transport.Peer{Carrier: "test"})
	x, err := host.Accept(conn, []byte(toolCall))
	if err != nil {
		return err
	}
	return x.Serve(conn, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil }))
}

// TestShutdownBetweenFrames: a frame that arrives when Shutdown has begun is not a failure of Serve.
func TestShutdownBetweenFrames(t *testing.T) {
	t.Parallel()
	s := build(t, quiet())
	err := s.Serve(t.Context(), carrier(func(ctx context.Context, host transport.Host) error {
		go func() { _ = s.Shutdown(context.WithoutCancel(ctx)) }()
		<-s.Services().Closing
		err := callTool(t, host)
		if err == nil {
			t.Error("the frame was accepted")
		}
		return err
	}))
	if err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// TestGraceOverStdio: the transport does not cancel calls before the grace period of the server.
func TestGraceOverStdio(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			cancel()
			select {
			case <-time.After(8 * time.Second):
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})))
		in, client := io.Pipe()
		go func() { _, _ = io.WriteString(client, toolCall+"\n") }()
		var out strings.Builder
		if err := s.Serve(ctx, stdio.New(stdio.Streams(in, &out))); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), `"done"`) {
			t.Errorf("answered %q", out.String())
		}
	})
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		takes, wait time.Duration
		answer      string
		deaf        bool // to its cancellation
		logged      int
	}{
		"in time":  {3 * time.Second, 3 * time.Second, `"done"`, false, 0},
		"too late": {time.Hour, 5 * time.Second, "", false, 1},
		"deaf":     {20 * time.Second, 20 * time.Second, "", true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.WarnLevel)
				s, err := quiet(framework.WithShutdownGrace(5*time.Second), framework.WithLogger(zap.New(core))).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
					if tt.deaf {
						ctx = context.WithoutCancel(ctx)
					}
					select {
					case <-time.After(tt.takes):
						return "done", nil
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				}, framework.Describe("d"))).Build()
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var answer string
				call := carrier(func(_ context.Context, host transport.Host) error {
					conn := transport.Connect(context.WithoutCancel(ctx), transport.Peer{Carrier: "test"})
					x, err := host.Accept(conn, []byte(toolCall))
					if err != nil {
						return err
					}
					time.AfterFunc(time.Millisecond, cancel)
					return x.Serve(conn, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
						answer = string(frame.JSON)
						return nil
					}))
				})
				began := time.Now()
				if err := s.Serve(ctx, call); err != nil {
					t.Errorf("Serve = %v", err)
				}
				if d := time.Since(began).Round(time.Second); d != tt.wait {
					t.Errorf("Serve ended after %s, want %s", d, tt.wait)
				}
				if !strings.Contains(answer, tt.answer) {
					t.Errorf("answered %s, want %s", answer, tt.answer)
				}
				for _, entry := range logs.All() {
					if calls := fmt.Sprint(entry.ContextMap()["calls"]); calls != "[tools/call t]" {
						t.Errorf("%s: the calls are %s", entry.Message, calls)
					}
				}
				if deaf := logs.FilterMessageSnippet("without waiting").Len() == 1; logs.Len() != tt.logged || deaf != tt.deaf {
					t.Errorf("logged %v", logs.All())
				}
			})
		})
	}
}

// TestTasksOfAClientThatLeft checks a client that closes stdin and then sends a signal. It kills
// the program soon, so its tasks must not delay OnStop until the end of the grace period.
func TestTasksOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ signal, ends time.Duration }{
		"no signal":         {time.Hour, 10 * time.Second},
		"signal":            {2 * time.Second, 2 * time.Second},
		"signal before end": {0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.ErrorLevel)
				app := quiet(framework.WithShutdownGrace(10*time.Second), framework.WithLogger(zap.New(core)))
				stopped := false
				app.OnStop(func(context.Context, *framework.Server) error { stopped = true; return nil })
				s, err := app.Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
					select {
					case <-time.After(time.Hour):
						return "done", nil
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				}, framework.Describe("d"), framework.Task(framework.TaskOptional))).Build()
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				err = s.Serve(ctx, carrier(func(ended context.Context, host transport.Host) error {
					conn := transport.Connect(context.WithoutCancel(ctx), transport.Peer{Carrier: "test"})
					x, err := host.Accept(conn, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`))
					if err != nil {
						return err
					}
					err = x.Serve(conn, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
						if !strings.Contains(string(frame.JSON), `"task"`) {
							t.Errorf("answered %s", frame.JSON)
						}
						return nil
					}))
					time.AfterFunc(tt.signal, cancel)
					if tt.signal == 0 {
						<-ended.Done()
					}
					return err
				}))
				if took := time.Since(began); err != nil || !stopped || took != tt.ends {
					t.Errorf("ended after %v: %v; OnStop ran: %t", took, err, stopped)
				}
				for _, entry := range logs.All() {
					t.Errorf("%s: %v", entry.Message, entry.ContextMap())
				}
			})
		})
	}
}
