package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	sessions "github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// limits are the same rate, counted here and in a store.
func limits(r middleware.Rate) map[string]framework.Middleware {
	shared := r
	shared.Store = memory.New().Claims()
	return map[string]framework.Middleware{"here": middleware.RateLimit(r), "shared": middleware.RateLimit(shared)}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "shared"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mw := limits(middleware.Rate{Events: 60, Per: time.Minute, Burst: 3})[where]
				s := build(t, quiet().Use(mw).Add(doing(nothing)))
				for i := range 3 {
					if got := call(t.Context(), t, s, `{}`); got.Error != nil {
						t.Errorf("call %d: %s", i, got.raw)
					}
				}
				time.Sleep(250 * time.Millisecond)
				got := call(t.Context(), t, s, `{}`)
				if got.code() != protocol.CodeTooMany || string(got.Error.Data) != `{"retryAfterMs":750}` || got.Error.Message != "too many calls: try again in 750ms" {
					t.Errorf("the fourth: %s", got.raw)
				}
				time.Sleep(749 * time.Millisecond)
				if got := call(t.Context(), t, s, `{}`); got.code() != protocol.CodeTooMany {
					t.Errorf("too early: %s", got.raw)
				}
				time.Sleep(time.Millisecond)
				if got := call(t.Context(), t, s, `{}`); got.Error != nil {
					t.Errorf("when it said: %s", got.raw)
				}
				time.Sleep(time.Hour)
				allowed := 0
				for range 10 {
					if got := call(t.Context(), t, s, `{}`); got.Error == nil {
						allowed++
					}
				}
				if allowed != 3 {
					t.Errorf("after an hour %d calls at once, want the burst of 3", allowed)
				}
			})
		})
	}
}

// TestRateLimitCompletions checks that completions are limited, too (server/utilities/completion
// "Security"), and do not use up the calls of a user who types.
func TestRateLimitCompletions(t *testing.T) {
	t.Parallel()
	type key struct {
		X string `uri:"x" validate:"oneof=yes no"`
	}
	for where, mw := range limits(middleware.Rate{Events: 2, Per: time.Hour}) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Use(mw).Add(
				framework.ResourceTemplate("a://{x}", func(context.Context, key) (string, error) { return "", nil })))
			complete := func() answer {
				return request(t.Context(), t, s, "completion/complete", "", `"ref":{"type":"ref/resource","uri":"a://{x}"},"argument":{"name":"x","value":"y"},`)
			}
			read := func() answer { return request(t.Context(), t, s, "resources/read", "", `"uri":"a://yes",`) }
			for range 2 {
				if got := complete(); !strings.Contains(got.raw, `"values":["yes"]`) {
					t.Errorf("answered %s", got.raw)
				}
				if got := read(); got.Error != nil {
					t.Errorf("a read: %s", got.raw)
				}
			}
			if got := complete(); got.code() != protocol.CodeTooMany {
				t.Errorf("the third completion: %s", got.raw)
			}
			if got := read(); got.code() != protocol.CodeTooMany {
				t.Errorf("the third read: %s", got.raw)
			}
		})
	}
}

// TestRateLimitMadeAgain checks that a call passes if a step makes it again after the wait.
func TestRateLimitMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		patient := framework.Middleware{Name: "patient", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				result, err := next(ctx, call)
				if err == nil {
					return result, nil
				}
				time.Sleep(time.Second)
				return next(ctx, call)
			}
		}}
		s := build(t, quiet().Use(patient, middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Second})).Add(doing(nothing)))
		for i := range 3 {
			if got := call(t.Context(), t, s, `{}`); got.Error != nil {
				t.Errorf("call %d: %s", i, got.raw)
			}
		}
	})
}

