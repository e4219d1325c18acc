package task

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Errors of Next, in addition to ErrTerminal and ErrLimit. Next always wraps them.
var (
	// ErrIgnored means that the event is valid but changes nothing, so there is nothing to store.
	// Examples are an Answer to questions that are not open, and an Expire that comes too early.
	ErrIgnored = errors.New("task: nothing changes")
	// ErrStatus means that the event is not allowed in the status of the task.
	ErrStatus = errors.New("task: not in this status")
	// ErrEvent means that the event, or the record, is malformed.
	ErrEvent = errors.New("task: malformed event")
)

// EventKind is the kind of an Event.
type EventKind int

// The kinds of events. Each comment begins with the statuses that allow the event: working (W),
// input_required (I) or both. An event uses the fields of Event that its comment names, and Message
// and Journal as described at [Event].
const (
	_ EventKind = iota // the zero Event has no kind, and is malformed

	// Ask (W) asks Questions and turns the task to input_required. The keys of the questions must
	// be new to the task.
	Ask
	// Answer (W, I) closes the questions with the keys Answered. When none is left, the task is
	// working again. Keys of questions that are not open are ignored. If all keys are ignored, Next
	// returns ErrIgnored. See Record.Counted. The Journal should contain the answers.
	Answer
	// Progress (W, I) reports progress in Message, and work done in Journal.
	Progress
	// Complete (W, I) ends the task with Result.
	Complete
	// Fail (W, I) ends the task with Error, or with Result. On 2025-11-25, a result with isError
	// fails a task; in the extension, it completes one.
	Fail
	// Cancel (W, I) ends the task at the request of the client.
	Cancel
	// Expire (W, I) ends a task with a TTL that has passed; its status is then failed. The error is
	// Error, or by default an internal error with a message that the task expired. If the TTL has
	// not passed, or there is none, Next returns ErrIgnored.
	//
	// Most stores have dropped the record by then, and their Update returns ErrNotFound. If a store
	// keeps it longer, or its clock differs, waiting clients receive the reason (the extension:
	// "MAY mark it failed, then delete").
	Expire
	// Resume (W) means that another worker has taken the task, and runs it from the
	// beginning with the journal. It increments Runs. The next Update of the previous worker
	// fails, because the version has changed.
	Resume
)

// Event is an event in the life of a task. For all kinds, a Message that is not empty replaces the
// record's message. When the task ends, an empty Message also replaces it, because the last
// progress message means nothing then. A Journal that is not nil replaces the record's journal,
// unless the task ends.
type Event struct {
	Kind      EventKind
	Questions []Question
	Answered  []string // keys of questions
	Journal   []byte
	Result    []byte // one JSON value
	Error     []byte // a JSON-RPC error object
	Message   string
}

// expired is the error of an expired task. It is an internal error, because the call is not at
// fault.
const (
	expired        = `{"code":-32603,"message":"` + expiredMessage + `"}`
	expiredMessage = "The task expired before it was done."
)

// Next returns the record that results from an event. Only Next decides this. If a cancellation, a
// completion, an answer and an expiry race, each calls Next, and Store.Update accepts the first.
// The error wraps ErrTerminal, ErrIgnored, ErrStatus, ErrEvent or ErrLimit; the returned record is
// then r.
//
// A terminal status never changes. When a task reaches one, its journal and questions are removed.
// Updated never goes back, even if the clock does. Version stays as it is, because Store.Update
// compares it. The result shares bytes with r and e; neither is modified.
//
// A result and a journal may have 4 MiB, an error 64 KiB, and a question with its key 1 MiB. A task
// may ask 1,024 questions in its life. A message is cut off after 1 KiB.
func Next(r Record, e Event, now time.Time) (Record, error) { return standard.next(r, e, now) }

