package middleware

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
)

// Rate is what RateLimit enforces: a bucket of Burst events, which is refilled with Events
// in every Per.
type Rate struct {
	Events int
	Per    time.Duration
	Burst  int                                             // 0 = Events
	By     func(c *framework.CallInfo, name string) string // nil = principal, else session, else address

	// Store counts for all processes that share it. Nil: that of the app's WithStore if it
	// can (framework.Store), else this process counts alone.
	Store claim.Store
	// Local counts in this process, whatever stores there are: no round trip for each call.
	Local bool
	// Name tells limits that share a store apart. Limits of the same name must have the
	// same rate.
	Name string
}

// RateLimit refuses calls beyond a rate, by a JSON-RPC error that says when there is room
// again (protocol.TooMany): over HTTP with Retry-After, and with status 429 if the revision
// lets the status follow the error (2026-07-28). One logical call is one event, in however
// many rounds or repetitions of a task; a round that a client sends again is one more.
// Lists count like calls. Completions have the same rate, but buckets of their own: they
// come as a user types.
//
// All components behind the same value share the buckets; each caller has one. Have By
// return the name as well to have one for each tool:
//
//	By: func(c *framework.CallInfo, name string) string {
//		host, _, _ := net.SplitHostPort(c.RemoteAddr) // of ports a client has many
//		return host + " " + name
//	}
//
// By default a client without a principal has a bucket for each of its sessions. An address
// is that of the connection: behind a proxy it is the proxy's, and whether to believe
// forwarding headers is up to By.
//
// At most 100,000 callers and as many rounds are remembered, about 40 MB; beyond that,
// those that were quiet for longest are forgotten, as their buckets are fullest. A store
// keeps buckets that are not full, and its nodes need clocks that agree. If it fails, this
// process counts alone, asks it once a second whether it is back, and says so in the log
// once a minute. Phase: limit.
func RateLimit(r Rate) framework.Middleware {
	switch {
	case r.Events < 1:
		return broken("RateLimit: Events must be 1 or more")
	case r.Per <= 0 || r.Per/time.Duration(r.Events) <= 0:
		return broken("RateLimit: Per must be a nanosecond or more for each event")
	case r.Burst < 0:
		return broken("RateLimit: Burst is negative")
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

// limiter is one RateLimit. It cannot be a step of OncePerCall, which does not see a round that
// is sent again.
type limiter struct {
	rate     Rate
	interval time.Duration // between two events
	warned   atomic.Int64  // unix nanoseconds
	turns    turns         // the order in which callers change a bucket of a store

	mu      sync.Mutex // guards all below
	now     time.Time  // the latest time seen; it never goes back
	buckets *lru[caller, *rate.Limiter]
	seen    *lru[execution, struct{}]
	away    time.Time // the store is not asked until then; zero: it answers
}

func (l *limiter) wrap(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		lite := framework.CallerLite(ctx)
		if !l.paid(ctx, &lite, call) {
			if after, ok := l.take(ctx, &lite, call); !ok {
				after = max(after, time.Millisecond)
				return nil, protocol.TooMany(after, "too many calls: try again in %s", rounded(after))
			}
		}
		result, err := next(ctx, call)
		if call.Round == 0 && lite.Task == "" && !lite.ReplayCheck && framework.OutcomeOf(ctx, result, err) == framework.OutcomePending {
			l.counted(ctx, call.ID)
		}
		return result, err
	}
}

// counted remembers a call that waits for an answer: it may go on as a task, which runs from
// the start again. The question may have cancelled ctx.
func (l *limiter) counted(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), awayPause)
	defer cancel()
	l.first(ctx, execution{id, 0})
}

// rounded is a duration for people.
func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return (d + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

// paid says whether the execution belongs to a logical call that was counted already. A client
// cannot pretend to send a later round: its number is in the sealed state.
func (l *limiter) paid(ctx context.Context, lite *framework.CallInfoLite, call *framework.Call) bool {
	switch {
	case lite.ReplayCheck:
		return true
	case call.Round == 0 && lite.Task == "":
		return false
	}
	first := l.first(ctx, execution{call.ID, call.Round})
	if lite.Task != "" { // a task is repeated by the server itself
		return call.Round > 0 || !first
	}
	return first
}

// seenLife is how long a store remembers that a round was seen: by default a client may take
// that long to answer.
const seenLife = time.Hour

// first says whether the execution was not seen before, and remembers it.
func (l *limiter) first(ctx context.Context, e execution) bool {
	if store := l.store(ctx); store != nil && l.asks() {
		_, mine, err := store.Claim(ctx, l.key("seen", e.call, e.round), []byte{1}, seenLife)
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

// take takes one event from the bucket, or says when there will be one.
func (l *limiter) take(ctx context.Context, lite *framework.CallInfoLite, call *framework.Call) (after time.Duration, ok bool) {
	who := callerOf(lite)
	if l.rate.By != nil {
		who = caller{kind: 'b', a: l.rate.By(framework.Caller(ctx), call.Name)}
		if len(who.a) > maxName { // a text that the client has chosen must not fill the memory
			who.b, who.a = digest(who.a), ""
		}
	}
	if call.Method == protocol.MethodComplete { // completions come as a user types, and must not use up the calls
		who.kind -= 'a' - 'A'
	}
	if store := l.store(ctx); store != nil {
		if after, ok, err := l.takeShared(ctx, store, who); err == nil {
			return after, ok
		}
	}
	return l.takeHere(who, call.Began())
}

// takeHere counts a call at the time when it began, which other steps have read already. Only
// before it refuses one it reads the clock.
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

// at is t, or the latest time seen if that is later. Calls do not arrive in the order in which
// they began, and a bucket whose time goes back would be filled twice. Called with l.mu held.
func (l *limiter) at(t time.Time) time.Time {
	if t.After(l.now) {
		l.now = t
	}
	return l.now
}

// store is where events are counted; nil: in this process.
func (l *limiter) store(ctx context.Context) claim.Store {
	switch {
	case l.rate.Local:
		return nil
	case l.rate.Store != nil:
		return l.rate.Store
	}
	return framework.ServerFrom(ctx).Claims()
}