// A call that took long to get here has begun before those that were counted: the bucket
// is not filled for that time again.
func TestRateLimitLateComer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := framework.Middleware{Name: "slow", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				call.Began()
				if framework.CallerLite(ctx).RemoteAddr == "slow" {
					time.Sleep(11 * time.Second)
				}
				return next(ctx, call)
			}
		}}
		limit := middleware.RateLimit(middleware.Rate{Events: 1, Per: 10 * time.Second, Burst: 3})
		s := build(t, quiet().Use(slow, limit).Add(doing(nothing)))
		ann := as(t.Context(), "ann")
		var late answer
		go func() { late = call(from(ann, "slow", nil), t, s, `{}`) }()
		time.Sleep(10 * time.Second)
		first := call(ann, t, s, `{}`)
		time.Sleep(time.Second)
		synctest.Wait()
		third, fourth := call(ann, t, s, `{}`), call(ann, t, s, `{}`)
		if first.Error != nil || late.Error != nil || third.Error != nil || fourth.code() != protocol.CodeTooMany {
			t.Errorf("%s\n%s\n%s\n%s", first.raw, late.raw, third.raw, fourth.raw)
		}
	})
}

// Who is counted: the principal before the session before the address, and nothing that
// a client says of itself.
func TestRateLimitByCaller(t *testing.T) {
	t.Parallel()
	v6 := "2001:db8:0:1"
	for name, tt := range map[string]struct {
		one, other func(context.Context) context.Context
		together   bool
	}{
		"two principals": {
			one:   func(ctx context.Context) context.Context { return as(ctx, "ann") },
			other: func(ctx context.Context) context.Context { return as(ctx, "bob") },
		},
		"one principal, two addresses": {
			one:      func(ctx context.Context) context.Context { return as(from(ctx, "192.0.2.1:1", nil), "ann") },
			other:    func(ctx context.Context) context.Context { return as(from(ctx, "192.0.2.2:1", nil), "ann") },
			together: true,
		},
		"two issuers": {
			one: func(ctx context.Context) context.Context {
				return transport.WithPrincipal(ctx, &transport.Principal{Issuer: "https://a.example", Subject: "ann"})
			},
			other: func(ctx context.Context) context.Context {
				return transport.WithPrincipal(ctx, &transport.Principal{Issuer: "https://b.example", Subject: "ann"})
			},
		},
		"two issuers of one text": {
			one: func(ctx context.Context) context.Context { return as(ctx, "") },
			other: func(ctx context.Context) context.Context {
				return from(ctx, "https://id.example", nil)
			},
		},
		"two addresses, no subject": {
			one:   func(ctx context.Context) context.Context { return as(from(ctx, "192.0.2.1:1", nil), "") },
			other: func(ctx context.Context) context.Context { return as(from(ctx, "192.0.2.2:1", nil), "") },
		},
		"two addresses": {
			one:   func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:1", nil) },
			other: func(ctx context.Context) context.Context { return from(ctx, "192.0.2.2:1", nil) },
		},
		"two ports": {
			one:      func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:1", nil) },
			other:    func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:2", nil) },
			together: true,
		},
		"two hosts of one IPv6 network": {
			one:      func(ctx context.Context) context.Context { return from(ctx, "["+v6+"::1]:1", nil) },
			other:    func(ctx context.Context) context.Context { return from(ctx, "["+v6+":ffff::2]:2", nil) },
			together: true,
		},
		"two IPv6 networks": {
			one:   func(ctx context.Context) context.Context { return from(ctx, "[2001:db8:0:1::1]:1", nil) },
			other: func(ctx context.Context) context.Context { return from(ctx, "[2001:db8:0:2::1]:1", nil) },
		},
		"IPv4 in IPv6": {
			one:      func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:1", nil) },
			other:    func(ctx context.Context) context.Context { return from(ctx, "[::ffff:192.0.2.1]:1", nil) },
			together: true,
		},
		"two hosts of one IPv6 network, without ports": {
			one:      func(ctx context.Context) context.Context { return from(ctx, v6+"::1", nil) },
			other:    func(ctx context.Context) context.Context { return from(ctx, v6+":ffff::2", nil) },
			together: true,
		},
		"IPv4 in IPv6, without a port": {
			one:      func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:1", nil) },
			other:    func(ctx context.Context) context.Context { return from(ctx, "::ffff:192.0.2.1", nil) },
			together: true,
		},
		"forged headers": {
			one: func(ctx context.Context) context.Context { return from(ctx, "192.0.2.1:1", nil) },
			other: func(ctx context.Context) context.Context {
				return from(ctx, "192.0.2.1:2", map[string]string{
					"X-Forwarded-For": "203.0.113.9", "X-Real-Ip": "203.0.113.9", "Forwarded": "for=203.0.113.9",
				})
			},
			together: true,
		},
	} {
		for _, where := range []string{"here", "shared"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				s := build(t, quiet().Use(limits(middleware.Rate{Events: 1, Per: time.Hour})[where]).Add(doing(nothing)))
				if got := call(tt.one(t.Context()), t, s, `{}`); got.Error != nil {
					t.Fatalf("the first: %s", got.raw)
				}
				got := call(tt.other(t.Context()), t, s, `{}`)
				if refused := got.code() == protocol.CodeTooMany; refused != tt.together {
					t.Errorf("counted together: %v, want %v: %s", refused, tt.together, got.raw)
				}
			})
		}
	}
}

