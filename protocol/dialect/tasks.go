package dialect

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// taskMembers writes the members of a task. The two designs have different names for the durations
// (2025-11-25 basic/utilities/tasks; SEP-2663). In both, an unlimited TTL is null, not absent.
func (w *writer) taskMembers(t *protocol.Task) {
	ttl, poll := "ttl", "pollInterval"
	if w.d.taskExtension {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	w.str("taskId", t.ID)
	w.str("status", string(t.Status))
	w.text("statusMessage", t.Message)
	w.taskTime("createdAt", t)
	w.taskTime("lastUpdatedAt", t)
	if t.TTL != nil {
		w.integer(ttl, *t.TTL)
	} else {
		w.key(ttl)
		w.b = append(w.b, "null"...)
	}
	w.count(poll, t.PollInterval)
}

// taskTime writes one of the two required times.
func (w *writer) taskTime(name string, t *protocol.Task) {
	at := t.Created
	if name == "lastUpdatedAt" && !t.Updated.IsZero() {
		at = t.Updated
	}
	if at.IsZero() {
		w.fail("task %s has no time of creation", t.ID)
		return
	}
	w.when(name, at)
}

// detailedTask writes a task and the data that its status makes available (SEP-2663).
func (w *writer) detailedTask(t *protocol.DetailedTask) {
	w.taskMembers(&t.Task)
	switch t.Status {
	case protocol.TaskInputRequired:
		w.inputRequests(t.Requests)
	case protocol.TaskCompleted:
		if t.Result == nil {
			w.fail("completed task %s has no result", t.ID)
		}
		w.inlined(t.Result)
	case protocol.TaskFailed:
		if t.Error == nil {
			w.fail("failed task %s has no error", t.ID)
			return
		}
		w.taskError(t.Error)
	case protocol.TaskWorking, protocol.TaskCancelled:
	}
}

// inlined writes the result of a task. If it was made on another revision, inlined adds its
// resultType (2026-07-28 basic "Result").
func (w *writer) inlined(result []byte) {
	if _, ok := jsontext.Member(result, "resultType"); ok || !w.d.resultType || jsontext.KindOf(result) != jsontext.KindObject {
		w.objectMember("result", result)
		return
	}
	w.key("result")
	w.open('{')
	w.resultType(nil)
	for key, v := range jsontext.Members(result) {
		w.keyOf(key.String())
		w.raw(v)
	}
	w.shut('}')
}

func (w *writer) taskError(e *protocol.Error) {
	w.key("error")
	w.open('{')
	w.integer("code", int64(e.Code))
	w.str("message", e.Message)
	if e.Data != nil {
		w.any("data", e.Data)
	}
	w.shut('}')
}

func readStatus(_ *Dialect, t *protocol.Task, v []byte) *fail {
	return readEnum(&t.Status, v, protocol.TaskWorking, protocol.TaskInputRequired,
		protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled)
}

// readTTL reads a TTL. Null means unlimited.
func readTTL(_ *Dialect, t *protocol.Task, v []byte) *fail {
	if jsontext.KindOf(v) == jsontext.KindNull {
		return nil
	}
	t.TTL = new(int64)
	return readInt(t.TTL, v)
}

func taskFields(ttl, poll string) fields[protocol.Task] {
	return fields[protocol.Task]{
		{"taskId", required, func(_ *Dialect, t *protocol.Task, v []byte) *fail { return readString(&t.ID, v) }},
		{"status", required, readStatus},
		{"statusMessage", optional, func(_ *Dialect, t *protocol.Task, v []byte) *fail { return readString(&t.Message, v) }},
		{"createdAt", required, func(_ *Dialect, t *protocol.Task, v []byte) *fail { return readTime(&t.Created, v) }},
		{"lastUpdatedAt", required, func(_ *Dialect, t *protocol.Task, v []byte) *fail { return readTime(&t.Updated, v) }},
		{ttl, required, readTTL},
		{poll, optional, func(_ *Dialect, t *protocol.Task, v []byte) *fail { return readInt(&t.PollInterval, v) }},
	}
}

var (
	coreTaskMembers      = taskFields("ttl", "pollInterval")
	extensionTaskMembers = taskFields("ttlMs", "pollIntervalMs")
)

func readTask(d *Dialect, t *protocol.Task, v []byte) *fail {
	if d.taskExtension {
		return extensionTaskMembers.decode(d, t, v)
	}
	return coreTaskMembers.decode(d, t, v)
}

var detailMembers = fields[protocol.DetailedTask]{
	{"result", optional, func(_ *Dialect, t *protocol.DetailedTask, v []byte) *fail { return readObject(&t.Result, v) }},
	{"error", optional, func(d *Dialect, t *protocol.DetailedTask, v []byte) *fail {
		t.Error = new(protocol.Error)
		return errorMembers.decode(d, t.Error, v)
	}},
	{"inputRequests", optional, func(d *Dialect, t *protocol.DetailedTask, v []byte) *fail {
		return readInputRequests(d, &t.Requests, v)
	}},
}

var errorMembers = fields[protocol.Error]{
	{"code", required, func(_ *Dialect, e *protocol.Error, v []byte) *fail { return readInt(&e.Code, v) }},
	{"message", required, func(_ *Dialect, e *protocol.Error, v []byte) *fail { return readString(&e.Message, v) }},
	{"data", optional, func(_ *Dialect, e *protocol.Error, v []byte) *fail {
		e.Data = json.RawMessage(v)
		return nil
	}},
}

// readDetailedTask reads a task. On the extension, it also reads the members that the status
// requires.
func readDetailedTask(d *Dialect, t *protocol.DetailedTask, v []byte) *fail {
	if f := readTask(d, &t.Task, v); f != nil || !d.taskExtension {
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
