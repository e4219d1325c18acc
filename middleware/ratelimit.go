package middleware

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
)

// Rate is the rate that RateLimit enforces. Each caller has a bucket of Burst events, which is
// refilled with Events in every Per.
type Rate struct {
	Events int
	Per    time.Duration
	Burst  int                                             // 0 means Events
	By     func(c *framework.CallInfo, name string) string // key of the caller; nil means the principal, else the session, else the address

	// Store counts for all processes that share it. If it is nil, RateLimit uses the claim store of
	// the app's WithStore. If the app has none (framework.Store), this process counts alone.
	Store claim.Store
	// Local counts in this process even if there is a store. That saves a round trip per call, or a
	// synced write of store/boltstore. After a restart, the buckets are full.
	Local bool
	// Name distinguishes limits that share a store. Limits with the same name must have the same
	// rate.
	Name string
}

// RateLimit refuses calls beyond a rate. The JSON-RPC error contains when to try again
// (protocol.TooMany). Over HTTP the response has Retry-After, and status 429 if the revision allows
// the status to follow the error (2026-07-28).
//
// One logical call is one event, regardless of its rounds and of repetitions of a task. A round
// that a client sends again is one more event. Lists count like calls. Completions have the same
// rate but separate buckets, because they are sent while a user types.
//
// All components that are given the same value share the buckets; each caller has one bucket. For
// one bucket per tool and caller, let By return the name also:
//
//	By: func(c *framework.CallInfo, name string) string {
//		host, _, _ := net.SplitHostPort(c.RemoteAddr) // a client has many ports
//		return host + " " + name
//	}
//
// By default, a client without a principal has one bucket per session. The address is the address
// of the connection. Behind a proxy it is the proxy's address, unless the carrier trusts the proxy
// (TrustedProxies of fiberhttp and nethttp).
//
// At most 100,000 callers and as many rounds are remembered, which takes about 40 MB. Beyond that,
// the least recently used ones are forgotten, because their buckets are the fullest. A store keeps
// only buckets that are not full, and the clocks of its nodes must agree. If the store fails, this
// process counts alone. It tries the store again once a second, and logs a warning once a minute.
// Phase: limit.
func RateLimit(r Rate) framework.Middleware {
	switch {
	case r.Events < 1:
		return broken("RateLimit: Events must be 1 or more")
	case r.Per <= 0 || r.Per/time.Duration(r.Events) <= 0:
		return broken("RateLimit: Per must be a nanosecond or more for each event")
	case r.Burst < 0:
		return broken("RateLimit: Burst is negative")
	case r.Store != nil && isNil(r.Store):
		return broken("RateLimit: the Store is nil")
	}
	if r.Burst == 0 {
		r.Burst = r.Events
	}
	if int64(r.Burst) > math.MaxInt64/4/int64(r.Per/time.Duration(r.Events)) {
		return broken("RateLimit: Burst takes centuries to fill")
	}
	l := &limiter{
		rate: r, interval: r.Per / time.Duration(r.Events),
		buckets: newLRU[caller, *rate.Limiter](maxCallers), seen: newLRU[execution, struct{}](maxCallers),
	}
	name := "rate-limit"
	if r.Name != "" {
		name += " " + r.Name
	}
	return framework.Middleware{Name: name, Phase: framework.PhaseLimit, Wrap: l.wrap}
}

const (
	maxCallers   = 100_000
	warnInterval = time.Minute
)

// execution is one round of a logical call.
type execution struct {
	call  string
	round int
}

// limiter is the state of one RateLimit. It cannot be a step of OncePerCall, because OncePerCall
// skips a round that is sent again.
//
// mu guards the buckets of this process, the executions that it has seen, and the state of the
// store. The store answers while away is zero. A failure sets away to a moment in the future
// (heard), and no call uses the store before that. Then one call tries it (asks), and its result
// sets away again. mu is not held while the store is called.
type limiter struct {
	rate     Rate
	interval time.Duration // time to refill one event
	turns    turns         // queues of the calls that change a bucket of a store

	mu      sync.Mutex // guards all below
	now     time.Time  // the latest time seen; never decreases
	buckets *lru[caller, *rate.Limiter]
	seen    *lru[execution, struct{}]
	away    time.Time // the store is not used until then; zero if it answers
	warned  time.Time // when warn last logged; zero if it has not
}

