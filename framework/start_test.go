package framework_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// connect opens a session in process, and ends it.
func connect(ctx context.Context, s *framework.Server) error {
	c, err := client.Connect(ctx, client.InMemory(s))
	if err != nil {
		return err
	}
	return c.Close()
}

func begin(ctx context.Context, s *framework.Server) error { return s.Start(ctx) }

// TestStartIsNotItsOwnClient checks that a function of OnStart gets an error at once if it uses its
// own server. It need not return the error, and it does not matter what starts the server.
func TestStartIsNotItsOwnClient(t *testing.T) {
	t.Parallel()
	starts := map[string]func(context.Context, *framework.Server) error{
		"Start":           begin,
		"the first frame": connect,
		"Serve": func(ctx context.Context, s *framework.Server) error {
			return s.Serve(ctx, carrier(func(context.Context, transport.Host) error { return nil }))
		},
	}
	uses := map[string]func(context.Context, *framework.Server) error{
		"connects": connect,
		"starts":   begin,
		"deep": func(ctx context.Context, s *framework.Server) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return connect(ctx, s)
		},
	}
	for name, start := range starts {
		for use, fn := range uses {
			t.Run(name+" "+use, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var told error
					s := build(t, quiet().OnStart(func(ctx context.Context, s *framework.Server) error {
						told = fn(ctx, s)
						return nil
					}))
					if err := start(t.Context(), s); err != nil {
						t.Errorf("the start failed: %v", err)
					}
					if told == nil || !strings.Contains(told.Error(), "the server is starting") {
						t.Errorf("the function was told %v", told)
					}
				})
			})
		}
	}
}

// TestStartThatWaitsForItself checks that the log has one warning if a function of OnStart uses its
// own server with another context. The framework cannot recognize such a call.
func TestStartThatWaitsForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		app := framework.New("a", "1", framework.WithLogger(zap.New(core))).OnStart(func(_ context.Context, s *framework.Server) error {
			for range 2 {
				own, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := connect(own, s); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("connecting during the start: %v", err)
				}
			}
			return nil
		})
		if err := build(t, app).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told := logs.FilterMessageSnippet("OnStart").Len(); told != 1 {
			t.Errorf("told %d times: %v", told, logs.All())
		}
	})
}

// TestStartIsServedAfterwards: what was refused while the server started is for that
// time only, also to what carries on with the context of OnStart.
func TestStartIsServedAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := make(chan context.Context, 1)
		s := build(t, quiet().OnStart(func(ctx context.Context, _ *framework.Server) error { kept <- ctx; return nil }))
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := connect(<-kept, s); err != nil {
			t.Errorf("connecting after the start: %v", err)
		}
	})
}

// TestStartIsWaitedFor: who comes while the functions run gets their outcome, or the end
// of its own context.
func TestStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	failure := errors.New("no database")
	for name, outcome := range map[string]error{"well": nil, "badly": failure} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				s := build(t, quiet().OnStart(func(context.Context, *framework.Server) error {
					time.Sleep(time.Minute)
					ran++
					return outcome
				}))
				var all sync.WaitGroup
				for _, start := range []func(context.Context, *framework.Server) error{begin, begin, connect} {
					all.Go(func() {
						if err := start(t.Context(), s); !errors.Is(err, outcome) {
							t.Errorf("starting = %v, want %v", err, outcome)
						}
					})
				}
				synctest.Wait()
				hasty, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				for _, start := range []func(context.Context, *framework.Server) error{begin, connect} {
					if err := start(hasty, s); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
						t.Errorf("starting in haste = %v after %s", err, time.Since(began))
					}
				}
				all.Wait()
				if ran != 1 {
					t.Errorf("the function ran %d times", ran)
				}
			})
		})
	}
}

// TestStartFailureIsLogged checks the log of a mounted server, which has no other place for the
// error of OnStart. Clients keep trying, and each request fails. A request that has ended, and a
// server that is stopping, are not logged as failures.
func TestStartFailureIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		s := build(t, quiet(framework.WithLogger(zap.New(core))).OnStart(func(context.Context, *framework.Server) error {
			time.Sleep(time.Second)
			return errors.New("no database")
		}))
		ended, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var first sync.WaitGroup
		first.Go(func() { _ = connect(t.Context(), s) })
		synctest.Wait()
		_ = connect(ended, s)
		if logs.Len() != 0 {
			t.Errorf("logged %v before the start failed", logs.All())
		}
		first.Wait()
		for range 150 {
			if err := connect(t.Context(), s); err == nil {
				t.Fatal("a server that has not started serves")
			}
			time.Sleep(time.Second)
		}
		_ = s.Shutdown(t.Context())
		time.Sleep(time.Hour)
		_ = connect(t.Context(), s)
		all := logs.FilterLevelExact(zap.ErrorLevel).FilterMessageSnippet("requests are refused").All()
		if len(all) != 3 || logs.Len() != 3 || !strings.Contains(fmt.Sprint(all[0].ContextMap()["error"]), "no database") {
			t.Errorf("logged %v", logs.All())
		}
	})
}

// TestPanicsOfHooksHaveStacks checks that the error of Serve names the panic, and that the log has
// the stack once.
func TestPanicsOfHooksHaveStacks(t *testing.T) {
	t.Parallel()
	explodes := func(context.Context, *framework.Server) error { panic("no such table") }
	for name, add := range map[string]func(*framework.App, func(context.Context, *framework.Server) error) *framework.App{
		"OnStart": (*framework.App).OnStart, "OnStop": (*framework.App).OnStop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.ErrorLevel)
			s, err := add(quiet(framework.WithLogger(zap.New(core))), explodes).Build()
			if err != nil {
				t.Fatal(err)
			}
			err = s.Serve(t.Context(), carrier(func(context.Context, transport.Host) error { return nil }))
			if err == nil || !strings.Contains(err.Error(), "no such table") {
				t.Errorf("Serve = %v", err)
			}
			if logs.Len() != 1 || logs.All()[0].ContextMap()["function"] != name || !strings.Contains(stacks(logs.All()), "start_test.go") {
				t.Errorf("logged %s", stacks(logs.All()))
			}
		})
	}
}