// Without a principal a handshake session is counted by itself.
func TestRateLimitBySession(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Hour})).Add(doing(nothing)))
	for range 2 {
		p := shake(t, s)
		if got := p.call(t, `{}`); got.Error != nil {
			t.Errorf("the first of a session: %s", got.raw)
		}
		if got := p.call(t, `{}`); got.code() != protocol.CodeTooMany {
			t.Errorf("the second of a session: %s", got.raw)
		}
	}
}

func TestRateLimitBy(t *testing.T) {
	t.Parallel()
	by := func(c *framework.CallInfo, name string) string {
		return name + strings.Repeat(c.Header.Get("X-Key"), 1000)
	}
	for where, mw := range limits(middleware.Rate{Events: 1, Per: time.Hour, By: by}) {
		s := build(t, quiet().Use(mw).Add(doing(nothing), framework.Tool("u", func(context.Context, struct{}) (string, error) { return "", nil })))
		key := func(v string) context.Context {
			return from(t.Context(), "192.0.2.1:1", map[string]string{"X-Key": v})
		}
		got := []int{call(key("a"), t, s, `{}`).code(), call(key("b"), t, s, `{}`).code(), call(key("a"), t, s, `{}`).code()}
		if fmt.Sprint(got) != "[0 0 429]" {
			t.Errorf("%s: codes %v", where, got)
		}
	}
}

// A logical call is one event, in however many rounds.
func TestRateLimitCountsLogicalCalls(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "shared"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Use(limits(middleware.Rate{Events: 2, Per: time.Hour})[where]).Add(asking(3)))
			for range 2 {
				got := call(t.Context(), t, s, `{}`)
				for range 3 {
					got = again(t.Context(), t, s, got, true)
				}
				if got.text() != "done" {
					t.Fatalf("answered %s", got.raw)
				}
			}
			if got := call(t.Context(), t, s, `{}`); got.code() != protocol.CodeTooMany {
				t.Errorf("the third: %s", got.raw)
			}
		})
	}
}

// A round that is sent again costs one event, each time: otherwise one call would be
// calls without end.
func TestRateLimitCountsResends(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "shared"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := build(t, quiet().Use(limits(middleware.Rate{Events: 3, Per: time.Hour})[where]).Add(asking(1)))
			asked := call(t.Context(), t, s, `{}`)
			var got []int
			for i := range 5 { // with other answers, too
				got = append(got, again(t.Context(), t, s, asked, i == 0).code())
			}
			// The first is the round itself; two resends are left, refused for their answers.
			if fmt.Sprint(got) != "[0 -32602 -32602 429 429]" {
				t.Errorf("codes %v", got)
			}
		})
	}
}

// A refused round does not cost the call: it may be sent later.
func TestRateLimitRoundLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Minute})).Add(asking(1)))
		asked := call(t.Context(), t, s, `{}`)
		if got := call(t.Context(), t, s, `{}`); got.code() != protocol.CodeTooMany {
			t.Fatalf("the second: %s", got.raw)
		}
		if got := again(t.Context(), t, s, asked, true); got.text() != "done" {
			t.Errorf("the round of a call that was counted: %s", got.raw)
		}
	})
}

// The check of replay is no call.
func TestRateLimitReplayCheck(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, framework.New("test", "1", framework.WithReplayCheck(), framework.WithLogger(build(t, app).Logger())).
		Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Hour}), middleware.Concurrency(1, 0)).Add(asking(2)))
	got := call(t.Context(), t, s, `{}`)
	got = again(t.Context(), t, s, again(t.Context(), t, s, got, true), true)
	if got.text() != "done" || logs.Len() > 0 {
		t.Errorf("answered %s, logged %v", got.raw, logs.All())
	}
}

