package task_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

var (
	created = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	now     = created.Add(time.Minute)
)

func question(key string) task.Question {
	return task.Question{Key: key, Request: []byte(`{"of":"` + key + `"}`)}
}

// inStatus is a valid record that has the status by way of events. Where it waits,
// "a" and "b" are open, and "old" is answered.
func inStatus(t testing.TB, status protocol.TaskStatus) task.Record {
	t.Helper()
	r := task.Record{
		ID: "id", Owner: "owner", Version: 7, Status: protocol.TaskWorking, Message: "on its way",
		Created: created, Updated: created, TTL: time.Hour, PollInterval: time.Second, Call: []byte("call"), Journal: []byte("journal"),
	}
	r = must(t, r, task.Event{Kind: task.Ask, Questions: []task.Question{question("old")}})
	r = must(t, r, task.Event{Kind: task.Answer, Answered: []string{"old"}})
	if events := map[protocol.TaskStatus]task.Event{
		protocol.TaskInputRequired: {Kind: task.Ask, Questions: []task.Question{question("a"), question("b")}},
		protocol.TaskCompleted:     {Kind: task.Complete, Result: []byte(`{}`)},
		protocol.TaskFailed:        {Kind: task.Fail, Error: []byte(`{"code":1}`)},
		protocol.TaskCancelled:     {Kind: task.Cancel},
	}; status != protocol.TaskWorking {
		r = must(t, r, events[status])
	}
	if r.Status != status {
		t.Fatalf("it is %s, want %s", r.Status, status)
	}
	return r
}

// must happens when the record was created.
func must(t testing.TB, r task.Record, e task.Event) task.Record {
	t.Helper()
	next, err := task.Next(r, e, created)
	if err == nil {
		err = next.Validate()
	}
	if err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	return next
}

