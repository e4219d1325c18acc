package engine

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// batch is an array of messages (2025-03-26 only). Its members run concurrently. Their answers are
// sent as one array when all have ended. Notifications and requests to the client are sent at once.
//
// A batch is counted once (enter), and its members are not: they all end before Serve of the batch
// returns. conn is the connection of the session; the members share it.
type batch struct {
	conn      *conn
	members   []*exchange
	uncounted bool // as in exchange
}

var errNoBatches = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not part of this revision"}

// batch accepts a batch. The connection of a posted one is the connection of its session.
func (a *arrival) batch(frame []byte) (transport.Exchange, error) {
	if a.posted() {
		if refused := a.findForBatch(frame); refused != nil {
			return a.e.admit(refused)
		}
	}
	frames, fault := a.messages(frame)
	if fault != nil {
		return a.e.admit(a.refusedBatch(frame, fault))
	}
	b := &batch{conn: a.conn}
	for _, f := range frames {
		b.members = append(b.members, a.member(f))
	}
	var err error
	if b.uncounted, err = a.e.count(a.conn, b.members...); err != nil {
		return nil, err
	}
	return b, nil
}

// findForBatch finds the session of a posted batch and sets a.conn. It returns an exchange if the
// batch is refused.
func (a *arrival) findForBatch(frame []byte) *exchange {
	if a.version.Modern != nil && !a.version.Unclear {
		return a.refusedBatch(frame, errNoBatches)
	}
	x := a.refusedBatch(frame, nil)
	x.status = 0
	if fault := a.find(x); fault != nil {
		x.refuseBy(fault)
		return x
	}
	a.conn = x.conn
	return nil
}

// messages splits a batch.
func (a *arrival) messages(frame []byte) ([][]byte, *jsonrpc.Error) {
	if s := a.conn.current(); s == nil || !s.dialect.Batches() {
		return nil, errNoBatches
	}
	frames, fault := jsonrpc.Batch(frame)
	if fault != nil {
		return nil, &jsonrpc.Error{Code: fault.Code, Message: fault.Reason}
	}
	if len(frames) > a.e.cfg.MaxInFlight {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the batch is too large"}
	}
	return frames, nil
}

func (a *arrival) refusedBatch(frame []byte, err *jsonrpc.Error) *exchange {
	x := a.refusal(frame, jsonrpc.ID{}, err)
	x.request, x.status = a.request, http.StatusBadRequest
	return x
}

// member accepts one message of a batch. It refuses a request that names its own revision, because
// those revisions have no batches.
func (a *arrival) member(frame []byte) *exchange {
	m := arrival{e: a.e, conn: a.conn, request: a.request, batched: true}
	msg, fault := jsonrpc.Decode(frame)
	if fault == nil && msg.Kind == jsonrpc.Request {
		if _, claimed := dialect.Peek(msg.Params); claimed {
			return m.refusal(frame, msg.ID, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidRequest, Message: "this revision has no batches",
			})
		}
	}
	return m.accept(jsontext.Bare(frame))
}

// Serve runs the members and sends their answers.
//
// It starts a goroutine for each member, and waits for all of them. A panic in a member is
// recovered there; see exchange.serve.
func (b *batch) Serve(ctx context.Context, out transport.Outbound) error {
	if !b.uncounted {
		defer b.conn.e.leave(b.conn)
	}
	collect := &collector{next: out}
	var wg sync.WaitGroup
	for _, x := range b.members {
		wg.Go(func() { _ = x.serve(ctx, collect) }) // a failed send also fails in flush
	}
	wg.Wait()
	return collect.flush(ctx)
}

// Plan implements transport.Planned.
func (b *batch) Plan() transport.Plan {
	p := transport.Plan{Answered: slices.ContainsFunc(b.members, func(x *exchange) bool { return x.run == nil })}
	if d := b.conn.dialect(); d != nil { // initialize may have failed since
		p.Resumable, p.Polls = d.Resumable(), d.PollStreams()
	}
	return p
}

// collector is the Outbound of the members of a batch. It keeps their answers for flush, and sends
// all other frames at once. That includes frames that a call sends after its answer was kept, such as
// the cancellation of a question.
//
// Members call Send concurrently. An answer is copied into answers under mu, because the member's
// buffer is reused when its Send returns. Other frames do not take mu, so a slow client delays no
// answer. flush is called after the last member has ended.
type collector struct {
	next transport.Outbound

	mu      sync.Mutex // guards the fields below
	answers []byte
	done    bool     // at least one answer is not a refusal with a challenge
	status  int      // of the last refusal with a challenge
	demands []string // the challenges, without duplicates
}

// Send keeps an answer of a member, and sends any other frame at once.
func (c *collector) Send(ctx context.Context, frame transport.Frame) error {
	if !frame.Final {
		return c.next.Send(ctx, frame)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := frame.JSON
	if len(c.answers)+len(answer) > maxBatchAnswer {
		answer = tooLargeFor(answer)
	}
	sep := byte(',')
	if c.answers == nil {
		sep = '['
	}
	c.answers = append(append(c.answers, sep), answer...)
	switch {
	case frame.Challenge == "":
		c.done = true
		return nil
	case !slices.Contains(c.demands, frame.Challenge):
		c.demands = append(c.demands, frame.Challenge)
	}
	c.status = frame.Status
	return nil
}

// maxBatchAnswer is the limit for the total size of a batch's answers, in bytes. An answer above it
// is replaced by an error.
const maxBatchAnswer = 16 << 20

// tooLargeFor returns the error that replaces an answer if its batch has no room for it.
func tooLargeFor(answer []byte) []byte {
	msg, _ := jsonrpc.Decode(answer) // cannot fail: the engine has encoded it
	return jsonrpc.AppendError(nil, msg.ID, &jsonrpc.Error{
		Code: jsonrpc.CodeInternal, Message: "the answers of the batch are too large together: send this request by itself",
	}, false)
}

// flush sends the answers as one array. If all of them refuse the caller, nothing was executed. The
// response then has the status of a refusal, and the client can send the whole batch again with
// another token. Otherwise the status is 200, and a challenge only means that another token would
// have allowed more (RFC 9110 section 11.6.1).
func (c *collector) flush(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil { // only notifications and responses
		return nil
	}
	status := http.StatusOK
	if !c.done {
		status = c.status
	}
	slices.Sort(c.demands) // members run in any order
	return c.next.Send(ctx, transport.Frame{
		JSON: append(c.answers, ']'), Final: true, Status: status, Challenge: strings.Join(c.demands, ", "),
	})
}
