package taskrecord

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TaskOf returns the part of a task that is the same in both designs of tasks.
func TaskOf(r *task.Record) protocol.Task {
	t := protocol.Task{
		ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created, Updated: r.Updated,
		PollInterval: r.PollInterval.Milliseconds(),
	}
	if r.TTL > 0 {
		t.TTL = new(max(r.TTL.Milliseconds(), 1))
	}
	return t
}

// Detailed returns a task in the wire form of the extension. A result with isError fails a task of
// 2025-11-25, but completes one in the extension (SEP-2663).
func Detailed(r *task.Record, d *dialect.Dialect) (protocol.DetailedTask, error) {
	t := protocol.DetailedTask{Task: TaskOf(r)}
	switch {
	case len(r.Result) > 0:
		t.Status, t.Result = protocol.TaskCompleted, translated(r, d)
	case len(r.Error) > 0:
		t.Error = errorOf(r.Error)
	}
	for _, q := range r.Questions {
		_, params, err := ReadQuestion(q, d)
		if err != nil {
			return t, err
		}
		t.Requests = append(t.Requests, protocol.InputRequest{Key: q.Key, Params: params})
	}
	return t, nil
}

// errorOf decodes the error of a record.
func errorOf(text []byte) *protocol.Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return &protocol.Error{Code: protocol.CodeInternal, Message: "the error of the task is unreadable"}
	}
	out := &protocol.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		out.Data = e.Data
	}
	return out
}

// Outcome returns the answer to the original call in the wire form of d, with a reference to the task
// (2025-11-25 basic/utilities/tasks "Result Retrieval"). If the task was cancelled, Outcome returns
// an error.
func Outcome(r *task.Record, d *dialect.Dialect) (protocol.Result, error) {
	switch {
	case len(r.Result) > 0:
		return &protocol.CustomResult{Raw: related(r.ID, translated(r, d))}, nil
	case len(r.Error) > 0:
		return nil, errorOf(r.Error)
	}
	return nil, &protocol.Error{Code: protocol.CodeInternal, Message: "the task was cancelled"}
}

// translated returns the result in the wire form of d. It decodes and encodes a result only if the
// task was created on another revision. A result that d cannot express is returned as it was recorded.
// The record does not have CallToolResult.Wrapped: a wrapped value stays wrapped, and an object is
// not wrapped.
func translated(r *task.Record, d *dialect.Dialect) []byte {
	text := func(name string) string {
		value, _ := jsontext.Member(r.Call, name)
		s, _ := jsontext.String(value)
		return s
	}
	created := (&Call{Revision: text("revision")}).Dialect()
	if created == nil || created == d {
		return r.Result
	}
	result, fault := created.DecodeResult(text("method"), r.Result)
	if fault != nil {
		return r.Result
	}
	out, err := d.AppendResult(nil, result, nil)
	if err != nil {
		return r.Result
	}
	return out
}

// keyRelated is the member of _meta with the id of the task that a message belongs to.
const keyRelated = "io.modelcontextprotocol/related-task"

// related returns the result with the task's id in its _meta.
func related(id string, result []byte) json.RawMessage {
	out, meta := []byte{'{'}, []byte(nil)
	for key, v := range jsontext.Members(result) {
		if key.Is("_meta") {
			meta = v
			continue
		}
		out = append(append(append(append(out, key.Raw()...), ':'), v...), ',')
	}
	out = append(out, `"_meta":{`...)
	if jsontext.KindOf(meta) == jsontext.KindObject {
		for key, v := range jsontext.Members(meta) {
			if !key.Is(keyRelated) {
				out = append(append(append(append(out, key.Raw()...), ':'), v...), ',')
			}
		}
	}
	out = append(jsontext.Quote(out, keyRelated), `:{"taskId":`...)
	return append(jsontext.Quote(out, id), `}}}`...)
}
