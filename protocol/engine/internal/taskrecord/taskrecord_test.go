package taskrecord_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestOutcome: the answer to the original call names its task, and keeps the other members of _meta.
func TestOutcome(t *testing.T) {
	t.Parallel()
	d := dialect.Handshake("2025-11-25")
	for result, want := range map[string]string{
		`{"content":[]}`:                 `{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t\"1"}}}`,
		`{"_meta":{"a":1},"content":[]}`: `{"content":[],"_meta":{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"t\"1"}}}`,
		`{"_meta":null}`:                 `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t\"1"}}}`,
		`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"other"}}}`: `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t\"1"}}}`,
	} {
		got, err := taskrecord.Outcome(&task.Record{ID: `t"1`, Result: []byte(result)}, d)
		if custom, ok := got.(*protocol.CustomResult); err != nil || !ok || string(custom.Raw) != want {
			t.Errorf("%s: got %v and %v, want %s", result, got, err, want)
		}
	}
	var failed *protocol.Error
	if _, err := taskrecord.Outcome(&task.Record{Error: []byte(`{"code":7,"message":"m","data":[1]}`)}, d); !errors.As(err, &failed) || failed.Code != 7 || failed.Message != "m" {
		t.Errorf("a failed task: %v", err)
	}
	if _, err := taskrecord.Outcome(&task.Record{}, d); err == nil {
		t.Error("a cancelled task has a result")
	}
}

// TestResultOfAnotherRevision: a client gets the result in the form of its own revision, whatever
// revision the task was created on.
func TestResultOfAnotherRevision(t *testing.T) {
	t.Parallel()
	handshake, extension := dialect.Handshake("2025-11-25"), dialect.All()[len(dialect.All())-1]
	record := func(d *dialect.Dialect, result string) *task.Record {
		return &task.Record{ID: "1", Call: []byte(`{"revision":"` + d.String() + `","method":"tools/call"}`), Result: []byte(result)}
	}
	const list = `{"resultType":"complete","content":[],"structuredContent":[1,2]}`
	got, err := taskrecord.Outcome(record(extension, list), handshake)
	want := `{"content":[],"structuredContent":{"result":[1,2]},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}`
	if custom, ok := got.(*protocol.CustomResult); err != nil || !ok || string(custom.Raw) != want {
		t.Errorf("got %v and %v, want %s", got, err, want)
	}
	for _, row := range []struct {
		created      *dialect.Dialect
		result, want string
	}{
		{extension, list, list},
		{handshake, `{"content":[]}`, `{"resultType":"complete","content":[]}`},
		{handshake, `{"content":7}`, `{"content":7}`},
	} {
		if got, err := taskrecord.Detailed(record(row.created, row.result), extension); err != nil || string(got.Result) != row.want {
			t.Errorf("got %s and %v, want %s", got.Result, err, row.want)
		}
	}
}

// TestQuestions: a question is read as it was recorded, its key is used only once in the life of a
// task, and its answer is stored under the handler's key.
func TestQuestions(t *testing.T) {
	t.Parallel()
	d := dialect.Handshake("2025-11-25")
	filed, err := taskrecord.Questions(d, []protocol.InputRequest{{Key: "name", Params: &protocol.ElicitParams{Message: "Name?", URL: "https://a.b", ID: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &task.Record{Status: protocol.TaskWorking, Created: time.Unix(1, 0)}
	ask := func() {
		t.Helper()
		next, err := task.Next(*r, task.Event{Kind: task.Ask, Questions: taskrecord.NewKeys(r, filed)}, time.Unix(2, 0))
		if err != nil {
			t.Fatal(err)
		}
		r = &next
	}
	ask()
	journal := &rounds.Journal{Open: []rounds.Question{{Key: "other"}, {Key: "name"}}}
	keys := taskrecord.Answer(r, journal, map[string][]byte{"name": []byte(`1`), "unknown": []byte(`2`)})
	if !slices.Equal(keys, []string{"name"}) || len(journal.Open) != 1 || len(journal.Answers) != 1 || journal.Answers[0].Key != "name" {
		t.Errorf("answered %q, journal %+v", keys, journal)
	}
	next, err := task.Next(*r, task.Event{Kind: task.Answer, Answered: keys}, time.Unix(3, 0))
	if err != nil {
		t.Fatal(err)
	}
	r = &next
	ask()
	if r.Questions[0].Key != "name@2" {
		t.Errorf("the second question has the key %q, want name@2", r.Questions[0].Key)
	}
	q, params, err := taskrecord.ReadQuestion(r.Questions[0], d)
	if p, ok := params.(*protocol.ElicitParams); err != nil || !ok || q.Key != "name" || p.Message != "Name?" {
		t.Errorf("read %+v, %v, %v", q, params, err)
	}
}

// TestRefusedAnswers: the handler gets the client's error as if it had been asked directly.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	d := dialect.Handshake("2025-11-25")
	kept := taskrecord.RefusedAnswer(&jsonrpc.Error{Code: -1, Message: "no", Data: []byte(`{"why":1}`)})
	want := d.DecodeError(&jsonrpc.Error{Code: -1, Message: "no", Data: []byte(`{"why":1}`)})
	if got := taskrecord.Refused(d, kept); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := taskrecord.Refused(d, []byte(`{"action":"accept"}`)); err != nil {
		t.Errorf("an answer was read as an error: %v", err)
	}
}