func TestRateLimitLists(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Hour})).Add(doing(nothing)))
	list := func() int { return request(t.Context(), t, s, "tools/list", "", "").code() }
	if first, second := list(), list(); first != 0 || second != protocol.CodeTooMany {
		t.Errorf("codes %d, %d", first, second)
	}
}

// Two processes with one store have one bucket; names tell limits apart, and Local is alone.
func TestRateLimitShared(t *testing.T) {
	t.Parallel()
	store := counts{memory.New().Claims()}
	node := func(r middleware.Rate) *framework.Server {
		r.Events, r.Per = 1, time.Hour
		return build(t, quiet(framework.WithStore(store)).Use(middleware.RateLimit(r)).Add(doing(nothing)))
	}
	one, two, other, local := node(middleware.Rate{}), node(middleware.Rate{}), node(middleware.Rate{Name: "other"}), node(middleware.Rate{Local: true})
	got := []int{}
	for _, s := range []*framework.Server{one, two, other, local} {
		got = append(got, call(t.Context(), t, s, `{}`).code())
	}
	if fmt.Sprint(got) != "[0 429 0 0]" {
		t.Errorf("codes %v", got)
	}
}

// counts is a store that has claims and nothing else.
type counts struct{ claims claim.Store }

func (counts) Sessions() sessions.Store { return nil }
func (counts) Tasks() task.Store        { return nil }
func (counts) Events() eventlog.Store   { return nil }
func (counts) Changes() change.Bus      { return nil }
func (c counts) Claims() claim.Store    { return c.claims }

// lame is a store that fails.
type lame struct{ claim.Store }

func (lame) Claim(context.Context, string, []byte, time.Duration) ([]byte, bool, error) {
	return nil, false, errors.New("the store is down")
}

func TestRateLimitStoreFails(t *testing.T) {
	t.Parallel()
	app, logs := watched()
	s := build(t, app.Use(middleware.RateLimit(middleware.Rate{Events: 2, Per: time.Hour, Store: lame{}})).Add(doing(nothing)))
	got := []int{call(t.Context(), t, s, `{}`).code(), call(t.Context(), t, s, `{}`).code(), call(t.Context(), t, s, `{}`).code()}
	if fmt.Sprint(got) != "[0 0 429]" {
		t.Errorf("codes %v", got)
	}
	if logs.Len() != 1 || !strings.Contains(logs.All()[0].Message, "counts alone") {
		t.Errorf("logged %v, want one line", logs.All())
	}
}

// odd is a store with a bucket that another program wrote.
type odd struct {
	claim.Store
	held []byte
}

func (o odd) Claim(context.Context, string, []byte, time.Duration) ([]byte, bool, error) {
	return o.held, false, nil
}

func (odd) Swap(context.Context, string, []byte, []byte, time.Duration) (bool, error) {
	return true, nil
}

func TestRateLimitOddBuckets(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]string{
		"no number":     "x",
		"a wrong clock": strconv.FormatInt(time.Now().Add(24*365*time.Hour).UnixNano(), 10),
	} {
		s := build(t, quiet().Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: time.Second, Store: odd{held: []byte(held)}})).Add(doing(nothing)))
		got := call(t.Context(), t, s, `{}`)
		if name == "no number" && got.Error != nil {
			t.Errorf("%s: %s", name, got.raw)
		}
		if name == "a wrong clock" && (got.Error == nil || string(got.Error.Data) != `{"retryAfterMs":1000}`) {
			t.Errorf("%s: %s, want a wait of at most the whole bucket", name, got.raw)
		}
	}
}

// ahead keeps buckets that a clock has set that was a year ahead.
type ahead struct{ claim.Store }

func (a ahead) Claim(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	const year = 365 * 24 * time.Hour
	wrong := strconv.AppendInt(nil, time.Now().Add(year).UnixNano(), 10)
	if _, _, err := a.Store.Claim(ctx, key, wrong, year); err != nil {
		return nil, false, err
	}
	return a.Store.Claim(ctx, key, value, ttl)
}

