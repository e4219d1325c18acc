package task

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit means that an event adds more to a record than it may. The record stays as it is, so the
// task can still be failed if its result is too large.
var ErrLimit = errors.New("task: over the limit")

// limits bound how much an event may add to a record.
type limits struct {
	result    int // bytes of a result
	failure   int // bytes of an error
	journal   int // bytes of a journal
	message   int // bytes of a message, which is cut off there
	question  int // bytes of a question and its key
	questions int // number of questions in the life of a task
}

// standard are the limits of Next.
var standard = limits{result: 4 << 20, failure: 64 << 10, journal: 4 << 20, message: 1 << 10, question: 1 << 20, questions: 1 << 10}

func within(what string, size, limit int) error {
	if size > limit {
		return fmt.Errorf("%w: %s of %d, at most %d", ErrLimit, what, size, limit)
	}
	return nil
}

// cut returns the first bytes of s as valid UTF-8, because a message is for people. A character
// that would be cut in two is left out.
func cut(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
