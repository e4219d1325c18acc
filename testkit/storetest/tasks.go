package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Tasks runs the suite for a task.Store, in parallel. open returns an empty store each time, and
// registers its cleanup with t.Cleanup. The suite uses IDs and owners of up to 512 bytes, and
// records of some MiB. Unless there is a [Clock], it waits for short TTLs to pass. See also [Now].
func Tasks(t *testing.T, open func(t testing.TB) task.Store, opts ...Option) {
	t.Helper()
	set := settle(opts)
	tests := []struct {
		name, rule string
		run        func(t *testing.T, s tasks)
	}{
		{"Create", "Create keeps a record as version 1; an id that exists is ErrExists for every caller, and changes nothing.", tasksCreate},
		{"KeepsEverything", "A record is read as it was written, times to the nanosecond.", tasksEverything},
		{"KeepsNothing", "Empty fields stay empty, and replace fields that are not.", tasksNothing},
		{"Update", "Update replaces the record, raises the version by one, touches no other and creates none.", tasksUpdate},
		{"Conflict", "Update of another version than the stored one is ErrConflict, and changes nothing.", tasksConflict},
		{"OwnerAndCreatedStay", "Update leaves Owner and Created as Create kept them.", tasksStay},
		{"Delete", "Delete forgets the record, and the id may be created again. If there is no record, that is not an error.", tasksDelete},
		{"AnyName", "Ids and owners are any bytes; one that contains another, or looks like it, is another.", tasksAnyName},
		{"AnyBytes", "Opaque fields are any bytes.", tasksAnyBytes},
		{"Large", "Records may be large, and become small again.", tasksLarge},
		{"CopiesWhatItTakes", "A store does not keep the caller's slices.", tasksTaken},
		{"CopiesWhatItGives", "A store does not hand out its own slices.", tasksGiven},
		{"List", "List gives the records of an owner page by page, beginning after an id.", tasksList},
		{"ListIsInOrderOfCreation", "A list is in the order of the calls of Create: neither times nor later events matter.", tasksListOrder},
		{"ListLimits", "A list has as many records as the limit allows, and none where it allows none.", tasksListLimits},
		{"ListOwners", "An owner sees neither the records nor the ids of another.", tasksListOwners},
		{"ListAfterWhatIsGone", "A list continues after a record that is gone.", tasksListGone},
		{"ListWhileItChanges", "A list that is read page by page while tasks come and go has each task that stays exactly once.", tasksListChanges},
		{"Count", "Count returns how many records of an owner are not terminal.", tasksCount},
		{"RaceOfCreates", "Of concurrent Creates of one id exactly one succeeds, and its record is there.", tasksCreateRace},
		{"RaceOfUpdates", "Of those who have read the same version exactly one writes the next; the others get ErrConflict.", tasksUpdateRace},
		{"RaceOfRetries", "Those who read and update again after each conflict lose nothing.", tasksRetryRace},
		{"RaceOfEnds", "However many try to end a task, all see the same end.", tasksEndRace},
		{"RaceWithLists", "While tasks come, change and go, a list is in order and has each that stays.", tasksListRace},
		{"Expiry", "A record is there until Created + TTL, and not afterwards; its id may be created again.", tasksExpiry},
		{"UpdateDoesNotProlong", "The TTL is counted from the creation, whatever has happened since.", tasksNotProlonged},
		{"TTLProlonged", "A longer TTL prolongs the life.", tasksProlonged},
		{"TTLTakenAway", "A TTL of 0 means for ever, also where there was one before.", tasksUnlimited},
		{"TTLShortened", "A shorter TTL shortens the life.", tasksShortened},
		{"TTLGiven", "A record that never expired can be given a TTL.", tasksLimited},
		{"NoTTL", "A record without a TTL does not expire.", tasksNoTTL},
		{"ListAfterWhatExpired", "A list continues after a record that has expired.", tasksListExpired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if set.advance == nil { // all tests share the test's own clock
				t.Parallel()
			}
			told(t, tt.rule)
			tt.run(t, tasks{t, open(t), &clock{advance: set.advance}, set.now})
		})
	}
}

