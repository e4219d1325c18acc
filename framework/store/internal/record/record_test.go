package record_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/internal/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

var moment = time.Date(2026, 8, 1, 12, 0, 0, 123456789, time.UTC)

// tasks has each field empty, full and at its ends.
func tasks() map[string]task.Record {
	return map[string]task.Record{
		"empty": {},
		"full": {
			ID: "id", Owner: "owner", Version: 7, Status: protocol.TaskInputRequired, Message: "半分",
			Created: moment, Updated: moment.Add(time.Nanosecond), TTL: time.Hour, PollInterval: time.Second,
			Call: []byte("call"), Journal: []byte("journal"), Runs: 3,
			Questions: []task.Question{{Key: "a", Request: []byte("{}")}, {Key: "b"}},
			Asked:     []uint64{0, 1, math.MaxUint64}, Result: []byte("1"), Error: []byte("2"),
		},
		"ends": {
			ID: "\x00\xff", Version: math.MaxUint64, Status: "\xff", Created: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
			Updated: time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), TTL: math.MaxInt64, PollInterval: math.MinInt64, Runs: math.MinInt,
			Call: bytes.Repeat([]byte{0xff}, 1<<20),
		},
	}
}

func sessions() map[string]session.Record {
	return map[string]session.Record{
		"empty": {},
		"full":  {ID: "id", Principal: "somebody", Version: 7, Expires: moment, Data: []byte("data")},
		"ends":  {ID: "\x00", Principal: "\xff", Version: math.MaxUint64, Data: bytes.Repeat([]byte{0}, 1<<20)},
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	for name, r := range tasks() {
		got, err := record.ParseTask(record.AppendTask(nil, &r))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	for name, r := range sessions() {
		got, err := record.ParseSession(record.AppendSession(nil, &r))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestBytes: what is in stores stays readable. Only a new format may change these.
func TestBytes(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 2)
	r := task.Record{
		ID: "i", Owner: "o", Version: 300, Status: "working", Message: "m", Created: at, Updated: at, TTL: 1, PollInterval: 2,
		Call: []byte("c"), Journal: []byte("j"), Runs: 1, Questions: []task.Question{{Key: "k", Request: []byte("q")}},
		Asked: []uint64{5}, Result: []byte("r"), Error: []byte("e"),
	}
	want := "\x01\x01i\x01o\xac\x02\x07working\x01m\x02\x02\x02\x02\x02\x04\x01c\x01j\x02\x01\x01k\x01q\x01\x00\x00\x00\x00\x00\x00\x00\x05\x01r\x01e"
	if got := record.AppendTask([]byte("before"), &r); string(got) != "before"+want {
		t.Errorf("a task is %q\nwant %q", got, want)
	}
	s := session.Record{ID: "i", Principal: "p", Version: 1, Expires: at, Data: []byte("d")}
	want = "\x01\x01i\x01p\x01\x02\x02\x01d"
	if got := record.AppendSession(nil, &s); string(got) != want {
		t.Errorf("a session is %q\nwant %q", got, want)
	}
}

// TestTimesInUTC: what was local, or had a reading of the monotonic clock, is the same
// moment.
func TestTimesInUTC(t *testing.T) {
	t.Parallel()
	now := time.Now().In(time.FixedZone("", 3600))
	got, err := record.ParseSession(record.AppendSession(nil, &session.Record{Expires: now}))
	if err != nil || got.Expires != now.Round(0).UTC() {
		t.Errorf("%v became %v, %v", now, got.Expires, err)
	}
}

// TestSharesNothing, also beyond the length of what was parsed.
func TestSharesNothing(t *testing.T) {
	t.Parallel()
	want := tasks()["full"]
	data := record.AppendTask(nil, &want)
	before := bytes.Clone(data)
	got, err := record.ParseTask(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{got.Call, got.Journal, got.Result, got.Error, got.Questions[0].Request} {
		copy(b[:cap(b)], bytes.Repeat([]byte("#"), cap(b)))
	}
	if !bytes.Equal(data, before) {
		t.Error("the data changed with the record")
	}
	got, _ = record.ParseTask(data)
	copy(data, bytes.Repeat([]byte("#"), len(data)))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record changed with the data: %+v", got)
	}
}

// TestMalformed: every part of a record, and one with more, is an error and no record.
func TestMalformed(t *testing.T) {
	t.Parallel()
	r, s := tasks()["full"], sessions()["full"]
	for _, whole := range [][]byte{record.AppendTask(nil, &r), record.AppendSession(nil, &s)} {
		for n := range whole {
			wantFault(t, whole[:n], record.ErrMalformed)
		}
		wantFault(t, append(bytes.Clone(whole), 0), record.ErrMalformed)
		whole[0] = 0
		wantFault(t, whole, record.ErrMalformed)
		whole[0] = 2
		wantFault(t, whole, record.ErrNewer)
		wantFault(t, []byte{99}, record.ErrNewer)
	}
}

// TestNoRoomForLies: a length is believed only if the bytes are there.
func TestNoRoomForLies(t *testing.T) {
	t.Parallel()
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	empty := record.AppendTask(nil, &task.Record{})
	for at := 1; at < len(empty); at++ {
		data := append(append(bytes.Clone(empty[:at]), huge...), empty[at+1:]...)
		if r, err := record.ParseTask(data); err == nil && r.Version == 0 && r.TTL == 0 && r.PollInterval == 0 && r.Runs == 0 && r.Created.IsZero() && r.Updated.IsZero() {
			t.Errorf("a huge number at %d is not seen: %+v", at, r)
		}
	}
	wantFault(t, append([]byte{1}, huge...), record.ErrMalformed)
}

func wantFault(t *testing.T, data []byte, want error) {
	t.Helper()
	if r, err := record.ParseTask(data); !errors.Is(err, want) || !reflect.DeepEqual(r, task.Record{}) {
		t.Errorf("a task of %q: %+v, %v; want %v", data, r, err, want)
	}
	if r, err := record.ParseSession(data); !errors.Is(err, want) || !reflect.DeepEqual(r, session.Record{}) {
		t.Errorf("a session of %q: %+v, %v; want %v", data, r, err, want)
	}
}

// FuzzTask: whatever is parsed comes back as it was.
func FuzzTask(f *testing.F) {
	for _, r := range tasks() {
		if len(r.Call) < 1<<10 {
			f.Add(record.AppendTask(nil, &r))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.ParseTask(data)
		if err != nil {
			if !errors.Is(err, record.ErrNewer) && !errors.Is(err, record.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := record.ParseTask(record.AppendTask(nil, &r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v\nbecame\n%+v, %v", r, again, err)
		}
	})
}

// FuzzSession is as FuzzTask.
func FuzzSession(f *testing.F) {
	for _, r := range sessions() {
		if len(r.Data) < 1<<10 {
			f.Add(record.AppendSession(nil, &r))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.ParseSession(data)
		if err != nil {
			if !errors.Is(err, record.ErrNewer) && !errors.Is(err, record.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := record.ParseSession(record.AppendSession(nil, &r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v\nbecame\n%+v, %v", r, again, err)
		}
	})
}

func BenchmarkTask(b *testing.B) {
	r := tasks()["full"]
	r.Call = make([]byte, 1024)
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		data = record.AppendTask(data[:0], &r)
		if _, err := record.ParseTask(data); err != nil {
			b.Fatal(err)
		}
	}
}
