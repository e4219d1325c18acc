package streamable

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// quotaOwner is a session or, without a session, a client. Its open streams are counted together.
type quotaOwner struct {
	session *session
	client  string
	quota   *streamQuota // of the session or the client, while a stream is counted there
}

// owner returns the key of the client.
func (o *quotaOwner) owner() string {
	if o.session != nil {
		return o.session.opener
	}
	return o.client
}

// enter counts one more open stream of o. It returns false if o is at its limit.
//
// If it returns true, leave(1) of o.quota must be called once.
func (a *Admitter) enter(o *quotaOwner) bool {
	var entered bool
	if o.session == nil {
		o.quota = a.quotas.enter(o.client, 1, a.cfg.MaxStreams)
		entered = o.quota != nil
	} else {
		o.quota = &o.session.open
		entered, _ = o.quota.enter(1, int64(a.cfg.MaxStreams))
	}
	if !entered {
		a.log.Warn("a client has reached MaxStreams, and cannot open more streams", a.proxyHint())
	}
	return entered
}

// proxyHint returns a note for the operator about limits for each client, or "".
func (a *Admitter) proxyHint() string {
	if a.cfg.Proxies.Header == "" && a.cfg.ClientKey == nil {
		return "behind a proxy, all callers without a principal are one client, unless TrustedProxies or ClientKey is set"
	}
	return ""
}

// EnterCalls counts the calls of a frame among the running calls of a client, in all its sessions,
// until leave is called. client is the result of Admission.Client. If the client would have more
// than Config.MaxCalls, ok is false.
func (a *Admitter) EnterCalls(client string, frame []byte) (leave func(), ok bool) {
	calls, n := a.count(client, frame)
	if calls == nil {
		return nil, false
	}
	return func() { calls.leave(n) }, true
}

const (
	// largeBodies is about how many bodies of the largest size a client may have in running calls.
	largeBodies = 64
	// smallBody is the size in bytes of a body that is one call, however small the limits are.
	smallBody = 16 << 10
)

// count counts the calls of a frame: one, or as many as a batch has messages. A large body counts as
// several calls, because it is kept until its call is over; if the limit is small, the number alone
// bounds the memory. A frame that alone exceeds the limit takes the whole quota. If the client is at
// its limit, calls is nil.
func (a *Admitter) count(client string, frame []byte) (calls *streamQuota, n int) {
	n = 1
	if jsonrpc.IsBatch(frame) && jsontext.Check(frame, jsontext.DefaultLimits()) == nil {
		n = max(1, jsontext.Len(frame))
	}
	each := max(largeBodies*(int64(a.cfg.BodyLimit)/int64(a.cfg.MaxCalls)+1), smallBody) // an int of 32 bits overflows
	n = int(min(int64(n)+int64(len(frame))/each, int64(a.cfg.MaxCalls)))
	if calls = a.callQuotas.enter(client, n, a.cfg.MaxCalls); calls == nil {
		a.log.Warn("a client has reached MaxCalls, and cannot call more at once", a.proxyHint())
	}
	return calls, n
}

// streamQuotas counts the open streams of clients, or their calls. Each request without a session
// needs it, so finding a known client takes no lock.
//
// A client remains known after its last stream. When there are more than most clients, add forgets
// those without a stream. It sets their count to forgotten, and only then removes them from known.
// A request that still has such a quota sees that count, and calls add for a new one.
//
// mu is held while clients are added or forgotten, and no other lock is taken under it. Between
// Load and the enter of a quota, the client may be forgotten; the final count shows that.
type streamQuotas struct {
	known sync.Map // of *streamQuota, by client

	mu    sync.Mutex // guards the fields below, and what is added to known
	count int        // number of known clients
	most  int        // number of clients at which those without a stream are forgotten
}

// remembered is the number of known clients below which no client is forgotten.
const remembered = 256

// enter counts n more for a client, and returns its quota. If the client would have more than most,
// it returns nil and counts nothing.
func (p *streamQuotas) enter(client string, n, most int) *streamQuota {
	found, _ := p.known.Load(client)
	at, _ := found.(*streamQuota)
	for {
		if at == nil {
			at = p.add(client)
		}
		entered, known := at.enter(int64(n), int64(most))
		switch {
		case entered:
			return at
		case known:
			return nil
		}
		at = nil
	}
}

// add returns the quota of a client, and makes it if there is none. If there are too many clients,
// it first forgets those without a stream. At most twice as many clients are then known as have a
// stream.
func (p *streamQuotas) add(client string) *streamQuota {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.known.Load(client); ok {
		return at.(*streamQuota) //nolint:forcetypeassert // known has no other type
	}
	if p.count >= p.most {
		p.forget()
		p.most = max(remembered, 2*p.count)
	}
	p.count++
	padded := new(struct {
		streamQuota
		_ [56]byte // one cache line per client
	})
	p.known.Store(strings.Clone(client), &padded.streamQuota) // must not keep the request's memory
	return &padded.streamQuota
}

// forget forgets the clients without a stream. The caller holds p.mu.
func (p *streamQuotas) forget() {
	for client, at := range p.known.Range {
		if at.(*streamQuota).open.CompareAndSwap(0, forgotten) { //nolint:forcetypeassert // known has no other type
			p.known.Delete(client)
			p.count--
		}
	}
}

// streamQuota counts the open streams of one client or session.
//
// open is at least 0 until the client is forgotten, and is never changed after that. A quota that
// counts a stream cannot be forgotten, so leave needs no check.
type streamQuota struct{ open atomic.Int64 }

// forgotten is the final count of a client that is not known any more.
const forgotten = math.MinInt64

// enter counts n more. It counts nothing if there would be more than most, or if the client is
// forgotten; known is then false.
func (p *streamQuota) enter(n, most int64) (entered, known bool) {
	for {
		open := p.open.Load()
		switch {
		case open == forgotten:
			return false, false
		case open+n > most:
			return false, true
		case p.open.CompareAndSwap(open, open+n):
			return true, true
		}
	}
}

// leave undoes enter.
func (p *streamQuota) leave(n int) { p.open.Add(-int64(n)) }