// tasks is a store that fails the test if an operation returns an error that the interface does not
// allow. Its methods may be called in any goroutine.
type tasks struct {
	t     testing.TB
	store task.Store
	clock *clock
	now   func() time.Time
}

// record returns a simple record that is working and does not expire during a test.
func (s tasks) record(id, owner string) task.Record {
	now := s.now()
	return task.Record{
		ID: id, Owner: owner, Status: protocol.TaskWorking, Created: now, Updated: now, TTL: long, Call: []byte("call of " + id),
	}
}

func (s tasks) create(r task.Record) {
	s.t.Helper()
	if err := s.store.Create(s.t.Context(), r); err != nil {
		s.t.Errorf("Create(%s): %v", brief(r.ID), err)
	}
}

// fill creates simple records in order.
func (s tasks) fill(owner string, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.create(s.record(id, owner))
	}
}

// get returns the record, and reports whether there is one.
func (s tasks) get(id string) (task.Record, bool) {
	s.t.Helper()
	r, err := s.store.Get(s.t.Context(), id)
	if err != nil && !errors.Is(err, task.ErrNotFound) {
		s.t.Errorf("Get(%s): %v", brief(id), err)
	}
	return r, err == nil
}

func (s tasks) update(r task.Record) {
	s.t.Helper()
	if err := s.store.Update(s.t.Context(), r); err != nil {
		s.t.Errorf("Update(%s) of version %d: %v", brief(r.ID), r.Version, err)
	}
}

// change reads the record, changes and updates it, and returns the record that is then stored.
func (s tasks) change(id string, how func(r *task.Record)) task.Record {
	s.t.Helper()
	r, _ := s.get(id)
	how(&r)
	s.update(r)
	r.Version++
	return r
}

func (s tasks) remove(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if err := s.store.Delete(s.t.Context(), id); err != nil {
			s.t.Errorf("Delete(%s): %v", brief(id), err)
		}
	}
}

func (s tasks) list(owner, after string, limit int) []task.Record {
	s.t.Helper()
	list, err := s.store.List(s.t.Context(), owner, after, limit)
	if err != nil {
		s.t.Errorf("List(%s, %s, %d): %v", brief(owner), brief(after), limit, err)
	}
	if len(list) > max(limit, 0) {
		s.t.Errorf("List(%s, %s, %d): %d records", brief(owner), brief(after), limit, len(list))
	}
	for _, r := range list {
		if r.Owner != owner {
			s.t.Errorf("List(%s, %s, %d): %s is of %s", brief(owner), brief(after), limit, brief(r.ID), brief(r.Owner))
		}
	}
	return list
}

func ids(list []task.Record) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.ID
	}
	return out
}

func (s tasks) wantList(owner, after string, limit int, want ...string) {
	s.t.Helper()
	if got := ids(s.list(owner, after, limit)); !slices.Equal(got, want) {
		s.t.Errorf("List(%s, %s, %d) = %q, want %q", brief(owner), brief(after), limit, got, want)
	}
}

func (s tasks) count(owner string) int {
	s.t.Helper()
	n, err := s.store.Count(s.t.Context(), owner)
	if err != nil {
		s.t.Errorf("Count(%s): %v", brief(owner), err)
	}
	return n
}

func (s tasks) wantCount(owner string, want int) {
	s.t.Helper()
	if n := s.count(owner); n != want {
		s.t.Errorf("Count(%s) = %d, want %d", brief(owner), n, want)
	}
}

// want compares the record with the stored one, as Get and List return it.
func (s tasks) want(want task.Record) {
	s.t.Helper()
	got, ok := s.get(want.ID)
	if !ok {
		s.t.Errorf("Get(%s): nothing", brief(want.ID))
		return
	}
	if d := difference(got, want); d != "" {
		s.t.Errorf("Get(%s): %s", brief(want.ID), d)
	}
	list := s.list(want.Owner, "", math.MaxInt)
	i := slices.IndexFunc(list, func(r task.Record) bool { return r.ID == want.ID })
	if i < 0 {
		s.t.Errorf("List(%s) is without %s", brief(want.Owner), brief(want.ID))
	} else if d := difference(list[i], want); d != "" {
		s.t.Errorf("List(%s), %s: %s", brief(want.Owner), brief(want.ID), d)
	}
}

