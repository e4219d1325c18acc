package streamable

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// quotaOwner is a session or, without one, a client. Its open streams are counted together.
type quotaOwner struct {
	session *session
	client  string
	quota   *streamQuota // of the client, while a stream is counted there
}

// owner returns the key of the client.
func (o *quotaOwner) owner() string {
	if o.session != nil {
		return o.session.opener
	}
	return o.client
}

// enter counts one more open stream of o, until leave. It returns false if o is at its limit.
func (a *Admitter) enter(o *quotaOwner) bool {
	if o.session != nil {
		return o.session.enter(a.cfg.MaxStreams)
	}
	o.quota = a.quotas.enter(o.client, 1, a.cfg.MaxStreams)
	return o.quota != nil
}

// EnterCalls counts the calls of a frame among those that a client has in flight, in all its
// sessions, until leave is called. client is the result of Admission.Client. ok is false if the
// client would have more than Config.MaxCalls.
func (a *Admitter) EnterCalls(client string, frame []byte) (leave func(), ok bool) {
	calls, n := a.count(client, frame)
	if calls == nil {
		return nil, false
	}
	return func() { calls.leave(n) }, true
}

// count enters the calls of a frame: one, or as many as a batch has messages. A batch that alone
// exceeds the limit takes the whole quota. calls is nil if the client is at its limit.
func (a *Admitter) count(client string, frame []byte) (calls *streamQuota, n int) {
	n = 1
	if jsonrpc.IsBatch(frame) && jsontext.Check(frame, jsontext.DefaultLimits()) == nil {
		n = min(max(1, jsontext.Len(frame)), a.cfg.MaxCalls)
	}
	return a.callQuotas.enter(client, n, a.cfg.MaxCalls), n
}

// leave undoes enter.
func (a *Admitter) leave(o quotaOwner) {
	if o.session != nil {
		o.session.open.Add(-1)
		return
	}
	o.quota.leave(1)
}

// streamQuotas counts the open streams of clients, or their calls. Each request without a session
// needs it, so finding a known client takes no lock.
//
// A client whose last stream has ended stays known. When there are more than most clients, add
// forgets those without a stream: it sets their count to forgotten, and only then removes them from
// known. A request that still has such a quota sees that count, and asks add for a new one.
type streamQuotas struct {
	known sync.Map // of *streamQuota, by client

	mu    sync.Mutex // guards the fields below, and what is added to known
	count int        // of known
	most  int        // how many may be known before those without a stream are forgotten
}

// remembered is the number of known clients below which none is forgotten.
const remembered = 256

// enter counts n more for a client, and returns its quota. It returns nil, and counts nothing, if the
// client would have more than most.
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

// add returns the quota of a client, and makes it if there is none. It first forgets clients without
// a stream if there are too many, so that at most twice as many are known as have a stream.
func (p *streamQuotas) add(client string) *streamQuota {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.known.Load(client); ok {
		return at.(*streamQuota) //nolint:forcetypeassert // there is nothing else
	}
	if p.count >= p.most {
		p.forget()
		p.most = max(remembered, 2*p.count)
	}
	p.count++
	at := new(streamQuota)
	p.known.Store(strings.Clone(client), at) // client may be part of the request's memory
	return at
}

// forget forgets the clients without a stream. The caller holds p.mu.
func (p *streamQuotas) forget() {
	for client, at := range p.known.Range {
		if at.(*streamQuota).open.CompareAndSwap(0, forgotten) { //nolint:forcetypeassert // there is nothing else
			p.known.Delete(client)
			p.count--
		}
	}
}

// streamQuota counts the open streams of one client.
type streamQuota struct {
	open atomic.Int64
	_    [56]byte // padding: one cache line per client
}

// forgotten is the final count of a client that is not known any more.
const forgotten = math.MinInt64

// enter counts n more. It does not if there would be more than most, or if the client is forgotten.
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
