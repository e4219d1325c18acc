package task

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit means that an event is larger than Limits allow. The record stays as it is, so the task
// can still be failed if its result is too large.
var ErrLimit = errors.New("task: over the limit")

// Limits bound how much an event may add to a record. A limit of 0 or less means its default.
type Limits struct {
	Result    int // bytes of a result; default 4 MiB
	Error     int // bytes of an error; default 64 KiB
	Journal   int // bytes of a journal; default 4 MiB
	Message   int // bytes of a message, which is cut off there; default 1 KiB
	Question  int // bytes of a question and its key; default 1 MiB
	Questions int // number of questions in the life of a task; default 1,024
}

// orDefaults returns the limits with their defaults filled in.
func (l Limits) orDefaults() Limits {
	for _, b := range []struct {
		bound *int
		value int
	}{
		{&l.Result, 4 << 20},
		{&l.Error, 64 << 10},
		{&l.Journal, 4 << 20},
		{&l.Message, 1 << 10},
		{&l.Question, 1 << 20},
		{&l.Questions, 1 << 10},
	} {
		if *b.bound <= 0 {
			*b.bound = b.value
		}
	}
	return l
}

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
