package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// markRefused begins the answer to a question that the client answered with an error,
// which a result, being JSON, never begins with.
const markRefused = '!'

// refusal reads what markRefused begins.
func refusal(d *dialect.Dialect, text []byte) error {
	e := errorOf(text)
	wire := &jsonrpc.Error{Code: e.Code, Message: e.Message}
	if data, ok := jsontext.Member(text, "data"); ok {
		wire.Data = data
	}
	return d.DecodeError(wire)
}

// awaitTask waits until the task is over, and answers what the call would have been
// answered (2025-11-25 basic/utilities/tasks). Meanwhile it puts the task's questions
// to the client, on its own stream. That this request is cancelled does not touch the
// task.
func (x *exchange) awaitTask(ctx context.Context, id string) (protocol.Result, error) {
	for {
		j := x.conn.e.job(id)
		var changed <-chan struct{}
		if j != nil {
			changed = j.next() // before the look at the record: no change is missed
		}
		r, err := x.task(ctx, id)
		if err != nil {
			return nil, err
		}
		if r.Terminal() {
			return outcome(&r)
		}
		if j != nil && r.Status == protocol.TaskInputRequired {
			if asked, err := x.inquire(ctx, j, &r); err != nil {
				return nil, err
			} else if asked {
				continue
			}
		}
		if err := x.untilChange(ctx, &r, changed); err != nil {
			return nil, err
		}
	}
}

// untilChange waits for the next change; where the task is another process's it looks
// again now and then. What waits for a client does not hold up the end of the server.
func (x *exchange) untilChange(ctx context.Context, r *task.Record, changed <-chan struct{}) error {
	var closed <-chan struct{}
	if r.Status == protocol.TaskInputRequired {
		closed = x.conn.e.closed
	}
	var look <-chan time.Time
	if changed == nil {
		timer := time.NewTimer(max(r.PollInterval, joinPause))
		defer timer.Stop()
		look = timer.C
	}
	select {
	case <-changed:
	case <-look:
	case <-closed:
		return protocol.Faultf(protocol.FaultInternal, "the server is shutting down")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// inquire puts the open questions to the client that no other request has put to it;
// false if there was none. The error is why nobody can be asked.
func (x *exchange) inquire(ctx context.Context, j *job, r *task.Record) (bool, error) {
	if errors.Is(context.Cause(j.ctx), ErrShutdown) {
		return false, ErrShutdown
	}
	mine := j.claim(r.Questions)
	if len(mine) == 0 {
		return false, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(j.ctx, stop)() // the questions of a task that is over
	var asking sync.WaitGroup
	errs := make([]error, len(mine))
	for i, q := range mine {
		asking.Go(func() { errs[i] = x.inquireOne(ctx, j, q) })
	}
	asking.Wait()
	if j.ctx.Err() != nil { // look what has become of it
		return true, nil
	}
	return true, errors.Join(errs...)
}

// inquireOne brings one answer, even if that is an error, to the task.
func (x *exchange) inquireOne(ctx context.Context, j *job, q task.Question) error {
	defer j.release(q.Key)
	_, params, err := questionOf(q, x.dialect)
	if err != nil {
		return err
	}
	msg, err := x.put(ctx, params, &protocol.RequestMeta{RelatedTask: j.id}, nil)
	var answer []byte
	switch {
	case errors.Is(err, errTimeout):
		msg.Error = &jsonrpc.Error{Code: protocol.CodeInternal, Message: "the client did not answer in time"}
		fallthrough
	case err == nil && msg.Kind == jsonrpc.Failure:
		text, _ := jsontext.Member(jsonrpc.AppendError(nil, jsonrpc.ID{}, msg.Error, true), "error")
		answer = append([]byte{markRefused}, text...)
	case err != nil:
		return err // who waits next asks again
	default:
		answer = jsontext.Compact(nil, msg.Result)
	}
	return x.conn.e.answerTask(context.WithoutCancel(ctx), j.id, map[string][]byte{q.Key: answer})
}

// claim takes the questions that nobody has put to the client.
func (j *job) claim(questions []task.Question) (mine []task.Question) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asking == nil {
		j.asking = make(map[string]bool)
	}
	for _, q := range questions {
		if !j.asking[q.Key] {
			j.asking[q.Key] = true
			mine = append(mine, q)
		}
	}
	return mine
}

// release lets others put the question, if it is still open.
func (j *job) release(key string) {
	j.mu.Lock()
	delete(j.asking, key)
	j.mu.Unlock()
	j.wake()
}
