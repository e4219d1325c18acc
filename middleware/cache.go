package middleware

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Cache keeps answers of tools that are both framework.ReadOnly and framework.Idempotent, for ttl.
// Other calls pass unchanged. The cache holds at most entries answers and evicts the least recently
// used one. Answers of more than 256 KiB are not cached.
//
// The key is the component, the principal with its issuer and scopes, and the arguments. The order
// and the spacing of the arguments do not matter. Do not cache a tool whose answer depends on
// anything else, such as a header or another claim of the token. All callers without a principal
// share their answers. Callers without a Subject share answers if their issuer and scopes are equal.
//
// Only plain successes are cached. Errors and isError results are not, and neither are calls that
// asked the user or a model, in any round. Equal calls that run at the same time each run the
// handler. Resources are not cached: after a change (resources/updated), a client must not receive
// an old version. Phase: cache.
func Cache(ttl time.Duration, entries int) framework.Middleware {
	switch {
	case ttl <= 0:
		return broken("Cache: the time to live must be positive")
	case entries < 1:
		return broken("Cache: entries must be 1 or more")
	}
	c := &cache{ttl: ttl, kept: newLRU[cacheKey, cached](entries)}
	return framework.Middleware{Name: "cache", Phase: framework.PhaseCache, Wrap: c.wrap}
}

// maxCached is the maximum size of one answer. Together with the number of entries it bounds the
// cache.
const maxCached = 256 << 10

type cacheKey struct {
	of     *byte // its address identifies the chain of one component
	digest [sha256.Size]byte
}

type cached struct {
	result *protocol.CallToolResult
	end    time.Time
}

type cache struct {
	ttl time.Duration

	mu   sync.Mutex // guards kept
	kept *lru[cacheKey, cached]
}

func (c *cache) wrap(next framework.Handler) framework.Handler {
	// Two servers never share answers, and neither do two tools that had the same name one after the other.
	of := new(byte)
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		if !cacheable(call) {
			return next(ctx, call)
		}
		key := cacheKey{of: of, digest: keyOf(ctx, call)}
		if known := c.get(key); known != nil {
			return &framework.Result{Body: known}, nil
		}
		result, err := next(ctx, call)
		if framework.OutcomeOf(ctx, result, err) != framework.OutcomeOK || framework.CallerLite(ctx).Asked {
			return result, err
		}
		if tool, ok := result.Body.(*protocol.CallToolResult); ok && !quoted(tool) && sizeOf(tool) <= maxCached {
			c.put(key, tool)
		}
		return result, err
	}
}

// quoted reports whether the _meta of the result notes that the client sent all arguments as one
// string. A call with the same arguments as an object must not get this note.
func quoted(r *protocol.CallToolResult) bool {
	repaired, _ := r.Meta["kagami/repaired"].([]string)
	return slices.Contains(repaired, "")
}

func cacheable(call *framework.Call) bool {
	a := &call.Component.Annotations
	return call.Round == 0 && call.Component.Kind == "tool" &&
		a.ReadOnly != nil && *a.ReadOnly && a.Idempotent != nil && *a.Idempotent
}

func (c *cache) get(key cacheKey) *protocol.CallToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.kept.get(key)
	if !ok || !time.Now().Before(known.end) {
		return nil
	}
	return own(known.result)
}

func (c *cache) put(key cacheKey, result *protocol.CallToolResult) {
	kept := cached{own(result), time.Now().Add(c.ttl)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.put(key, kept)
}

// own returns a copy of r that outer steps may change. The copy has its own blocks and _meta, but
// their contents are shared.
func own(r *protocol.CallToolResult) *protocol.CallToolResult {
	c := *r
	c.Content, c.Meta = slices.Clone(r.Content), maps.Clone(r.Meta)
	return &c
}

// keyOf hashes the principal, the name and the arguments of a call. Each part is preceded by its
// length, so that different parts never form the same text.
func keyOf(ctx context.Context, call *framework.Call) [sha256.Size]byte {
	text := make([]byte, 0, 256)
	part := func(s string) { text = append(append(strconv.AppendInt(text, int64(len(s)), 10), ':'), s...) }
	if p := framework.CallerLite(ctx).Principal; p != nil {
		part(p.Issuer)
		part(p.Subject)
		for _, scope := range p.Scopes {
			part(scope)
		}
	}
	text = append(text, '|')
	part(call.Name)
	return sha256.Sum256(jsontext.Canonical(text, call.Arguments))
}
