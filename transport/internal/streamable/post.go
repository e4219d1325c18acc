package streamable

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

var errClientGone = errors.New("streamable: the client closed the stream")

// posting is one POST. It is the transport.Sessions of its request.
//
// The goroutine of the request owns it until run hands the exchange over; after that, the goroutine
// that serves the exchange does. call is atomic, because both may end the counting: the one when
// the response becomes a stream, the other at the end of the exchange.
type posting struct {
	v       *PendingRequest
	session *session // found or opened; in use until release
	opened  bool
	call    atomic.Pointer[streamQuota] // counts the calls until they have ended or become a stream; nil if uncount has nothing to undo
	calls   int                         // number of calls
	lasts   bool                        // release gives back a place among the client's streams; see lasting
}

// Find implements transport.Sessions.
func (p *posting) Find() (*transport.Connection, error) {
	if p.session == nil {
		s, err := p.v.named()
		if err != nil || s == nil {
			return nil, err
		}
		p.session = s
	}
	return p.session.link, nil
}

// Open implements transport.Sessions. Other requests find the session only after the frame was
// accepted; see Endpoint.keep.
func (p *posting) Open() (*transport.Connection, error) {
	v := p.v
	client := strings.Clone(v.Client()) // the session must not keep the memory of a header field
	if !v.e.room(client) {
		return nil, errTooMany
	}
	p.session, p.opened = v.e.makeSession(v.ctx, v.r, rand.Text(), client), true
	return p.session.link, nil
}

// release gives back the calls, the stream and the session. It is called once, when the exchange has been
// served or was refused.
func (p *posting) release() {
	p.uncount()
	if p.lasts {
		p.v.owner.quota.leave(1)
	}
	if p.session != nil {
		p.session.release()
	}
}

// uncount ends the counting of the calls. Further calls have no effect.
//
// It may be called by two goroutines at the same time.
func (p *posting) uncount() {
	if call := p.call.Swap(nil); call != nil {
		call.leave(p.calls)
	}
}

// discard drops a session that was opened for a frame that the host did not accept.
//
// It must be called before keep, while no other request can find the session.
func (p *posting) discard() {
	if p.opened {
		p.session.cancel(errSessionEnded)
		p.session, p.opened = nil, false
	}
}

// post serves one frame. A request is counted among the client's calls before it is accepted. If
// there are too many calls, it is therefore refused before it has run.
func (v *PendingRequest) post(body []byte) *Reply {
	body = jsontext.TrimBOM(body)
	v.limited()
	call, n := v.e.count(v.owner.owner(), body)
	if call == nil && Asks(body) {
		return tooManyCalls()
	}
	return v.run(body, call, n)
}

// Asks reports whether a frame is a request, or may contain one. Answers to questions of running
// calls must not wait for a quota, and are accepted to the end.
func Asks(body []byte) bool {
	body = jsontext.TrimBOM(body)
	switch {
	case jsontext.Check(body, jsontext.DefaultLimits()) != nil:
		return true
	case !jsonrpc.IsBatch(body):
		return asks(body)
	}
	for message := range jsontext.Elements(body) {
		if asks(message) {
			return true
		}
	}
	return false
}

// asks is Asks for one message.
func asks(message []byte) bool {
	msg, fault := jsonrpc.Decode(message)
	if fault != nil {
		return !fault.Notification // a malformed response ends the request that it answers
	}
	return msg.Kind == jsonrpc.Request
}

// issued returns the header field with the id of the session, if this request has opened a session
// and the host has not refused it.
func (p *posting) issued() []Field {
	if !p.opened || p.session.link.Refused() {
		return nil
	}
	return []Field{{headerSession, p.session.id}}
}

// open returns the reply that lets a carrier take the stream over.
//
// The caller must return the reply. leave keeps the session in use and the endpoint from stopping
// until the carrier's connection has ended. It holds no memory of the request, which the carrier
// uses again.
func (v *PendingRequest) open(s *Stream, p *posting) *Reply {
	e, session := v.e, p.session
	if session != nil {
		session.use()
	}
	s.header, s.leave = append(p.issued(), v.common...), func() { // must not keep the request's memory
		if session != nil {
			session.release()
		}
		e.running.Done()
	}
	return &Reply{Stream: s}
}

// admit is like open, for a GET. It refuses a client that has too many streams.
func (v *PendingRequest) admit(s *Stream, p *posting) *Reply {
	v.limited()
	if !v.e.enter(&v.owner) {
		return tooManyStreams()
	}
	reply := v.open(s.expiring(&v.Admission), p)
	s.holdsQuota(v.owner.quota)
	return reply
}

// limited decides where streams and calls are counted: for the session, if the request names a
// session of this principal, or else for the principal or address. Other ids do not count, because
// a client could evade the limit by inventing them.
func (v *PendingRequest) limited() {
	if v.ids == 1 {
		if s := v.e.local(v.id); s != nil && s.principal == v.Principal() {
			v.owner = quotaOwner{session: s}
			return
		}
	}
	v.owner = quotaOwner{client: v.Client()}
}