func (s tasks) wantNothing(id string) {
	s.t.Helper()
	ctx := s.t.Context()
	if r, err := s.store.Get(ctx, id); !errors.Is(err, task.ErrNotFound) || r.ID != "" {
		s.t.Errorf("Get(%s): %s, %v; want ErrNotFound", brief(id), brief(r.ID), err)
	}
	for version := range uint64(3) {
		if err := s.store.Update(ctx, task.Record{ID: id, Version: version, Status: protocol.TaskWorking}); !errors.Is(err, task.ErrNotFound) {
			s.t.Errorf("Update(%s) of version %d: %v; want ErrNotFound", brief(id), version, err)
		}
	}
	s.remove(id)
}

// difference returns a text about the first field that differs between two records, or "". nil
// equals empty.
func difference(got, want task.Record) string {
	for _, f := range []struct {
		name      string
		got, want string
	}{
		{"ID", got.ID, want.ID},
		{"Owner", got.Owner, want.Owner},
		{"Version", fmt.Sprint(got.Version), fmt.Sprint(want.Version)},
		{"Status", string(got.Status), string(want.Status)},
		{"Message", got.Message, want.Message},
		{"Created", moment(got.Created), moment(want.Created)},
		{"Updated", moment(got.Updated), moment(want.Updated)},
		{"TTL", got.TTL.String(), want.TTL.String()},
		{"PollInterval", got.PollInterval.String(), want.PollInterval.String()},
		{"Call", string(got.Call), string(want.Call)},
		{"Journal", string(got.Journal), string(want.Journal)},
		{"Runs", fmt.Sprint(got.Runs), fmt.Sprint(want.Runs)},
		{"Asked", fmt.Sprint(got.Asked), fmt.Sprint(want.Asked)},
		{"Result", string(got.Result), string(want.Result)},
		{"Error", string(got.Error), string(want.Error)},
		{"number of Questions", fmt.Sprint(len(got.Questions)), fmt.Sprint(len(want.Questions))},
	} {
		if f.got != f.want {
			return fmt.Sprintf("%s is %s, want %s", f.name, brief(f.got), brief(f.want))
		}
	}
	for i, q := range want.Questions {
		if g := got.Questions[i]; g.Key != q.Key || !bytes.Equal(g.Request, q.Request) {
			return fmt.Sprintf("question %d is %s: %s, want %s: %s", i, brief(g.Key), brief(string(g.Request)), brief(q.Key), brief(string(q.Request)))
		}
	}
	return ""
}

// moment returns a time as text, independent of its zone.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// rich returns a record with a value in every field.
func (s tasks) rich(id string) task.Record {
	r := s.record(id, "owner")
	r.Version = 1
	r.Status = protocol.TaskInputRequired
	r.Message = "half of it, 半分 \x00 <&>\u2028"
	r.Updated = r.Created.Add(1234567891 * time.Nanosecond)
	r.TTL, r.PollInterval = 12*time.Hour+time.Nanosecond, 1500*time.Millisecond+time.Nanosecond
	r.Call, r.Journal = []byte(`{"call":1}`), []byte("journal")
	r.Runs, r.Asked = 7, []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1<<53 + 1}
	r.Questions = []task.Question{{Key: "b", Request: []byte(`{}`)}, {Key: "a", Request: []byte(`{"method":"elicitation/create"}`)}, {Key: "ä/\x00:", Request: nil}}
	r.Result, r.Error = []byte(`{"result": 1}`), []byte(`{"error":1}`) // the store does not check the content
	return r
}

func tasksCreate(t *testing.T, s tasks) {
	s.wantNothing("a")
	first := s.record("a", "x")
	first.Version = 9 // Create ignores it
	s.create(first)
	first.Version = 1
	s.want(first)
	for _, owner := range []string{"x", "y"} {
		if err := s.store.Create(t.Context(), s.record("a", owner)); !errors.Is(err, task.ErrExists) {
			t.Errorf("the second Create: %v, want ErrExists", err)
		}
	}
	s.want(first)
	s.wantList("y", "", 9)
	s.fill("x", "b")
	s.want(first)
}