func (l *limits) next(r Record, e Event, now time.Time) (Record, error) {
	if r.Terminal() {
		return r, fmt.Errorf("%w: it is %s", ErrTerminal, r.Status)
	}
	if !known(r.Status) {
		return r, fmt.Errorf("%w: the record's status is %q", ErrEvent, r.Status)
	}
	next := r
	if err := l.apply(&next, &e, now); err != nil {
		return r, err
	}
	if e.Message != "" || next.Terminal() {
		next.Message = cut(e.Message, l.message)
	}
	switch {
	case next.Terminal():
		next.Journal, next.Questions, next.Asked = nil, nil, nil
	case len(e.Journal) > l.journal:
		return r, within("bytes of journal", len(e.Journal), l.journal)
	case e.Journal != nil:
		next.Journal = e.Journal
	}
	next.Updated = later(r.Updated, now)
	return next, nil
}

// later returns the later of two times as wall-clock times, without their monotonic readings.
// Clients that read lastUpdatedAt see only wall-clock times.
func later(before, now time.Time) time.Time {
	before, now = before.Round(0), now.Round(0)
	if now.Before(before) {
		now = before
	}
	return now.UTC()
}

// apply changes the status of r, and the fields that depend on it.
func (l *limits) apply(r *Record, e *Event, now time.Time) error {
	switch e.Kind {
	case Ask:
		return l.ask(r, e.Questions)
	case Answer:
		return answer(r, e.Answered)
	case Progress:
		return nil
	case Resume:
		return resume(r)
	case Complete:
		return l.end(r, protocol.TaskCompleted, e.Result, nil)
	case Fail:
		return l.end(r, protocol.TaskFailed, e.Result, e.Error)
	case Cancel:
		return l.end(r, protocol.TaskCancelled, nil, nil)
	case Expire:
		return l.expire(r, e, now)
	}
	return fmt.Errorf("%w: kind %d", ErrEvent, e.Kind)
}

func (l *limits) ask(r *Record, questions []Question) error {
	if r.Status != protocol.TaskWorking {
		return fmt.Errorf("%w: it waits for answers already", ErrStatus)
	}
	if len(questions) == 0 {
		return fmt.Errorf("%w: it asks nothing", ErrEvent)
	}
	if err := within("questions in the life of a task: a number", len(r.Asked)+len(questions), l.questions); err != nil {
		return err
	}
	asked := slices.Clone(r.Asked)
	for _, q := range questions {
		if err := within("bytes of question", len(q.Key)+len(q.Request), l.question); err != nil {
			return err
		}
		mark := fingerprint(q.Key)
		if q.Key == "" || slices.Contains(asked, mark) {
			return fmt.Errorf("%w: it asks with the key %q, which is empty or was used before", ErrEvent, q.Key)
		}
		asked = append(asked, mark)
	}
	r.Status, r.Questions, r.Asked = protocol.TaskInputRequired, slices.Clone(questions), asked
	return nil
}

func answer(r *Record, keys []string) error {
	left := r.without(keys)
	if len(left) == len(r.Questions) {
		return fmt.Errorf("%w: no open question is answered", ErrIgnored)
	}
	if r.Questions = left; len(left) == 0 {
		r.Status = protocol.TaskWorking
	}
	return nil
}

func resume(r *Record) error {
	if r.Status != protocol.TaskWorking {
		return fmt.Errorf("%w: it waits for answers, there is nothing to run", ErrStatus)
	}
	r.Runs++
	return nil
}

// end sets a terminal status. There must be exactly one of a result and an error. If the task is
// cancelled, there must be neither.
func (l *limits) end(r *Record, status protocol.TaskStatus, result, failure []byte) error {
	given := *r
	given.Status, given.Result, given.Error = status, result, failure
	if err := given.checkOutcome(); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if err := errors.Join(within("bytes of result", len(result), l.result), within("bytes of error", len(failure), l.failure)); err != nil {
		return err
	}
	*r = given
	return nil
}

func (l *limits) expire(r *Record, e *Event, now time.Time) error {
	end := r.Expires()
	if end.IsZero() || now.Before(end) {
		return fmt.Errorf("%w: the task has not expired", ErrIgnored)
	}
	failure := e.Error
	if len(failure) == 0 {
		failure = []byte(expired)
	}
	if e.Message == "" {
		e.Message = expiredMessage
	}
	return l.end(r, protocol.TaskFailed, nil, bytes.Clone(failure))
}