func (l *limiter) wrap(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		lite := framework.CallerLite(ctx)
		if !l.paid(ctx, &lite, call) {
			if after, ok := l.take(ctx, &lite, call); !ok {
				if lite.Task != "" { // the task runs again, and pays then
					l.forget(ctx, execution{call.ID, call.Round})
				}
				after = max(after, time.Millisecond)
				return nil, protocol.TooMany(after, "too many calls: try again in %s", rounded(after))
			}
		}
		result, err := next(ctx, call)
		if call.Round == 0 && lite.Task == "" && !lite.ReplayCheck && framework.OutcomeOf(ctx, result, err) == framework.OutcomePending {
			l.first(ctx, execution{call.ID, 0}) // it may continue as a task, which runs from the start again
		}
		return result, err
	}
}

// rounded rounds a duration up, for an error text.
func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return (d + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

// paid reports whether the execution belongs to a logical call that was already counted. A client
// cannot pretend to send a later round, because the round's number is in the sealed state.
func (l *limiter) paid(ctx context.Context, lite *framework.CallInfoLite, call *framework.Call) bool {
	switch {
	case lite.ReplayCheck:
		return true
	case call.Round == 0 && lite.Task == "":
		return false
	}
	first := l.first(ctx, execution{call.ID, call.Round})
	if lite.Task != "" { // the server itself repeats a task
		return call.Round > 0 || !first
	}
	return first
}

// seenLife is how long a store remembers that a round was seen. By default a client may take that
// long to answer.
const seenLife = time.Hour

// first reports whether the execution was not seen before, and records it.
func (l *limiter) first(ctx context.Context, e execution) bool {
	if store := l.store(ctx); store != nil && l.asks() {
		asking, cancel := patient(ctx)
		defer cancel()
		_, mine, err := store.Claim(asking, l.key("seen", e.call, e.round), []byte{1}, seenLife)
		if l.heard(ctx, err); err == nil {
			return mine
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, seen := l.seen.get(e); seen {
		return false
	}
	l.seen.put(e, struct{}{})
	return true
}

// forget undoes first, for an execution that was refused.
func (l *limiter) forget(ctx context.Context, e execution) {
	if store := l.store(ctx); store != nil && l.asks() {
		asking, cancel := patient(ctx)
		defer cancel()
		l.heard(ctx, store.Delete(asking, l.key("seen", e.call, e.round), nil))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.drop(e)
}

// take takes one event from the caller's bucket. If the bucket is empty, it returns false and the
// time until an event is available.
func (l *limiter) take(ctx context.Context, lite *framework.CallInfoLite, call *framework.Call) (after time.Duration, ok bool) {
	who := callerOf(lite)
	if l.rate.By != nil {
		who = caller{kind: 'b', a: l.rate.By(framework.Caller(ctx), call.Name)}
		if len(who.a) > maxName { // a client may choose the text, which must not fill the memory
			who.b, who.a = digest(who.a), ""
		}
	}
	if call.Method == protocol.MethodComplete { // sent while a user types, so they must not use up the events of calls
		who.kind -= 'a' - 'A'
	}
	if store := l.store(ctx); store != nil {
		if after, ok, err := l.takeShared(ctx, store, who); err == nil {
			return after, ok
		}
	}
	return l.takeHere(who, call.Began())
}

// takeHere counts a call in this process, at the time when the call began. Other steps have already
// read that time, so takeHere reads the clock only before it refuses a call.
func (l *limiter) takeHere(who caller, began time.Time) (after time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket, known := l.buckets.get(who)
	if !known {
		bucket = rate.NewLimiter(rate.Every(l.interval), l.rate.Burst)
		l.buckets.put(who, bucket)
	}
	if bucket.AllowN(l.at(began), 1) || bucket.AllowN(l.at(time.Now()), 1) {
		return 0, true
	}
	missing := 1 - bucket.TokensAt(l.now)
	return time.Duration(math.Ceil(missing * float64(l.interval))), false
}

// at returns t, or the latest time seen if that is later. Calls do not arrive in the order they
// began. A bucket would be filled twice if its time went back. The caller holds l.mu.
func (l *limiter) at(t time.Time) time.Time {
	if t.After(l.now) {
		l.now = t
	}
	return l.now
}

// store returns the store that counts events, or nil if this process counts alone.
func (l *limiter) store(ctx context.Context) claim.Store {
	switch {
	case l.rate.Local:
		return nil
	case l.rate.Store != nil:
		return l.rate.Store
	}
	return framework.ServerFrom(ctx).Claims()
}
