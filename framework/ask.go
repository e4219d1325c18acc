package framework

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// AskOption configures one question to the user. Sealed.
type AskOption interface{ askOption() }

type askOption func(*question)

func (askOption) askOption() {}

// GenerateOption configures one question to the model. Sealed.
type GenerateOption interface{ generateOption() }

type generateOption func(*generation)

func (generateOption) generateOption() {}

// KeyOption is both.
type KeyOption interface {
	AskOption
	GenerateOption
}

type keyOption string

func (keyOption) askOption()      {}
func (keyOption) generateOption() {}

// Key names a question, for handlers whose order of questions varies: in a loop over a map,
// from goroutines. A question without a key is known by its place in the order. Two
// questions of a call must not have the same key, on any revision: the second fails.
// Reserved are "q1", "q2" ... (questions without a key), anything after a "#" (which counts
// attempts) and "roots" (the question of Roots). A key is UTF-8: clients send it back.
func Key(key string) KeyOption { return keyOption(key) }

// inquiry is one question of a handler, until it is settled: an answer that does not fit is
// asked for again, and a model that uses tools takes several turns.
type inquiry interface {
	// key is that of Key, or "".
	key() string
	// params are those of the next question; base is the key of the first one. An error settles
	// the inquiry.
	params(base string) (protocol.Params, error)
	// take checks the answer. True or an error settles the inquiry.
	take(ctx context.Context, base string, r protocol.Result) (done bool, err error)
	// answerer is the model that answers instead of the client; nil: the client does.
	answerer() Model
	// needs is what the client must support, and what for.
	needs() need
}

// need is what a question demands of a client.
type need struct {
	doing string                       // what could not be done, for errors
	able  *protocol.ClientCapabilities // what the client must have declared
	has   bool                         // it has declared all of that
}

// thread is an inquiry in progress.
type thread struct {
	inquiry
	base  string // the key of its first question
	asked int    // how many questions it has asked
	err   error  // nil: settled by an answer
}

// nextKey is the key of the next question. A repeated question is numbered by its attempt, so
// that the order of other questions does not depend on how many attempts there are.
func (t *thread) nextKey() string {
	t.asked++
	if t.asked == 1 {
		return t.base
	}
	return t.base + "#" + strconv.Itoa(t.asked)
}

// settle asks until every inquiry is settled. Each time it asks all open ones at once. It
// returns their errors, in order. If one answer must be waited for, all errors are ErrPending.
func (h *handling) settle(ctx context.Context, inquiries ...inquiry) []error {
	threads := make([]*thread, len(inquiries))
	open := make([]*thread, 0, len(inquiries))
	for i, q := range inquiries {
		threads[i] = &thread{inquiry: q}
		if threads[i].base, threads[i].err = h.questionKey(q); threads[i].err == nil {
			open = append(open, threads[i])
		}
	}
	for len(open) > 0 {
		var pending bool
		if open, pending = h.ask(ctx, open); pending {
			return allPending(len(inquiries))
		}
	}
	errs := make([]error, len(threads))
	for i, t := range threads {
		errs[i] = t.err
	}
	return errs
}

func allPending(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = ErrPending
	}
	return errs
}

// turn is one question of a thread.
type turn struct {
	*thread
	name  string          // the key of the question
	asks  protocol.Params // the question
	reply engine.Reply    // its answer, or why there is none
}

// ask asks the next question of each thread, all at once, and returns the threads that are not
// settled. pending: answers must be waited for, and the handler will run again.
func (h *handling) ask(ctx context.Context, open []*thread) (left []*thread, pending bool) {
	var turns, local, remote []*turn
	for _, t := range open {
		key := t.nextKey()
		p, err := t.params(t.base)
		if err != nil {
			t.err = err
			continue
		}
		next := &turn{thread: t, name: key, asks: p}
		turns = append(turns, next)
		if t.answerer() != nil {
			local = append(local, next)
		} else {
			remote = append(remote, next)
		}
	}
	h.askHere(ctx, local)
	h.askClient(ctx, remote)
	for _, t := range turns {
		pending = pending || errors.Is(t.reply.Err, ErrPending)
	}
	if pending {
		return nil, true
	}
	for _, t := range turns {
		done, err := h.judged(ctx, t)
		t.err = err
		if !done && err == nil {
			left = append(left, t.thread)
		}
		pending = pending || errors.Is(err, ErrPending)
	}
	return left, pending
}

