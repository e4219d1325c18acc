package task

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit says that something is larger than Limits allow. The record stays as it
// is; a task whose result is too large can still fail.
var ErrLimit = errors.New("task: over the limit")

// Limits bound what an event may add to a record. Where one is 0 or less, the
// default is meant.
type Limits struct {
	Result    int // bytes of a result; 4 MiB
	Error     int // bytes of an error; 64 KiB
	Journal   int // bytes of a journal; 4 MiB
	Message   int // bytes of a message, which is cut; 1 KiB
	Question  int // bytes of a question, with its key; 1 MiB
	Questions int // in the life of a task; 1,024
}

// orDefaults has them all.
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

// cut gives valid UTF-8 of at most so many bytes: a message is for people. A
// character that is cut in two goes.
func cut(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