func tasksEverything(_ *testing.T, s tasks) {
	r := s.rich("a")
	s.create(r)
	s.want(r)
	s.want(r) // reading removes nothing
	statuses := []protocol.TaskStatus{
		protocol.TaskWorking, protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled, protocol.TaskInputRequired,
	}
	for i, status := range statuses {
		next := s.rich("a")
		next.Version, next.Created, next.Status = r.Version, r.Created, status
		next.Updated = r.Updated.Add(time.Nanosecond)
		next.Message += fmt.Sprint(i)
		next.Runs += i
		next.Asked = append(next.Asked, uint64(i)<<32)
		next.Questions = slices.Insert(next.Questions, i%3, task.Question{Key: fmt.Sprint(i), Request: []byte("new")})
		next.Call = append(next.Call, byte(i))
		next.Journal = append(next.Journal, byte(i))
		next.Result = append(next.Result, byte(i))
		next.Error = append(next.Error, byte(i))
		next.PollInterval++
		next.TTL++
		s.update(next)
		next.Version++
		s.want(next)
		r = next
	}
}

// tasksNothing: empty fields stay empty, and replace fields that are not empty.
func tasksNothing(_ *testing.T, s tasks) {
	now := s.now()
	bare := task.Record{ID: "bare", Version: 1, Status: protocol.TaskWorking, Created: now, Updated: now}
	s.create(bare)
	s.want(bare)
	full := s.rich("full")
	s.create(full)
	s.update(task.Record{ID: "full", Version: 1, Status: protocol.TaskWorking, Updated: full.Updated})
	s.want(task.Record{ID: "full", Owner: full.Owner, Version: 2, Status: protocol.TaskWorking, Created: full.Created, Updated: full.Updated})
	s.want(bare)
}

func tasksUpdate(t *testing.T, s tasks) {
	s.fill("x", "a", "b")
	other, _ := s.get("b")
	for i := range uint64(20) {
		r := s.change("a", func(r *task.Record) {
			if r.Version != i+1 {
				t.Errorf("version %d, want %d", r.Version, i+1)
			}
			r.Journal = fmt.Append(r.Journal, i)
		})
		s.want(r)
	}
	s.want(other)
	if _, ok := s.get("c"); ok {
		t.Error("there is c")
	}
	s.wantNothing("c") // Update creates nothing
	s.wantList("x", "", 9, "a", "b")
}

func tasksConflict(t *testing.T, s tasks) {
	s.fill("x", "a")
	s.change("a", func(*task.Record) {})
	r := s.change("a", func(r *task.Record) { r.Journal = []byte("third") })
	for _, version := range []uint64{0, 1, 2, 4, math.MaxUint64} {
		stale := r.Clone()
		stale.Version, stale.Journal, stale.Status = version, []byte("stale"), protocol.TaskCancelled
		if err := s.store.Update(t.Context(), stale); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Update of version %d, 3 is stored: %v; want ErrConflict", version, err)
		}
	}
	s.want(r)
	s.wantCount("x", 1)
	s.update(r)
}

func tasksStay(_ *testing.T, s tasks) {
	s.fill("x", "a", "b")
	s.fill("y", "c")
	r, _ := s.get("a")
	changed := r.Clone()
	changed.Owner, changed.Created, changed.Message = "y", r.Created.Add(time.Minute), "new"
	s.update(changed)
	r.Version, r.Message = 2, "new"
	s.want(r)
	s.wantList("x", "", 9, "a", "b")
	s.wantList("y", "", 9, "c")
	s.wantCount("x", 2)
	s.wantCount("y", 1)
}

func tasksDelete(_ *testing.T, s tasks) {
	s.remove("a")
	s.fill("x", "a", "b", "c")
	s.change("a", func(*task.Record) {})
	s.remove("a", "a")
	s.wantNothing("a")
	s.wantList("x", "", 9, "b", "c")
	s.wantCount("x", 2)
	again := s.record("a", "y")
	again.Journal = []byte("another life")
	s.create(again)
	again.Version = 1
	s.want(again)
	s.wantList("x", "", 9, "b", "c")
	s.wantList("y", "", 9, "a")
	s.remove("a", "b", "c")
	s.wantList("x", "", 9)
	s.wantCount("x", 0)
}