// Who met a bucket of a wrong clock waits as behind an empty one, and then goes on.
func TestRateLimitAfterAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rate := middleware.Rate{Events: 3, Per: 3 * time.Second, Store: ahead{memory.New().Claims()}}
		s := build(t, quiet().Use(middleware.RateLimit(rate)).Add(doing(nothing)))
		var codes []int
		for range 4 {
			codes = append(codes, call(t.Context(), t, s, `{}`).code())
			time.Sleep(time.Second)
		}
		if codes[0] == 0 || !slices.Equal(codes[1:], []int{0, 0, 0}) {
			t.Errorf("codes %v, want one refusal and then none", codes)
		}
	})
}

// Many at once never get more than there is.
func TestRateLimitContended(t *testing.T) {
	t.Parallel()
	for where, mw := range limits(middleware.Rate{Events: 20, Per: time.Hour}) {
		s := build(t, quiet().Use(mw).Add(doing(nothing)))
		codes := make(chan int)
		for range 8 {
			go func() {
				for range 10 {
					codes <- call(t.Context(), t, s, `{}`).code()
				}
			}()
		}
		allowed := 0
		for range 80 {
			if <-codes == 0 {
				allowed++
			}
		}
		if allowed != 20 {
			t.Errorf("%s: %d of 80 were let through, want 20", where, allowed)
		}
	}
}

// Callers without end do not fill the memory: who was quiet longest is forgotten, and
// who is there all the time is not.
func TestRateLimitIsBounded(t *testing.T) {
	t.Parallel()
	run := alone(middleware.RateLimit(middleware.Rate{Events: 1, Per: 24 * time.Hour, Local: true}), answering("x"))
	refused := func(subject string) bool {
		_, err := run(as(t.Context(), subject))
		return framework.OutcomeOf(t.Context(), nil, err) == framework.OutcomeLimited
	}
	refused("quiet")
	refused("busy")
	for i := range 100_000 {
		if refused("caller " + strconv.Itoa(i)) {
			t.Fatalf("caller %d is new, and refused", i)
		}
		if i%10_000 == 0 && !refused("busy") {
			t.Errorf("after %d callers the busy one is forgotten", i)
		}
	}
	if !refused("caller 99999") || !refused("busy") || refused("quiet") {
		t.Error("the wrong ones were forgotten")
	}
}

// TestRateLimitOfTasksByAddress: tasks of clients without a principal are counted by address, as
// their calls are, also on the node that takes them from the queue. A task beyond the rate waits.
func TestRateLimitOfTasksByAddress(t *testing.T) {
	t.Parallel()
	for _, queue := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var opts []framework.AppOption
			if queue {
				opts = append(opts, framework.WithStore(memory.New()))
			}
			s := build(t, quiet(opts...).Use(middleware.RateLimit(middleware.Rate{Events: 1, Per: 10 * time.Minute})).
				Add(doing(nothing, framework.Task(framework.TaskOptional))))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for n, want := range []string{"completed", "completed", "working"} {
				ctx := from(t.Context(), fmt.Sprintf("192.0.2.%d:1", n%2), nil)
				id := tasking(ctx, t, s, "tools/call", `"name":"t","arguments":{},`).Result.TaskID
				time.Sleep(time.Minute)
				if got := tasking(t.Context(), t, s, "tasks/get", fmt.Sprintf(`"taskId":%q,`, id)); got.Result.Status != want {
					t.Errorf("task %d with queue %v: %s, want %s", n, queue, got.raw, want)
				}
				if want == "working" { // it waits for its turn, and takes an event then
					time.Sleep(8 * time.Minute)
					second := tasking(ctx, t, s, "tools/call", `"name":"t","arguments":{},`).Result.TaskID
					time.Sleep(3 * time.Minute)
					var status [2]string
					for i, id := range []string{id, second} {
						status[i] = tasking(t.Context(), t, s, "tasks/get", fmt.Sprintf(`"taskId":%q,`, id)).Result.Status
					}
					if slices.Sort(status[:]); status != [2]string{"completed", "working"} {
						t.Errorf("with queue %v, later: %q", queue, status)
					}
				}
			}
		})
	}
}
