package auth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// digest stands for a token, so that no token is kept in memory.
type digest [sha256.Size]byte

func digestOf(parts ...string) digest {
	var room [2048]byte // most tokens fit: no allocation
	text := room[:0]
	for _, part := range parts {
		text = append(append(text, part...), 0) // a byte that is in no token
	}
	return sha256.Sum256(text)
}

// cache keeps verdicts until they expire, at most as many as most. Safe for concurrent use. A
// nil principal is a verdict, too: the token is not valid.
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

// put makes room by dropping expired verdicts, and then any others. A dropped token only costs
// its next call a verification.
func (c *cache) put(d digest, p *transport.Principal, until time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= c.most {
		c.shrink(now)
	}
	c.all[d] = verdict{p, until}
}

// shrink empties at least an eighth, so that it runs rarely.
func (c *cache) shrink(now time.Time) {
	for d, v := range c.all {
		if !now.Before(v.until) {
			delete(c.all, d)
		}
	}
	for d := range c.all {
		if len(c.all) <= c.most*7/8 {
			return
		}
		delete(c.all, d)
	}
}