// names returns names that a store may combine, compare or cut incorrectly.
func names() []string {
	all := make([]byte, 512)
	for i := range all {
		all[i] = byte(i)
	}
	return []string{
		"a", "a/b", "a:b", "a:b:1", "a\x00b", "a\x00", "a b", "a ", "A", "ä", "a\u0308", "\xff", "\xfe", "\ufffd",
		"*", "a*", "?", "[a]", "..", "../a", "{a}", "a\n", "1", "01", "%61", `"a"`, `a\`,
		string(all), string(all[:511]), string(all[1:]), strings.Repeat("a", 511), strings.Repeat("a", 512),
	}
}

func tasksAnyName(t *testing.T, s tasks) {
	all := names()
	records := map[string]task.Record{}
	for i, id := range all {
		r := s.record(id, all[len(all)-1-i])
		s.create(r)
		r.Version = 1
		records[id] = r
	}
	for i, id := range all {
		r := records[id]
		s.want(r)
		s.wantList(r.Owner, "", 9, id)
		s.wantList(r.Owner, id, 9)
		s.wantCount(r.Owner, 1)
		s.change(id, func(r *task.Record) { r.Status = protocol.TaskCompleted })
		s.wantCount(r.Owner, 0)
		s.remove(id)
		s.wantNothing(id)
		s.wantList(r.Owner, "", 9)
		for _, later := range all[i+1:] {
			if _, ok := s.get(later); !ok {
				t.Errorf("with %s went %s", brief(id), brief(later))
			}
		}
	}
	r := s.record("of nobody", "")
	s.create(r)
	s.wantList("", "", 9, "of nobody")
	s.wantCount("", 1)
}

func tasksAnyBytes(_ *testing.T, s tasks) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, value := range []string{string(all), "\x00", "\xff\xfe", "null", "0", " {} ", "\ufffd"} {
		r := s.record(fmt.Sprint(i), "x")
		r.Version = 1
		for _, b := range []*[]byte{&r.Call, &r.Journal, &r.Result, &r.Error} {
			*b = []byte(value)
		}
		r.Questions = []task.Question{{Key: "k", Request: []byte(value)}, {Key: "l", Request: nil}}
		s.create(r)
		s.want(r)
		r.Journal = append(r.Journal, all...)
		s.update(r)
		r.Version++
		s.want(r)
	}
}

func tasksLarge(_ *testing.T, s tasks) {
	large := bytes.Repeat([]byte("0123456789abcde\xff"), 1<<16) // 1 MiB
	for i := range 3 {
		r := s.record(fmt.Sprint(i), "x")
		r.Call = large
		s.create(r)
		r.Version = 1
		r.Journal, r.Result = large, append(bytes.Clone(large), byte(i))
		r.Questions = []task.Question{{Key: "k", Request: large}}
		s.update(r)
		r.Version++
		s.want(r)
	}
	s.wantList("x", "", 9, "0", "1", "2")
	small := s.change("1", func(r *task.Record) { r.Call, r.Journal, r.Result, r.Questions = nil, nil, []byte("{}"), nil })
	s.want(small)
}

func tasksTaken(_ *testing.T, s tasks) {
	r := s.rich("a")
	want := r.Clone()
	s.create(r)
	spoil(&r)
	s.want(want)
	r = want.Clone()
	r.Journal = []byte("another")
	want = r.Clone()
	s.update(r)
	want.Version++
	spoil(&r)
	s.want(want)
}

func tasksGiven(_ *testing.T, s tasks) {
	want := s.rich("a")
	s.create(want)
	for range 2 {
		r, _ := s.get("a")
		spoil(&r)
		for _, r := range s.list("owner", "", 9) {
			spoil(&r)
		}
	}
	s.want(want)
}

// spoil overwrites all memory that a record may share.
func spoil(r *task.Record) {
	for _, b := range [][]byte{r.Call, r.Journal, r.Result, r.Error} {
		overwrite(b)
	}
	for i := range r.Asked {
		r.Asked[i] = 35
	}
	for i := range r.Questions {
		overwrite(r.Questions[i].Request)
		r.Questions[i] = task.Question{Key: "#"}
	}
}
