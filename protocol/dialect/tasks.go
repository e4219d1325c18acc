package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// taskMembers are the members of a task. The two designs have different names for the durations
// (2025-11-25 basic/utilities/tasks; SEP-2663).
var taskMembers = rows[protocol.Task](
	required("taskId", str, func(t *protocol.Task) *string { return &t.ID }),
	required("status", enum(protocol.TaskWorking, protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled),
		func(t *protocol.Task) *protocol.TaskStatus { return &t.Status }),
	optional("statusMessage", str, func(t *protocol.Task) *string { return &t.Message }),
	whole("createdAt", taskTime(func(t *protocol.Task) *time.Time { return &t.Created })).requiredIn(always),
	whole("lastUpdatedAt", taskTime(func(t *protocol.Task) *time.Time { return &t.Updated })).requiredIn(always),
	required("ttl", ttl, func(t *protocol.Task) **int64 { return &t.TTL }).only(coreTasks),
	required("ttlMs", ttl, func(t *protocol.Task) **int64 { return &t.TTL }).only(sessionless),
	optional("pollInterval", integer[int64](), func(t *protocol.Task) *int64 { return &t.PollInterval }).only(coreTasks),
	optional("pollIntervalMs", integer[int64](), func(t *protocol.Task) *int64 { return &t.PollInterval }).only(sessionless),
)

// taskTime is one of the two required times. Encoding writes the time of creation if the time at is
// zero.
func taskTime(at func(*protocol.Task) *time.Time) kind[protocol.Task] {
	return kind[protocol.Task]{
		read: func(d *Dialect, t *protocol.Task, v []byte) *fail { return readTime(d, at(t), v) },
		write: func(_ *Dialect, dst []byte, t *protocol.Task) ([]byte, error) {
			is := *at(t)
			if is.IsZero() {
				is = t.Created
			}
			if is.IsZero() {
				return dst, fmt.Errorf("task %s has no time of creation", t.ID)
			}
			return appendTime(dst, is), nil
		},
	}
}

// ttl is the TTL of a task. Null means unlimited.
var ttl = kind[*int64]{
	read: func(d *Dialect, to **int64, v []byte) *fail {
		if jsontext.KindOf(v) == jsontext.KindNull {
			return nil
		}
		*to = new(int64)
		return readInt(d, *to, v)
	},
	write: func(_ *Dialect, dst []byte, v **int64) ([]byte, error) {
		if *v == nil {
			return append(dst, "null"...), nil
		}
		return strconv.AppendInt(dst, **v, 10), nil
	},
}

// detailMembers are the data that the status of a task makes available (SEP-2663).
var detailMembers = rows[protocol.DetailedTask](
	optional("inputRequests", inputRequests, func(t *protocol.DetailedTask) *[]protocol.InputRequest { return &t.Requests }).
		when(func(t *protocol.DetailedTask) bool { return t.Status == protocol.TaskInputRequired }),
	optional("result", inlined, func(t *protocol.DetailedTask) *json.RawMessage { return &t.Result }).
		when(func(t *protocol.DetailedTask) bool { return t.Status == protocol.TaskCompleted }),
	optional("error", pointer(object(errorMembers)), func(t *protocol.DetailedTask) **protocol.Error { return &t.Error }).
		when(func(t *protocol.DetailedTask) bool { return t.Status == protocol.TaskFailed }),
)

var errorMembers = rows[protocol.Error](
	required("code", errorCode, func(e *protocol.Error) *int { return &e.Code }),
	required("message", str, func(e *protocol.Error) *string { return &e.Message }),
	optional("data", errorData, func(e *protocol.Error) *any { return &e.Data }),
)

// errorCode is the code of an error. If the error was made on another revision, encoding replaces a
// code that this revision forbids.
var errorCode = kind[int]{
	read: readInt[int],
	write: func(d *Dialect, dst []byte, code *int) ([]byte, error) {
		return strconv.AppendInt(dst, int64(d.number(*code)), 10), nil
	},
}

// errorData is any value. Decoding keeps it encoded.
var errorData = kind[any]{
	read: func(_ *Dialect, to *any, v []byte) *fail {
		*to = json.RawMessage(v)
		return nil
	},
	write: func(_ *Dialect, dst []byte, v *any) ([]byte, error) {
		dst, err := appendAny(dst, *v)
		if err != nil {
			err = &badValue{reason: err}
		}
		return dst, err
	},
	none: func(v *any) bool {
		raw, ok := (*v).(json.RawMessage)
		return *v == nil || ok && len(raw) == 0
	},
}

// inlined is the result of a task. If it was made on another revision, encoding adds its resultType
// (2026-07-28 basic "Result").
var inlined = kind[json.RawMessage]{
	read: rawObject.read,
	write: func(d *Dialect, dst []byte, result *json.RawMessage) ([]byte, error) {
		_, typed := jsontext.Member(*result, "resultType")
		if typed || !resultType.has(d) || jsontext.KindOf(*result) != jsontext.KindObject {
			return rawObject.write(d, dst, result)
		}
		w := d.writer(dst)
		w.open('{')
		w.resultType(nil)
		for key, v := range jsontext.Members(*result) {
			w.keyOf(key.String())
			w.raw(v)
		}
		w.shut('}')
		return w.ended()
	},
}

// appendDetailedTask writes the members of a task and of the data that its status makes available.
func appendDetailedTask(d *Dialect, dst []byte, t *protocol.DetailedTask) ([]byte, error) {
	switch {
	case t.Status == protocol.TaskCompleted && t.Result == nil:
		return dst, fmt.Errorf("completed task %s has no result", t.ID)
	case t.Status == protocol.TaskFailed && t.Error == nil:
		return dst, fmt.Errorf("failed task %s has no error", t.ID)
	}
	dst, err := taskMembers.appendInto(d, dst, &t.Task)
	if err != nil {
		return dst, err
	}
	return detailMembers.appendInto(d, dst, t)
}

// readDetailedTask reads a task. On the extension, it also reads the members that the status
// requires.
func readDetailedTask(d *Dialect, t *protocol.DetailedTask, v []byte) *fail {
	if f := taskMembers.decode(d, &t.Task, v); f != nil || !d.TaskExtension() {
		return f
	}
	if f := detailMembers.decode(d, t, v); f != nil {
		return f
	}
	switch {
	case t.Status == protocol.TaskCompleted && t.Result == nil:
		return refuse("is missing").in("result")
	case t.Status == protocol.TaskFailed && t.Error == nil:
		return refuse("is missing").in("error")
	case t.Status == protocol.TaskInputRequired && t.Requests == nil:
		return refuse("is missing").in("inputRequests")
	}
	return nil
}