// TestNext is every status with every event, each in all its forms.
func TestNext(t *testing.T) {
	t.Parallel()
	const (
		w, i       = protocol.TaskWorking, protocol.TaskInputRequired
		ok, ko, no = protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled
	)
	type outcome struct {
		status protocol.TaskStatus
		err    error
	}
	to := func(s protocol.TaskStatus) outcome { return outcome{status: s} }
	not := func(err error) outcome { return outcome{err: err} }
	late := created.Add(time.Hour)
	tests := []struct {
		name    string
		event   task.Event
		at      time.Time
		working outcome
		waiting outcome
	}{
		{"ask", task.Event{Kind: task.Ask, Questions: []task.Question{question("x"), question("y")}}, now, to(i), not(task.ErrStatus)},
		{"ask nothing", task.Event{Kind: task.Ask}, now, not(task.ErrEvent), not(task.ErrStatus)},
		{"ask without a key", task.Event{Kind: task.Ask, Questions: []task.Question{question("")}}, now, not(task.ErrEvent), not(task.ErrStatus)},
		{"ask twice", task.Event{Kind: task.Ask, Questions: []task.Question{question("x"), question("x")}}, now, not(task.ErrEvent), not(task.ErrStatus)},
		{"ask what was answered", task.Event{Kind: task.Ask, Questions: []task.Question{question("x"), question("old")}}, now, not(task.ErrEvent), not(task.ErrStatus)},
		{"answer all", task.Event{Kind: task.Answer, Answered: []string{"b", "a"}}, now, not(task.ErrIgnored), to(w)},
		{"answer one", task.Event{Kind: task.Answer, Answered: []string{"b"}}, now, not(task.ErrIgnored), to(i)},
		{"answer one again and again", task.Event{Kind: task.Answer, Answered: []string{"a", "a", "old", "A", ""}}, now, not(task.ErrIgnored), to(i)},
		{"answer all and more", task.Event{Kind: task.Answer, Answered: []string{"a", "old", "b", "c"}}, now, not(task.ErrIgnored), to(w)},
		{"answer what was answered", task.Event{Kind: task.Answer, Answered: []string{"old"}}, now, not(task.ErrIgnored), not(task.ErrIgnored)},
		{"answer nothing", task.Event{Kind: task.Answer, Journal: []byte("x")}, now, not(task.ErrIgnored), not(task.ErrIgnored)},
		{"progress", task.Event{Kind: task.Progress, Message: "m"}, now, to(w), to(i)},
		{"progress of nothing", task.Event{Kind: task.Progress}, now, to(w), to(i)},
		{"complete", task.Event{Kind: task.Complete, Result: []byte("1")}, now, to(ok), to(ok)},
		{"complete without a result", task.Event{Kind: task.Complete, Error: []byte("1")}, now, not(task.ErrEvent), not(task.ErrEvent)},
		{"fail by error", task.Event{Kind: task.Fail, Error: []byte("1")}, now, to(ko), to(ko)},
		{"fail by result", task.Event{Kind: task.Fail, Result: []byte("1")}, now, to(ko), to(ko)},
		{"fail by both", task.Event{Kind: task.Fail, Result: []byte("1"), Error: []byte("1")}, now, not(task.ErrEvent), not(task.ErrEvent)},
		{"fail by neither", task.Event{Kind: task.Fail}, now, not(task.ErrEvent), not(task.ErrEvent)},
		{"cancel", task.Event{Kind: task.Cancel, Result: []byte("1"), Error: []byte("1")}, now, to(no), to(no)},
		{"expire", task.Event{Kind: task.Expire}, late, to(ko), to(ko)},
		{"expire with an error", task.Event{Kind: task.Expire, Error: []byte("1"), Result: []byte("2")}, late, to(ko), to(ko)},
		{"expire early", task.Event{Kind: task.Expire}, late.Add(-1), not(task.ErrIgnored), not(task.ErrIgnored)},
		{"expire before the beginning", task.Event{Kind: task.Expire}, created.Add(-time.Hour), not(task.ErrIgnored), not(task.ErrIgnored)},
		{"resume", task.Event{Kind: task.Resume}, now, to(w), not(task.ErrStatus)},
		{"nothing", task.Event{}, now, not(task.ErrEvent), not(task.ErrEvent)},
		{"unknown", task.Event{Kind: task.Resume + 1}, now, not(task.ErrEvent), not(task.ErrEvent)},
	}
	for _, tt := range tests {
		for status, want := range map[protocol.TaskStatus]outcome{
			w: tt.working, i: tt.waiting, ok: not(task.ErrTerminal), ko: not(task.ErrTerminal), no: not(task.ErrTerminal),
			"": not(task.ErrEvent), "done": not(task.ErrEvent),
		} {
			t.Run(fmt.Sprintf("%s/%s", tt.name, status), func(t *testing.T) {
				t.Parallel()
				r := task.Record{Status: status}
				if status != "" && status != "done" {
					r = inStatus(t, status)
				}
				before := r.Clone()
				next, err := task.Next(r, tt.event, tt.at)
				if !reflect.DeepEqual(r, before) {
					t.Errorf("it changed what it was given: %+v", r)
				}
				if want.err != nil {
					onlyIs(t, err, want.err)
					if !reflect.DeepEqual(next, before) {
						t.Errorf("an error, and another record: %+v", next)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				checkNext(t, before, next, tt.event, want.status)
			})
		}
	}
}

// onlyIs: a caller may switch over the sentinels in any order.
func onlyIs(t *testing.T, err, want error) {
	t.Helper()
	for _, sentinel := range []error{task.ErrTerminal, task.ErrIgnored, task.ErrStatus, task.ErrEvent, task.ErrLimit} {
		if is := errors.Is(err, sentinel); is != (sentinel == want) { //nolint:errorlint // which sentinel it is, not what an error is
			t.Errorf("%v is %v: %v; want %v only", err, sentinel, is, want)
		}
	}
}

// checkNext is what holds after every event that is accepted.
func checkNext(t *testing.T, r, next task.Record, e task.Event, status protocol.TaskStatus) {
	t.Helper()
	if err := next.Validate(); err != nil {
		t.Error(err)
	}
	if next.Status != status {
		t.Errorf("it is %s, want %s", next.Status, status)
	}
	if next.Updated.Before(r.Updated) {
		t.Errorf("updated at %v, before that at %v", next.Updated, r.Updated)
	}
	same := func(x task.Record) []any {
		return []any{x.ID, x.Owner, x.Version, x.Created, x.TTL, x.PollInterval, string(x.Call)}
	}
	if !slices.Equal(same(next), same(r)) {
		t.Errorf("%v, it was %v", same(next), same(r))
	}
	runs := 0
	if e.Kind == task.Resume {
		runs = 1
	}
	if next.Runs != r.Runs+runs {
		t.Errorf("%d runs, before that %d", next.Runs, r.Runs)
	}
	if next.Terminal() {
		return
	}
	for _, q := range r.Questions {
		if !next.WasAsked(q.Key) {
			t.Errorf("it does not remember to have asked %q", q.Key)
		}
	}
}

func TestNextKeeps(t *testing.T) {
	t.Parallel()
	waiting := inStatus(t, protocol.TaskInputRequired)
	next := must(t, waiting, task.Event{Kind: task.Answer, Answered: []string{"a", "x"}, Journal: []byte("a said yes")})
	if want := []task.Question{question("b")}; !reflect.DeepEqual(next.Questions, want) || string(next.Journal) != "a said yes" {
		t.Errorf("%+v", next)
	}
	if !waiting.WasAsked("old") || waiting.WasAsked("x") {
		t.Error("WasAsked")
	}
	if len(waiting.Questions) != 2 || waiting.Questions[0].Key != "a" {
		t.Errorf("the record before has %+v", waiting.Questions)
	}
	next = must(t, next, task.Event{Kind: task.Answer, Answered: []string{"b"}})
	if next.Questions != nil || string(next.Journal) != "a said yes" || next.Message != "on its way" {
		t.Errorf("%+v", next)
	}
	next = must(t, next, task.Event{Kind: task.Progress, Message: "half"})
	next = must(t, next, task.Event{Kind: task.Progress, Journal: []byte{}})
	if next.Message != "half" || len(next.Journal) != 0 {
		t.Errorf("%+v", next)
	}
	next = must(t, next, task.Event{Kind: task.Resume})
	next = must(t, next, task.Event{Kind: task.Complete, Result: []byte("{}"), Journal: []byte("x")})
	if next.Message != "" || next.Journal != nil || next.Asked != nil || string(next.Result) != "{}" || next.Runs != 1 || string(next.Call) != "call" {
		t.Errorf("%+v", next)
	}
}

// TestNextIsPure: what follows from the same record twice does not meet, nor does
// a caller's slice that is used again.
func TestNextIsPure(t *testing.T) {
	t.Parallel()
	r := inStatus(t, protocol.TaskWorking)
	r.Asked = slices.Grow(r.Asked, 10)
	questions := []task.Question{question("x")}
	x := must(t, r, task.Event{Kind: task.Ask, Questions: questions})
	questions[0] = question("y")
	y := must(t, r, task.Event{Kind: task.Ask, Questions: questions})
	if !x.WasAsked("x") || !isOpen(x.Questions, "x") || isOpen(x.Questions, "y") || y.WasAsked("x") || !isOpen(y.Questions, "y") {
		t.Errorf("%+v\n%+v", x, y)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	r := inStatus(t, protocol.TaskWorking)
	next, err := task.Next(r, task.Event{Kind: task.Expire}, r.Expires())
	if err != nil || !strings.Contains(string(next.Error), `"code":-32603`) || next.Message == "" {
		t.Errorf("%+v, %v", next, err)
	}
	next, err = task.Next(r, task.Event{Kind: task.Expire, Error: []byte("mine"), Message: "over"}, r.Expires())
	if err != nil || string(next.Error) != "mine" || next.Message != "over" {
		t.Errorf("%+v, %v", next, err)
	}
	r.TTL = 0
	if _, err := task.Next(r, task.Event{Kind: task.Expire}, created.AddDate(200, 0, 0)); !errors.Is(err, task.ErrIgnored) {
		t.Errorf("without a TTL: %v", err)
	}
}

// TestClockJumps: lastUpdatedAt is what the wall clock shows, and never goes back.
// The readings of the monotonic clock, which goes on meanwhile, must not count.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	r := inStatus(t, protocol.TaskWorking)
	clock := time.Now() // with a monotonic reading
	for _, tt := range []struct {
		at   time.Time
		want time.Time
	}{
		{now, now},
		{created.Add(-time.Hour), now},
		{time.Time{}, now},
		{now.In(time.FixedZone("", 3600)), now},
		{clock, clock},
		{clock.Add(-time.Minute), clock},
		{clock.Add(time.Minute), clock.Add(time.Minute)},
	} {
		next, err := task.Next(r, task.Event{Kind: task.Progress}, tt.at)
		if err != nil || next.Updated != tt.want.Round(0).UTC() {
			t.Errorf("at %v: %v, %v; want %v", tt.at, next.Updated, err, tt.want)
		}
		r = next
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	l := task.Limits{Result: 4, Error: 3, Journal: 2, Message: 5, Question: 3, Questions: 4}
	r := inStatus(t, protocol.TaskWorking) // one was asked
	asks := func(keys ...string) task.Event {
		e := task.Event{Kind: task.Ask}
		for _, key := range keys {
			e.Questions = append(e.Questions, task.Question{Key: key, Request: []byte("12")})
		}
		return e
	}
	for name, tt := range map[string]struct{ fits, over task.Event }{
		"result":       {task.Event{Kind: task.Complete, Result: []byte("1234")}, task.Event{Kind: task.Complete, Result: []byte("12345")}},
		"error result": {task.Event{Kind: task.Fail, Result: []byte("1234")}, task.Event{Kind: task.Fail, Result: []byte("12345")}},
		"error":        {task.Event{Kind: task.Fail, Error: []byte("123")}, task.Event{Kind: task.Fail, Error: []byte("1234")}},
		"journal":      {task.Event{Kind: task.Progress, Journal: []byte("12")}, task.Event{Kind: task.Progress, Journal: []byte("123")}},
		"question":     {asks("a"), asks("ab")},
		"questions":    {asks("a", "b", "c"), asks("a", "b", "c", "d")},
		"ended":        {task.Event{Kind: task.Cancel, Journal: []byte("123")}, asks("ab")},
	} {
		if next, err := l.Next(r, tt.fits, now); err != nil || next.Validate() != nil {
			t.Errorf("%s: %v", name, err)
		}
		next, err := l.Next(r, tt.over, now)
		onlyIs(t, err, task.ErrLimit)
		if !reflect.DeepEqual(next, r) {
			t.Errorf("%s: %+v", name, next)
		}
	}
	for message, want := range map[string]string{
		"": "on its way", "12345": "12345", "123456": "12345", "1234ä": "1234", "123ä5": "123ä", "1鏡鏡": "1鏡", "12\xff34": "1234", "\xf0\x9f\x98\x80\xf0": "😀",
	} {
		next, err := l.Next(r, task.Event{Kind: task.Progress, Message: message}, now)
		if err != nil || next.Message != want || !utf8.ValidString(next.Message) {
			t.Errorf("%q becomes %q, %v", message, next.Message, err)
		}
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	r := inStatus(t, protocol.TaskWorking)
	mib := bytes.Repeat([]byte{'1'}, 1<<20)
	four := bytes.Repeat(mib, 4)
	if _, err := task.Next(r, task.Event{Kind: task.Complete, Result: four}, now); err != nil {
		t.Error(err)
	}
	_, err := task.Next(r, task.Event{Kind: task.Complete, Result: append(slices.Clip(four), '1')}, now)
	onlyIs(t, err, task.ErrLimit)
	_, err = task.Next(r, task.Event{Kind: task.Ask, Questions: []task.Question{{Key: "k", Request: mib}}}, now)
	onlyIs(t, err, task.ErrLimit)
	asked := 1 // "old"
	for ; ; asked++ {
		next, err := task.Next(r, task.Event{Kind: task.Ask, Questions: []task.Question{{Key: fmt.Sprint(asked)}}}, now)
		if err != nil {
			onlyIs(t, err, task.ErrLimit)
			break
		}
		r = must(t, next, task.Event{Kind: task.Answer, Answered: []string{fmt.Sprint(asked)}})
	}
	if asked != 1024 {
		t.Errorf("%d questions in a life", asked)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status protocol.TaskStatus
		spoil  func(r *task.Record)
	}{
		"no id":                   {protocol.TaskWorking, func(r *task.Record) { r.ID = "" }},
		"no creation":             {protocol.TaskWorking, func(r *task.Record) { r.Created = time.Time{} }},
		"updated before":          {protocol.TaskWorking, func(r *task.Record) { r.Updated = r.Created.Add(-1) }},
		"TTL":                     {protocol.TaskWorking, func(r *task.Record) { r.TTL = -1 }},
		"poll interval":           {protocol.TaskWorking, func(r *task.Record) { r.PollInterval = -1 }},
		"runs":                    {protocol.TaskWorking, func(r *task.Record) { r.Runs = -1 }},
		"message":                 {protocol.TaskWorking, func(r *task.Record) { r.Message = "\xff" }},
		"no status":               {protocol.TaskWorking, func(r *task.Record) { r.Status = "" }},
		"another case":            {protocol.TaskWorking, func(r *task.Record) { r.Status = "Working" }},
		"working with questions":  {protocol.TaskInputRequired, func(r *task.Record) { r.Status = protocol.TaskWorking }},
		"waiting for nothing":     {protocol.TaskInputRequired, func(r *task.Record) { r.Questions = nil }},
		"question without a key":  {protocol.TaskInputRequired, func(r *task.Record) { r.Questions[0].Key = "" }},
		"question that is new":    {protocol.TaskInputRequired, func(r *task.Record) { r.Questions[0].Key = "x" }},
		"question twice":          {protocol.TaskInputRequired, func(r *task.Record) { r.Questions[0].Key = "b" }},
		"key twice":               {protocol.TaskWorking, func(r *task.Record) { r.Asked = append(r.Asked, r.Asked[0]) }},
		"working with a result":   {protocol.TaskWorking, func(r *task.Record) { r.Result = []byte("1") }},
		"waiting with an error":   {protocol.TaskInputRequired, func(r *task.Record) { r.Error = []byte("1") }},
		"completed, no result":    {protocol.TaskCompleted, func(r *task.Record) { r.Result = nil }},
		"completed with an error": {protocol.TaskCompleted, func(r *task.Record) { r.Error = []byte("1") }},
		"failed without":          {protocol.TaskFailed, func(r *task.Record) { r.Error = nil }},
		"failed with both":        {protocol.TaskFailed, func(r *task.Record) { r.Result = []byte("1") }},
		"cancelled with a result": {protocol.TaskCancelled, func(r *task.Record) { r.Result = []byte("1") }},
		"over, with questions":    {protocol.TaskFailed, func(r *task.Record) { r.Questions = []task.Question{question("a")} }},
		"over, with a journal":    {protocol.TaskCancelled, func(r *task.Record) { r.Journal = []byte("1") }},
		"over, with keys":         {protocol.TaskCompleted, func(r *task.Record) { r.Asked = []uint64{1} }},
	} {
		r := inStatus(t, tt.status)
		if err := r.Validate(); err != nil {
			t.Errorf("%s, before: %v", name, err)
		}
		tt.spoil(&r)
		if err := r.Validate(); err == nil {
			t.Errorf("%s: it is valid", name)
		}
	}
	if err := (&task.Record{}).Validate(); err == nil {
		t.Error("an empty record is valid")
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	r := inStatus(t, protocol.TaskInputRequired)
	c := r.Clone()
	if !reflect.DeepEqual(r, c) {
		t.Errorf("%+v\n%+v", r, c)
	}
	c.Call[0], c.Journal[0], c.Questions[0].Request[0], c.Asked[0] = '#', '#', '#', 0
	c.Questions[1].Key = "#"
	if want := inStatus(t, protocol.TaskInputRequired); !reflect.DeepEqual(r, want) {
		t.Errorf("changed with its clone: %+v", r)
	}
}
