package task

import "time"

// Limits replace the limits of the function Next in a test.
type Limits struct{ Result, Error, Journal, Message, Question, Questions int }

// Next is like the function Next, with the limits l.
func (l Limits) Next(r Record, e Event, now time.Time) (Record, error) {
	return (&limits{l.Result, l.Error, l.Journal, l.Message, l.Question, l.Questions}).next(r, e, now)
}
