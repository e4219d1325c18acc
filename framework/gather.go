package framework

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// A Question is a question that has not been asked yet. It may be asked many times, and
// concurrently.
type Question[T any] struct {
	begin func(h *callCtx, into *T) (pendingQuestion, error)
}

// Ask returns a question to the user, for Gather. Gather asks it as Elicit does.
func Ask[T any](message string, opts ...AskOption) Question[T] {
	opts = slices.Clone(opts)
	return Question[T]{func(h *callCtx, into *T) (pendingQuestion, error) {
		q, err := h.formInquiry(message, opts, reflect.ValueOf(into).Elem())
		if err != nil {
			return nil, err
		}
		q.refuses = true
		return q, nil
	}}
}

// AskModel returns a question to the model, for Gather. Gather asks it as GenerateAs does. If T is
// Generation, the answer is what Generate returns.
func AskModel[T any](prompt string, opts ...GenerateOption) Question[T] {
	opts = slices.Clone(opts)
	return Question[T]{func(h *callCtx, into *T) (pendingQuestion, error) {
		return h.modelInquiry(prompt, opts, reflect.ValueOf(into).Elem())
	}}
}

// start returns the pendingQuestion of q. If q has a fault, it returns a faulty
// one.
func (q Question[T]) start(h *callCtx, into *T) pendingQuestion {
	if q.begin == nil {
		return &faulty{err: errors.New("a Question was not made by Ask, AskModel or AskRoots")}
	}
	inq, err := q.begin(h, into)
	if err != nil {
		return &faulty{err: err}
	}
	return inq
}

// Gather asks all questions in one round; no question depends on the answer to another. Answers are
// in the order of the questions. If an answer does not fit, only its question is asked again.
//
// Gather returns ErrPending if an answer is still pending. Otherwise it joins the errors of the
// questions that failed. If there are several questions, each error has the number of its question.
func Gather[T any](ctx context.Context, questions ...Question[T]) ([]T, error) {
	h, err := asking(ctx, gathering)
	if err != nil {
		return nil, err
	}
	answers := make([]T, len(questions))
	inquiries := make([]pendingQuestion, len(questions))
	for i, q := range questions {
		inquiries[i] = q.start(h, &answers[i])
	}
	return answers, gathered(h.settle(ctx, inquiries...))
}

// Gather2 asks both questions in one round. It returns the same errors as Gather; errors.Is finds
// ErrDeclined and ErrCancelled in them.
func Gather2[A, B any](ctx context.Context, a Question[A], b Question[B]) (A, B, error) {
	var first A
	var second B
	h, err := asking(ctx, gathering)
	if err != nil {
		return first, second, err
	}
	errs := h.settle(ctx, a.start(h, &first), b.start(h, &second))
	return first, second, gathered(errs)
}

// Gather3 is like Gather2, for three questions.
func Gather3[A, B, C any](ctx context.Context, a Question[A], b Question[B], c Question[C]) (A, B, C, error) {
	var first A
	var second B
	var third C
	h, err := asking(ctx, gathering)
	if err != nil {
		return first, second, third, err
	}
	errs := h.settle(ctx, a.start(h, &first), b.start(h, &second), c.start(h, &third))
	return first, second, third, gathered(errs)
}

const gathering = "asking several questions"

// gathered joins the errors. If there are several questions, it adds the number of the question to
// each error. If one error is ErrPending, it returns ErrPending alone.
func gathered(errs []error) error {
	for i, err := range errs {
		if errors.Is(err, ErrPending) {
			return ErrPending
		}
		if err != nil && len(errs) > 1 {
			errs[i] = fmt.Errorf("question %d: %w", i+1, err)
		}
	}
	return errors.Join(errs...)
}
