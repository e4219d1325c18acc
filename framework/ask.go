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
	"github.com/kagami-mcp/kagami/transport"
)

// An AskOption configures one question to the user. The interface is sealed.
type AskOption interface{ askOption() }

type askOption func(*question)

func (askOption) askOption() {}

// A GenerateOption configures one question to the model. The interface is sealed.
type GenerateOption interface{ generateOption() }

type generateOption func(*generation)

func (generateOption) generateOption() {}

// A KeyOption is an AskOption and a GenerateOption.
type KeyOption interface {
	AskOption
	GenerateOption
}

type keyOption string

func (keyOption) askOption()      {}
func (keyOption) generateOption() {}

// Key names a question. Use it if the order of questions varies, such as in a loop over a map or in
// several goroutines. A question without a key is identified by its position in the order of
// questions. Two questions of a call must not have the same key, on any revision; the second one
// fails.
//
// Reserved keys are "q1", "q2" and so on (questions without a key), "roots" (the question of
// Roots), and keys with a "#" (which numbers attempts). A key is UTF-8, because clients send it
// back.
func Key(key string) KeyOption { return keyOption(key) }

// A pendingQuestion is one question of a handler until it is settled. It may take several questions to the
// client or model: after an answer that does not fit the question is asked again, and a model that
// uses tools takes several turns.
type pendingQuestion interface {
	// key returns the key of the option Key, or "".
	key() string
	// params returns the next question. base is the key of the first one. An error settles the
	// question.
	params(base string) (protocol.Params, error)
	// take checks the answer. If done is true or there is an error, the question is settled.
	take(ctx context.Context, base string, r protocol.Result) (done bool, err error)
	// answerer returns the app's model that answers, or nil if the client answers.
	answerer() Model
	// needs returns the capabilities that the client needs for the question.
	needs() requirement
}

// requirement describes the capabilities that a question needs.
type requirement struct {
	doing string                       // what the question does, for errors
	able  *protocol.ClientCapabilities // capabilities that the client must have declared
	has   bool                         // the client has declared all of them
}

// A questionLoop is a question that is being asked.
type questionLoop struct {
	pendingQuestion
	base  string // the key of its first question
	asked int    // number of questions asked so far
	err   error  // nil if settled by an answer

	name  string          // the key of the last question
	asks  protocol.Params // the last question
	reply engine.Reply    // its answer, or the error if there is no answer
}

// nextKey returns the key of the next question. Further questions of a thread are numbered "#2",
// "#3" and so on, so that the keys of other questions do not depend on the number of attempts.
func (t *questionLoop) nextKey() string {
	t.asked++
	if t.asked == 1 {
		return t.base
	}
	return t.base + "#" + strconv.Itoa(t.asked)
}

// settle asks until every question is settled. In each pass it asks all open ones at once. It
// returns their errors, in order. If one answer is still pending, all errors are ErrPending.
func (h *callCtx) settle(ctx context.Context, inquiries ...pendingQuestion) []error {
	threads := make([]*questionLoop, len(inquiries))
	open := make([]*questionLoop, 0, len(inquiries))
	for i, q := range inquiries {
		threads[i] = &questionLoop{pendingQuestion: q}
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

// ask asks the next question of each thread, all at once, and returns the threads that are not
// settled. pending reports whether an answer is still pending; the handler then runs again.
func (h *callCtx) ask(ctx context.Context, open []*questionLoop) (left []*questionLoop, pending bool) {
	var turns, local, remote []*questionLoop
	for _, t := range open {
		t.name = t.nextKey()
		if t.asks, t.err = t.params(t.base); t.err != nil {
			continue
		}
		turns = append(turns, t)
		if t.answerer() != nil {
			local = append(local, t)
		} else {
			remote = append(remote, t)
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
		var done bool
		if done, t.err = h.judged(ctx, t); !done && t.err == nil {
			left = append(left, t)
		}
		pending = pending || errors.Is(t.err, ErrPending)
	}
	return left, pending
}

// judged passes the reply to its question. done reports whether the question is settled.
func (h *callCtx) judged(ctx context.Context, t *questionLoop) (done bool, err error) {
	switch {
	case t.reply.Err == nil:
		return t.take(ctx, t.base, t.reply.Result)
	case t.answerer() != nil:
		return true, t.reply.Err
	}
	return true, h.askFailure(ctx, t.reply.Err, t.needs(), t.asks)
}

// askHere sends the questions to the app's own models, all at once.
func (h *callCtx) askHere(ctx context.Context, turns []*questionLoop) {
	var asking sync.WaitGroup
	for _, t := range turns {
		asking.Go(func() { // a panic would end the process here
			t.reply.Result, t.reply.Err = guarded(func() (protocol.Result, error) {
				return h.askModel(ctx, t.answerer(), t.name, t.asks)
			})
		})
	}
	asking.Wait()
}

// askClient sends the questions to the client, all at once.
func (h *callCtx) askClient(ctx context.Context, turns []*questionLoop) {
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

// askFailure returns the error for the handler after a question failed with err.
func (h *callCtx) askFailure(ctx context.Context, err error, n requirement, p protocol.Params) error {
	var fault *protocol.Fault
	var answered *protocol.Error
	var unsupported *unsupportedError
	switch {
	case errors.Is(err, ErrPending):
		return ErrPending
	case errors.As(err, &unsupported):
		return err
	case errors.Is(err, engine.ErrCannotAsk) && ctx.Err() != nil: // not the fault of the client
		return fmt.Errorf("%s: the call is over, and a handler must ask before it returns: %w", n.doing, ctx.Err())
	case errors.Is(err, engine.ErrCannotAsk):
		unsupported := &unsupportedError{what: n.doing + " is not possible with this client"}
		if !n.has && h.call.MayAsk() {
			unsupported.missing = n.able
		}
		return unsupported
	case ctx.Err() != nil:
		return err
	case errors.Is(err, engine.ErrNoAnswer): // the model sees the text, as it does after a refusal by the user
		return Because(UserErrorf("The client gave no answer in time."), &askError{doing: n.doing, cause: err})
	case errors.As(err, &fault) && fault.Kind == protocol.FaultRejected:
		return ErrDeclined
	case errors.As(err, &answered) && answered.Code == jsonrpc.CodeMethodNotFound:
		// The client has declared the capability but does not have the method. Some bridges pass on
		// the capabilities of their clients, but not the questions.
		return &unsupportedError{what: n.doing + " is not possible: the client does not know the method"}
	}
	if _, wrong := journalDialect().AppendParams(nil, p, nil); wrong != nil { // the question is invalid at any revision
		return fmt.Errorf("%s: %w", n.doing, wrong)
	}
	if _, cannot := h.call.Dialect.AppendParams(nil, p, nil); cannot != nil {
		return &unsupportedError{what: fmt.Sprintf("%s is not possible at the client's revision: %v", n.doing, cannot)}
	}
	left := errors.Is(err, transport.ErrNoSession)
	if fault == nil && answered == nil && !left { // the error of a store, or of writing
		return fmt.Errorf("%s: %w", n.doing, err)
	}
	return &askError{doing: n.doing, cause: err}
}

// asking returns the call context of ctx, for a question. Outside of a handler it returns an error that
// names doing.
func asking(ctx context.Context, doing string) (*callCtx, error) {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil {
		return nil, &unsupportedError{what: doing + " works in a handler only"}
	}
	return h, nil
}

// faulty is a question that fails with err before it is asked.
type faulty struct {
	pendingQuestion // never asked
	err             error
}

func (*faulty) key() string { return "" }

func (f *faulty) params(string) (protocol.Params, error) { return nil, f.err }