// judged gives the reply of a turn to its inquiry; done says that the inquiry is settled.
func (h *handling) judged(ctx context.Context, t *turn) (done bool, err error) {
	switch {
	case t.reply.Err == nil:
		return t.take(ctx, t.base, t.reply.Result)
	case t.answerer() != nil:
		return true, t.reply.Err
	}
	return true, h.askFailure(ctx, t.reply.Err, t.needs(), t.asks)
}

// askHere asks the app's own models, all at once.
func (h *handling) askHere(ctx context.Context, turns []*turn) {
	var asking sync.WaitGroup
	for _, t := range turns {
		asking.Go(func() { t.reply.Result, t.reply.Err = h.askModel(ctx, t.answerer(), t.name, t.asks) })
	}
	asking.Wait()
}

// askClient asks the client, all at once.
func (h *handling) askClient(ctx context.Context, turns []*turn) {
	if len(turns) == 0 {
		return
	}
	if h.muted() {
		for _, t := range turns {
			t.reply.Err = mutedError(t.needs().doing)
		}
		return
	}
	if err := keepPassed(ctx); err != nil {
		for _, t := range turns {
			t.reply.Err = err
		}
		return
	}
	questions := make([]engine.Question, len(turns))
	for i, t := range turns {
		questions[i] = engine.Question{Key: t.name, Params: t.asks}
	}
	for i, reply := range h.call.Questions(ctx, questions...) {
		turns[i].reply = reply
	}
}

func mutedError(doing string) error {
	return &unsupportedError{what: doing + " is not possible inside an AtMostOnce effect: ask before it"}
}

// askFailure is the error that the handler gets because a question failed with err.
func (h *handling) askFailure(ctx context.Context, err error, n need, p protocol.Params) error {
	var fault *protocol.Fault
	var answered *protocol.Error
	var unsupported *unsupportedError
	switch {
	case errors.Is(err, ErrPending):
		return ErrPending
	case errors.As(err, &unsupported):
		return err
	case errors.Is(err, engine.ErrCannotAsk) && ctx.Err() != nil: // the client is not to blame
		return fmt.Errorf("%s: the call is over, and a handler must ask before it returns: %w", n.doing, ctx.Err())
	case errors.Is(err, engine.ErrCannotAsk):
		unsupported := &unsupportedError{what: n.doing + " is not possible with this client"}
		if !n.has && h.call.MayAsk() {
			unsupported.missing = n.able
		}
		return unsupported
	case ctx.Err() != nil:
		return err
	case errors.Is(err, engine.ErrNoAnswer): // the model is told so, as it is if a user has declined
		return Because(UserErrorf("The client gave no answer in time."), fmt.Errorf("%s: %w", n.doing, err))
	case errors.As(err, &fault) && fault.Kind == protocol.FaultRejected:
		return ErrDeclined
	case errors.As(err, &answered) && answered.Code == jsonrpc.CodeMethodNotFound:
		// It has declared this and cannot do it: so are bridges that pass on what clients
		// declare, but no questions.
		return &unsupportedError{what: n.doing + " is not possible: the client does not know the method"}
	}
	if _, wrong := journalDialect().AppendParams(nil, p, nil); wrong != nil { // at any revision
		return fmt.Errorf("%s: %w", n.doing, wrong)
	}
	if _, cannot := h.call.Dialect.AppendParams(nil, p, nil); cannot != nil {
		return &unsupportedError{what: fmt.Sprintf("%s is not possible at the client's revision: %v", n.doing, cannot)}
	}
	return &askError{doing: n.doing, cause: err}
}

// asking is the handling of ctx, for questions; doing is what the error says is not possible
// outside of a handler.
func asking(ctx context.Context, doing string) (*handling, error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return nil, &unsupportedError{what: doing + " works in a handler only"}
	}
	return h, nil
}

// faulty is an inquiry that cannot be asked.
type faulty struct {
	inquiry // never asked
	err     error
}

func (*faulty) key() string { return "" }

func (f *faulty) params(string) (protocol.Params, error) { return nil, f.err }
