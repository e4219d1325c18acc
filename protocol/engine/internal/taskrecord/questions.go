package taskrecord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Question is the Request of a question in a record. Key is the handler's key. The client sees another
// key, which is used only once in the life of a task, even if the handler asks a different question
// with the same key.
type Question struct {
	Key    string          `json:"key"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Questions returns the questions of a handler as they are recorded, in the dialect of the task.
func Questions(d *dialect.Dialect, requests []protocol.InputRequest) ([]task.Question, error) {
	all := make([]task.Question, len(requests))
	for i, q := range requests {
		params, err := d.AppendParams(nil, q.Params, nil)
		if err != nil {
			return nil, err
		}
		request, err := json.Marshal(Question{Key: q.Key, Method: protocol.MethodOf(q.Params), Params: params})
		if err != nil {
			return nil, err
		}
		all[i] = task.Question{Key: q.Key, Request: request}
	}
	return all, nil
}

// NewKeys gives a new key to each question whose key the task has used before.
func NewKeys(r *task.Record, questions []task.Question) []task.Question {
	out := make([]task.Question, len(questions))
	for i, q := range questions {
		key := q.Key
		for n := 2; r.WasAsked(q.Key); n++ {
			q.Key = key + "@" + strconv.Itoa(n)
		}
		out[i] = q
	}
	return out
}

// ReadQuestion decodes a question of a record, in the dialect of the client to ask.
func ReadQuestion(q task.Question, d *dialect.Dialect) (Question, protocol.Params, error) {
	var a Question
	if err := json.Unmarshal(q.Request, &a); err != nil {
		return a, nil, fmt.Errorf("engine: reading a question of a task: %w", err)
	}
	params, fault := d.DecodeParams(a.Method, a.Params)
	if fault != nil {
		return a, nil, fmt.Errorf("engine: reading a question of a task: %w", fault)
	}
	return a, params, nil
}

// Answer moves answers into the journal and returns the keys of their questions.
func Answer(r *task.Record, journal *rounds.Journal, answers map[string][]byte) (keys []string) {
	for _, q := range r.Questions {
		value, ok := answers[q.Key]
		var a Question
		if !ok || json.Unmarshal(q.Request, &a) != nil {
			continue
		}
		if i := slices.IndexFunc(journal.Open, func(open rounds.Question) bool { return open.Key == a.Key }); i >= 0 {
			journal.Answers = append(journal.Answers, rounds.Answer{Question: journal.Open[i], Value: value})
			journal.Open = slices.Delete(journal.Open, i, i+1)
			keys = append(keys, q.Key)
		}
	}
	return keys
}

// markRefused is the first byte of a journaled answer that was an error. A result is JSON and does
// not begin with it.
const markRefused = '!'

// RefusedAnswer returns the answer to keep in the journal if the client has answered with an error.
func RefusedAnswer(wire *jsonrpc.Error) []byte {
	text, _ := jsontext.Member(jsonrpc.AppendError(nil, jsonrpc.ID{}, wire, true), "error")
	return append([]byte{markRefused}, text...)
}

// Refused returns the error in a journaled answer that RefusedAnswer has made. For other answers it
// returns nil.
func Refused(d *dialect.Dialect, answer []byte) error {
	text, refused := bytes.CutPrefix(answer, []byte{markRefused})
	if !refused {
		return nil
	}
	e := errorOf(text)
	data, _ := e.Data.(json.RawMessage)
	return d.DecodeError(&jsonrpc.Error{Code: e.Code, Message: e.Message, Data: data})
}
