package task_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// graph is both specifications' (2025-11-25 basic/utilities/tasks, "Task Status
// Lifecycle"; the extension has the same).
var graph = map[protocol.TaskStatus]map[protocol.TaskStatus]bool{
	protocol.TaskWorking: {
		protocol.TaskWorking: true, protocol.TaskInputRequired: true,
		protocol.TaskCompleted: true, protocol.TaskFailed: true, protocol.TaskCancelled: true,
	},
	protocol.TaskInputRequired: {
		protocol.TaskWorking: true, protocol.TaskInputRequired: true,
		protocol.TaskCompleted: true, protocol.TaskFailed: true, protocol.TaskCancelled: true,
	},
}

// TestAnyLife: whatever happens to a task in whatever order while the clock jumps,
// it stays valid, goes along the graph, asks with no key twice and ends once.
func TestAnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := task.Record{ID: "id", Status: protocol.TaskWorking, Created: created, Updated: created, TTL: time.Hour}
		limits := task.Limits{Result: 3, Error: 3, Journal: 3, Message: 3, Question: 4, Questions: 5}
		opened, answered := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(rt, "events") {
			e, at := anyEvent(rt), created.Add(time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(rt, "at")))
			before := r.Clone()
			next, err := limits.Next(r, e, at)
			if !reflect.DeepEqual(r, before) {
				rt.Fatalf("%+v changed what it was given", e)
			}
			if err != nil {
				if !reflect.DeepEqual(next, before) {
					rt.Fatalf("%v, and the record changed: %+v", err, next)
				}
				continue
			}
			life(rt, &before, &next, opened, answered)
			r = next
		}
	})
}

func life(rt *rapid.T, r, next *task.Record, opened, answered map[string]bool) {
	if err := next.Validate(); err != nil {
		rt.Fatal(err)
	}
	if !graph[r.Status][next.Status] {
		rt.Fatalf("from %s to %s", r.Status, next.Status)
	}
	if next.Updated.Before(r.Updated) || next.Version != r.Version || next.Runs < r.Runs {
		rt.Fatalf("%+v\nafter\n%+v", next, r)
	}
	if len(next.Result) > 3 || len(next.Journal) > 3 || len(next.Message) > 3 && next.Message != "The" || len(next.Asked) > 5 {
		rt.Fatalf("over the limits: %+v", next)
	}
	for _, q := range r.Questions {
		if !isOpen(next.Questions, q.Key) {
			answered[q.Key] = true
		}
	}
	for _, q := range next.Questions {
		if answered[q.Key] || !isOpen(r.Questions, q.Key) && opened[q.Key] {
			rt.Fatalf("%q is asked again", q.Key)
		}
		opened[q.Key] = true
	}
}

// isOpen reports whether a question with this key is among these.
func isOpen(questions []task.Question, key string) bool {
	return slices.ContainsFunc(questions, func(q task.Question) bool { return q.Key == key })
}

func anyEvent(rt *rapid.T) task.Event {
	key := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "long."})
	text := rapid.SampledFrom([]string{"", "1", "123", "1234"})
	// The ends are rare, so that lives are long.
	kinds := []task.EventKind{0, task.Complete, task.Fail, task.Cancel, task.Expire, task.Resume + 1}
	for range 4 {
		kinds = append(kinds, task.Ask, task.Answer, task.Answer, task.Progress, task.Resume)
	}
	e := task.Event{
		Kind:     rapid.SampledFrom(kinds).Draw(rt, "kind"),
		Answered: rapid.SliceOfN(key, 0, 4).Draw(rt, "answered"),
		Message:  text.Draw(rt, "message"),
		Journal:  []byte(text.Draw(rt, "journal")),
		Result:   []byte(text.Draw(rt, "result")),
		Error:    []byte(text.Draw(rt, "error")),
	}
	for i, k := range rapid.SliceOfN(key, 0, 2).Draw(rt, "questions") {
		e.Questions = append(e.Questions, task.Question{Key: k, Request: fmt.Append(nil, i)})
	}
	return e
}
