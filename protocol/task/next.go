package task

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

// Sentinels of Next, besides ErrTerminal and ErrLimit; always wrapped.
var (
	// ErrIgnored: the event is in order and changes nothing, so there is nothing to
	// store: an Answer to what is not open, an Expire that comes early.
	ErrIgnored = errors.New("task: nothing changes")
	// ErrStatus: the event is not for a task in this status.
	ErrStatus = errors.New("task: not in this status")
	// ErrEvent: the event, or the record, is none.
	ErrEvent = errors.New("task: malformed event")
)

// EventKind is what happens to a task.
type EventKind int

// The kinds of events. What they are allowed in is either working (W),
// input_required (I), or both; what they do not name of an Event is not looked at.
const (
	_ EventKind = iota // so that an Event{} is none

	// Ask (W) turns the task to input_required: Questions are new ones, with keys
	// that it has never used, and wait for answers. Journal.
	Ask
	// Answer (W, I) takes the questions with the keys Answered away; the task is
	// working again when none is left. Keys that are not open are ignored; if all
	// are, it is ErrIgnored. See Record.Counted. Journal: with the answers.
	Answer
	// Progress (W, I) tells how it goes, and what has been done. Message, Journal.
	Progress
	// Complete (W, I) is the end, with Result.
	Complete
	// Fail (W, I) is the end, with either Error, or Result where one that says
	// isError is a failure (2025-11-25; in the extension it completes a task).
	Fail
	// Cancel (W, I) is the end at the requestor's wish.
	Cancel
	// Expire (W, I) is the end of a task whose TTL has passed: failed, with Error if
	// there is one, or an internal error that says so. Before that, or without a
	// TTL, it is ErrIgnored. Most stores have forgotten the task by then, and Update
	// is ErrNotFound; where one keeps it longer, or has another clock, whoever waits
	// sees why there is no result (the extension: "MAY mark it failed, then delete").
	Expire
	// Resume (W) says that another worker has taken it, from the beginning, with the
	// journal: Runs counts it, and the worker before loses the next Update.
	Resume
)

// Event is something that happens to a task. In all kinds, a Message that is not
// empty becomes the record's; at the end an empty one does, too: how far it had
// come says nothing then. A Journal that is not nil replaces the record's as long
// as the task has not ended.
type Event struct {
	Kind      EventKind
	Questions []Question
	Answered  []string // keys
	Journal   []byte
	Result    []byte // one JSON value
	Error     []byte // a JSON-RPC error object
	Message   string
}

// expired is the error of an expired task. Internal error: it is not the call's fault.
const (
	expired        = `{"code":-32603,"message":"` + expiredMessage + `"}`
	expiredMessage = "The task expired before it was done."
)

// Next is Limits.Next with the default limits.
func Next(r Record, e Event, now time.Time) (Record, error) {
	return Limits{}.Next(r, e, now)
}

// Next decides what an event makes of a record. It is the only place that does: the
// races of cancellation, completion, answers and expiry are between its results,
// and Store.Update says which was first. The error is ErrTerminal, ErrIgnored,
// ErrStatus, ErrEvent or ErrLimit, wrapped; the record is r then.
//
// A terminal status never changes, and one that is reached takes journal and
// questions away. Updated never goes back, even if the clock does. Version stays
// for the store to see. The result shares bytes with r and e, and changes neither.
func (l Limits) Next(r Record, e Event, now time.Time) (Record, error) {
	if r.Terminal() {
		return r, fmt.Errorf("%w: it is %s", ErrTerminal, r.Status)
	}
	if !known(r.Status) {
		return r, fmt.Errorf("%w: the record's status is %q", ErrEvent, r.Status)
	}
	l = l.orDefaults()
	next := r
	if err := l.apply(&next, &e, now); err != nil {
		return r, err
	}
	if e.Message != "" || next.Terminal() {
		next.Message = cut(e.Message, l.Message)
	}
	switch {
	case next.Terminal():
		next.Journal, next.Questions, next.Asked = nil, nil, nil
	case len(e.Journal) > l.Journal:
		return r, within("bytes of journal", len(e.Journal), l.Journal)
	case e.Journal != nil:
		next.Journal = e.Journal
	}
	next.Updated = later(r.Updated, now)
	return next, nil
}

// later compares what the clock shows: what has passed is no matter to who reads
// lastUpdatedAt.
func later(before, now time.Time) time.Time {
	before, now = before.Round(0), now.Round(0)
	if now.Before(before) {
		now = before
	}
	return now.UTC()
}

// apply changes the status and what belongs to it.
func (l *Limits) apply(r *Record, e *Event, now time.Time) error {
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

func (l *Limits) ask(r *Record, questions []Question) error {
	if r.Status != protocol.TaskWorking {
		return fmt.Errorf("%w: it waits for answers already", ErrStatus)
	}
	if len(questions) == 0 {
		return fmt.Errorf("%w: it asks nothing", ErrEvent)
	}
	if err := within("questions in the life of a task: a number", len(r.Asked)+len(questions), l.Questions); err != nil {
		return err
	}
	asked := slices.Clone(r.Asked)
	for _, q := range questions {
		if err := within("bytes of question", len(q.Key)+len(q.Request), l.Question); err != nil {
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

// end has exactly one of a result and an error, but for a cancelled task.
func (l *Limits) end(r *Record, status protocol.TaskStatus, result, failure []byte) error {
	given := *r
	given.Status, given.Result, given.Error = status, result, failure
	if err := given.checkOutcome(); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if err := errors.Join(within("bytes of result", len(result), l.Result), within("bytes of error", len(failure), l.Error)); err != nil {
		return err
	}
	*r = given
	return nil
}

func (l *Limits) expire(r *Record, e *Event, now time.Time) error {
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
