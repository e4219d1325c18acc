package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol"
)

// fingerprint returns the part of a used key that a record keeps: eight bytes, for keys of any
// length.
func fingerprint(key string) uint64 {
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])
}

// WasAsked reports whether an open or answered question of the task has had this key. Keys are
// unique in the life of a task (tasks extension, "inputRequests").
func (r *Record) WasAsked(key string) bool {
	return slices.Contains(r.Asked, fingerprint(key))
}

// without returns the open questions with other keys than these, in their order.
func (r *Record) without(keys []string) []Question {
	var left []Question
	for _, q := range r.Questions {
		if !slices.Contains(keys, q.Key) {
			left = append(left, q)
		}
	}
	return left
}

// Clone returns a copy that shares nothing with the record.
func (r *Record) Clone() Record {
	c := *r
	c.ID, c.Owner, c.Message = strings.Clone(r.ID), strings.Clone(r.Owner), strings.Clone(r.Message)
	c.Call, c.Journal = bytes.Clone(r.Call), bytes.Clone(r.Journal)
	c.Result, c.Error = bytes.Clone(r.Result), bytes.Clone(r.Error)
	c.Questions, c.Asked = slices.Clone(r.Questions), slices.Clone(r.Asked)
	for i, q := range c.Questions {
		c.Questions[i] = Question{Key: strings.Clone(q.Key), Request: bytes.Clone(q.Request)}
	}
	return c
}

// Validate returns an error that names everything that is wrong with the record, or nil. Next keeps
// a valid record valid. Opaque fields are not checked. The text does not contain the ID, which may
// be a secret.
func (r *Record) Validate() error {
	var faults []error
	fault := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(r.ID == "", "no id")
	fault(r.Created.IsZero(), "no time of creation")
	fault(r.Updated.Before(r.Created), "updated at %v, created at %v", r.Updated, r.Created)
	fault(r.TTL < 0, "a TTL of %v", r.TTL)
	fault(r.PollInterval < 0, "a poll interval of %v", r.PollInterval)
	fault(r.Runs < 0, "%d runs", r.Runs)
	fault(!utf8.ValidString(r.Message), "a message that is not UTF-8")
	fault(!known(r.Status), "unknown status %q", r.Status)
	faults = append(faults, r.checkOutcome(), r.checkQuestions())
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("task: the record is not valid: %w", err)
	}
	return nil
}

func known(s protocol.TaskStatus) bool {
	switch s {
	case protocol.TaskWorking, protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled:
		return true
	}
	return false
}

// checkOutcome returns an error unless the record has exactly the result or the error that its
// status requires.
func (r *Record) checkOutcome() error {
	result, failure := len(r.Result) > 0, len(r.Error) > 0
	ok := !result && !failure
	switch r.Status {
	case protocol.TaskCompleted:
		ok = result && !failure
	case protocol.TaskFailed:
		ok = result != failure
	default:
	}
	if !ok {
		return fmt.Errorf("it is %s with %d bytes of result and %d of error", r.Status, len(r.Result), len(r.Error))
	}
	return nil
}

func (r *Record) checkQuestions() error {
	if (r.Status == protocol.TaskInputRequired) != (len(r.Questions) > 0) {
		return fmt.Errorf("it is %s with %d open questions", r.Status, len(r.Questions))
	}
	asked := make(map[uint64]bool, len(r.Asked))
	for _, mark := range r.Asked {
		if asked[mark] {
			return errors.New("a key was asked twice")
		}
		asked[mark] = true
	}
	for i, q := range r.Questions {
		switch {
		case q.Key == "":
			return fmt.Errorf("open question %d has no key", i)
		case !asked[fingerprint(q.Key)]:
			return fmt.Errorf("open question %q is not in Asked, or twice", q.Key)
		}
		delete(asked, fingerprint(q.Key))
	}
	if r.Terminal() && len(r.Asked)+len(r.Journal) > 0 {
		return errors.New("it is over and remembers its work")
	}
	return nil
}
