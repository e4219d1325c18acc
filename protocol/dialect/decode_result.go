package dialect

import (
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// DecodeResult decodes the result of a request method, of either side. The method determines the
// type of the result. Acknowledgements are EmptyResult. tasks/result and methods that the revision
// lacks yield CustomResult. A tools/call may yield a CreateTaskResult.
//
// On 2026-07-28 resultType decides first, and an unknown resultType is a fault (basic "Result").
// The fault names the member by its path. Raw JSON in the result aliases the input.
func (d *Dialect) DecodeResult(method string, result []byte) (protocol.Result, *protocol.Fault) {
	if jsontext.KindOf(result) != jsontext.KindObject {
		return nil, refuse("must be an object").fault("result")
	}
	read, f := d.resultReader(method, result)
	if f != nil {
		return nil, f.fault("result")
	}
	r, f := read(d, result)
	if f != nil {
		return nil, f.fault("result")
	}
	return r, nil
}

// resultReader returns the reader of a result of method.
func (d *Dialect) resultReader(method string, result []byte) (resultReader, *fail) {
	m, ok := d.methods[method]
	if !ok {
		return decodeCustomResult, nil
	}
	kind, f := d.resultKind(m, result)
	switch {
	case f != nil:
		return nil, f
	case kind == "task":
		return decodeCreateTask, nil
	case kind == "input_required":
		return decodeInputRequired, nil
	case m.result == nil:
		return decodeCustomResult, nil
	}
	return m.result, nil
}

// resultKind returns "complete", "task" or "input_required". It returns the last two only if the
// method allows such a result.
func (d *Dialect) resultKind(m sent, result []byte) (string, *fail) {
	const complete = "complete"
	if !d.resultType {
		if _, ok := jsontext.Member(result, "task"); ok && d.coreTasks && m.task {
			return "task", nil
		}
		return complete, nil
	}
	v, ok := jsontext.Member(result, "resultType")
	if !ok {
		return complete, nil
	}
	kind, ok := jsontext.String(v)
	switch {
	case !ok:
		return "", refuse("must be a string").in("resultType")
	case kind == complete,
		kind == "task" && m.client && m.task,
		kind == "input_required" && m.rounds:
		return kind, nil
	}
	return "", refuse("is not one that " + m.name + " may have").in("resultType")
}

type resultReader func(d *Dialect, raw []byte) (protocol.Result, *fail)

// resultOf returns a reader of results that uses a table of members.
func resultOf[T any, P interface {
	*T
	protocol.Result
}](members fields[T]) resultReader {
	return func(d *Dialect, raw []byte) (protocol.Result, *fail) {
		t := new(T)
		if f := members.decode(d, t, raw); f != nil {
			return nil, f
		}
		return P(t), nil
	}
}

func decodeCustomResult(_ *Dialect, raw []byte) (protocol.Result, *fail) {
	if f := repeated(raw); f != nil {
		return nil, f
	}
	return &protocol.CustomResult{Raw: raw}, nil
}

var readEmpty = resultOf(emptyMembers)

// decodeDiscover reads the server's identity from _meta (2026-07-28 server/discover).
func decodeDiscover(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.DiscoverResult)
	if f := discoverMembers.decode(d, r, raw); f != nil {
		return nil, f
	}
	meta, _ := jsontext.Member(raw, "_meta")
	if info, ok := jsontext.Member(meta, keyServerInfo); ok {
		if f := implementationMembers.decode(d, &r.Server, info); f != nil {
			return nil, f.in(keyServerInfo).in("_meta")
		}
		delete(r.Meta, keyServerInfo)
	}
	return r, nil
}

// decodeInputRequired refuses a result with neither questions nor state, because the client could
// not continue (2026-07-28 basic/patterns/mrtr).
func decodeInputRequired(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.InputRequiredResult)
	if f := inputRequiredMembers.decode(d, r, raw); f != nil {
		return nil, f
	}
	if len(r.Requests) == 0 && r.State == nil {
		return nil, refuse("must have inputRequests or requestState")
	}
	return r, nil
}

func decodeListen(_ *Dialect, raw []byte) (protocol.Result, *fail) {
	m, ok := jsontext.Member(raw, "_meta")
	if !ok {
		return nil, refuse("is missing").in("_meta")
	}
	id, ok := jsontext.Member(m, keySubscription)
	if !ok {
		return nil, refuse("is missing").in(keySubscription).in("_meta")
	}
	r := new(protocol.ListenResult)
	if f := readID(&r.ID, id); f != nil {
		return nil, f.in(keySubscription).in("_meta")
	}
	return r, nil
}

// decodeCreateTask reads a created task. The task is a member of the result on 2025-11-25, and the
// result itself in the extension (SEP-2663).
func decodeCreateTask(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.CreateTaskResult)
	if f := createTaskMembers.decode(d, r, raw); f != nil {
		return nil, f
	}
	if d.taskExtension {
		if f := readTask(d, &r.Task, raw); f != nil {
			return nil, f
		}
		return r, nil
	}
	if text, ok := r.Meta[keyImmediate].(string); ok {
		r.ImmediateResponse = text
		delete(r.Meta, keyImmediate)
	}
	return r, nil
}

// decodeCancelTask reads the result of tasks/cancel. Only 2025-11-25 returns the task.
func decodeCancelTask(d *Dialect, raw []byte) (protocol.Result, *fail) {
	if d.taskExtension {
		return readEmpty(d, raw)
	}
	return decodeTaskResult(d, raw)
}

func decodeTaskResult(d *Dialect, raw []byte) (protocol.Result, *fail) {
	r := new(protocol.TaskResult)
	if f := readDetailedTask(d, &r.Task, raw); f != nil {
		return nil, f
	}
	if m, ok := jsontext.Member(raw, "_meta"); ok {
		if f := readMeta(&r.Meta, m); f != nil {
			return nil, f.in("_meta")
		}
	}
	return r, nil
}

// readTTLMs reads ttlMs. A negative or absent value means 0 (2026-07-28 server/utilities/caching).
func readTTLMs(c *protocol.CacheHints, v []byte) *fail {
	var ms int64
	if f := readInt(&ms, v); f != nil {
		return f
	}
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	c.TTL = time.Duration(min(max(ms, 0), longest)) * time.Millisecond
	return nil
}

func readScope(c *protocol.CacheHints, v []byte) *fail {
	var scope string
	f := readEnum(&scope, v, "public", "private")
	c.Private = scope != "public"
	return f
}