// TestStopsAreLogged checks that the log shows whether a server was stopped or killed. It has no
// entry if a client has closed stdin.
func TestStopsAreLogged(t *testing.T) {
	t.Parallel()
	for why, tt := range map[string]struct {
		end    func(*framework.Server, context.CancelCauseFunc)
		served carrier
	}{
		"a signal": {func(_ *framework.Server, cancel context.CancelCauseFunc) { cancel(errors.New("a signal")) }, untilDone},
		"Shutdown was called": {func(s *framework.Server, _ context.CancelCauseFunc) {
			_ = s.Shutdown(context.WithoutCancel(t.Context()))
		}, untilDone},
		"": {func(*framework.Server, context.CancelCauseFunc) {}, func(context.Context, transport.Host) error { return nil }},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				s := build(t, quiet(framework.WithLogger(zap.New(core))))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var serving sync.WaitGroup
				serving.Go(func() { _ = s.Serve(ctx, tt.served) })
				synctest.Wait()
				tt.end(s, cancel)
				serving.Wait()
				var got []string
				for _, entry := range logs.FilterMessageSnippet("the server ").All() {
					got = append(got, fmt.Sprint(entry.Level, " ", entry.Message, ": ", entry.ContextMap()["why"]))
				}
				var want []string
				if why != "" {
					want = []string{"info the server stops: " + why, "info the server has stopped: " + why}
				}
				if !slices.Equal(got, want) {
					t.Errorf("logged %q, want %q", got, want)
				}
			})
		})
	}
}

// TestStopWaitsForTheStart: what the functions of OnStop close is complete, because no function of OnStart
// runs any more, unless the time to stop is over.
func TestStopWaitsForTheStart(t *testing.T) {
	t.Parallel()
	const start, long = time.Minute, time.Hour
	shutdown := func(ctx context.Context, s *framework.Server) error { return s.Shutdown(ctx) }
	for name, tt := range map[string]struct {
		starts  func(context.Context, *framework.Server) error
		limit   time.Duration
		ran     string
		late    bool                                           // Shutdown has an error
		returns time.Duration                                  // how long Shutdown takes
		calls   func(context.Context, *framework.Server) error // in OnStart, with another context
	}{
		"in time":                {begin, long, "start stop", false, start, nil},
		"the first frame":        {connect, long, "start stop", false, start, nil},
		"too late":               {begin, time.Second, "stop start", true, time.Second, nil},
		"Serve":                  {servesAlone, long, "start stop", false, start, nil},
		"Serve, too late":        {servesAlone, time.Second, "start stop", true, time.Second, nil},
		"Shutdown calls itself":  {begin, 2 * start, "stop start", true, 2 * start, shutdown},
		"calls itself in Serve":  {servesAlone, 2 * start, "start stop", true, 2 * start, shutdown},
		"calls itself with time": {servesAlone, long, "start stop", false, 3 * start, shutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ran []string
				note := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, what)
				}
				s := build(t, quiet().
					OnStart(func(_ context.Context, s *framework.Server) error {
						time.Sleep(start)
						if tt.calls != nil {
							other, cancel := context.WithTimeout(t.Context(), 2*start)
							defer cancel()
							if err := tt.calls(other, s); !errors.Is(err, context.DeadlineExceeded) {
								t.Errorf("in OnStart Shutdown = %v", err)
							}
						}
						note("start")
						return nil
					}).
					OnStart(func(context.Context, *framework.Server) error { note("next"); return nil }).
					OnStop(func(context.Context, *framework.Server) error { note("stop"); return nil }))
				var starting sync.WaitGroup
				starting.Go(func() { _ = tt.starts(t.Context(), s) })
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				began := time.Now()
				if err := s.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) != tt.late || (err == nil) == tt.late {
					t.Errorf("Shutdown = %v", err)
				}
				if d := time.Since(began); d != tt.returns {
					t.Errorf("Shutdown took %s, want %s", d, tt.returns)
				}
				starting.Wait()
				if got := strings.Join(ran, " "); got != tt.ran {
					t.Errorf("ran %s, want %s", got, tt.ran)
				}
			})
		})
	}
}

// servesAlone runs the server without a client, and returns nil if Shutdown ends it.
func servesAlone(ctx context.Context, s *framework.Server) error {
	return s.Serve(ctx, carrier(untilDone))
}

// TestStopOfServeWaitsForTheStart: when its context ends, Serve waits for functions of OnStart that another
// caller runs.
func TestStopOfServeWaitsForTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cleaned := false
		s := build(t, quiet().
			OnStart(func(ctx context.Context, _ *framework.Server) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				cleaned = true
				return ctx.Err()
			}).
			OnStop(func(context.Context, *framework.Server) error {
				if !cleaned {
					t.Error("OnStop runs before OnStart has ended")
				}
				return nil
			}))
		ctx, cancel := context.WithCancel(t.Context())
		var starting sync.WaitGroup
		starting.Go(func() { _ = s.Start(ctx) })
		synctest.Wait()
		time.AfterFunc(time.Second, cancel)
		_ = servesAlone(ctx, s)
		starting.Wait()
	})
}
