package record

import (
	"bytes"
	"encoding/binary"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// taskFormat is the number of the format that AppendTask writes. A new field requires a higher
// number, and a ParseTask that reads both formats.
const taskFormat = 1

// AppendTask appends the record to dst. The result shares no memory with r.
func AppendTask(dst []byte, r *task.Record) []byte {
	dst = append(dst, taskFormat)
	dst = appendBytes(dst, r.ID)
	dst = appendBytes(dst, r.Owner)
	dst = binary.AppendUvarint(dst, r.Version)
	dst = appendBytes(dst, r.Status)
	dst = appendBytes(dst, r.Message)
	dst = appendTime(dst, r.Created)
	dst = appendTime(dst, r.Updated)
	dst = binary.AppendVarint(dst, int64(r.TTL))
	dst = binary.AppendVarint(dst, int64(r.PollInterval))
	dst = appendBytes(dst, r.Call)
	dst = appendBytes(dst, r.Journal)
	dst = binary.AppendVarint(dst, int64(r.Runs))
	dst = binary.AppendUvarint(dst, uint64(len(r.Questions)))
	for i := range r.Questions {
		dst = appendBytes(dst, r.Questions[i].Key)
		dst = appendBytes(dst, r.Questions[i].Request)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Asked)))
	for _, mark := range r.Asked {
		dst = binary.BigEndian.AppendUint64(dst, mark)
	}
	dst = appendBytes(dst, r.Result)
	return appendBytes(dst, r.Error)
}

// ParseTask returns the record that AppendTask wrote. The error wraps [ErrNewer] or [ErrMalformed].
func ParseTask(data []byte) (task.Record, error) {
	p := parser{rest: data}
	p.format("task", taskFormat)
	r := task.Record{
		ID:           string(p.bytes()),
		Owner:        string(p.bytes()),
		Version:      p.uvarint(),
		Status:       protocol.TaskStatus(p.bytes()),
		Message:      string(p.bytes()),
		Created:      p.time(),
		Updated:      p.time(),
		TTL:          p.duration(),
		PollInterval: p.duration(),
		Call:         p.clone(),
		Journal:      p.clone(),
		Runs:         p.int(),
		Questions:    p.questions(),
		Asked:        p.marks(),
		Result:       p.clone(),
		Error:        p.clone(),
	}
	if err := p.end("task"); err != nil {
		return task.Record{}, err
	}
	return r, nil
}

// questions reads the questions. Each takes at least two bytes.
func (p *parser) questions() []task.Question {
	n := p.count(2)
	if n == 0 {
		return nil
	}
	out := make([]task.Question, n)
	for i := range out {
		out[i] = task.Question{Key: string(p.bytes()), Request: p.clone()}
	}
	return out
}

func (p *parser) marks() []uint64 {
	n := p.count(8)
	if n == 0 {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.BigEndian.Uint64(p.take(8))
	}
	return out
}

// clone returns a copy of the next byte slice, or nil if it is empty.
func (p *parser) clone() []byte {
	b := p.bytes()
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
