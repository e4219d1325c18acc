package auth

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// digest is the digest of a token, so that tokens are not kept in memory.
type digest [sha256.Size]byte

func digestOf(parts ...string) digest {
	var room [2048]byte // large enough for most tokens, without an allocation
	text := room[:0]
	for _, part := range parts {
		text = append(append(text, part...), 0) // tokens do not contain this byte
	}
	return sha256.Sum256(text)
}

// cache keeps verdicts until they expire, at most most of them. A nil principal is also a verdict:
// the token is not valid. get, put and shrink lock mu, so a cache is safe for concurrent use.
type cache struct {
	most int

	mu  sync.Mutex // guards all
	all map[digest]verdict
}

type verdict struct {
	principal *transport.Principal
	until     time.Time
}

func newCache(most int) *cache { return &cache{most: most, all: make(map[digest]verdict)} }

func (c *cache) get(d digest) (p *transport.Principal, known bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.all[d]
	return v.principal, ok && now.Before(v.until)
}

// put adds a verdict. It makes space by dropping expired verdicts, and then any others. A dropped
// token only has to be verified again at its next call.
func (c *cache) put(d digest, p *transport.Principal, until time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= c.most {
		c.shrink(now)
	}
	c.all[d] = verdict{p, until}
}

// shrink empties at least an eighth of the cache, so that it runs rarely.
func (c *cache) shrink(now time.Time) {
	maps.DeleteFunc(c.all, func(_ digest, v verdict) bool { return !now.Before(v.until) })
	for d := range c.all {
		if len(c.all) <= c.most*7/8 {
			return
		}
		delete(c.all, d)
	}
}
