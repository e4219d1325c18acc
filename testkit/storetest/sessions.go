package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// Sessions runs the suite for a session.Store, in parallel. open returns an empty store each time,
// and registers its cleanup with t.Cleanup. The suite uses IDs and principals of up to 512 bytes
// and data of up to 1 MiB. It waits by the real clock for short lifetimes to pass.
func Sessions(t *testing.T, open func(t testing.TB) session.Store) {
	t.Helper()
	tests := []struct {
		name, rule string
		run        func(t *testing.T, s sessions)
	}{
		{"Create", "Create keeps a record as version 1; an id that exists is ErrExists for every caller, and changes nothing.", sessionsCreate},
		{"KeepsEverything", "A record is read as it was written: any principal, and times in any zone.", sessionsEverything},
		{"KeepsNothing", "Empty fields stay empty, and replace fields that are not.", sessionsNothing},
		{"Update", "Update replaces Expires and Data, raises the version by one, touches no other record and creates none.", sessionsUpdate},
		{"Conflict", "Update of another version than the stored one is ErrConflict, and changes nothing.", sessionsConflict},
		{"PrincipalStays", "Update leaves the principal as Create kept it.", sessionsStay},
		{"Touch", "Touch sets when the record expires, and neither its version nor anything else.", sessionsTouch},
		{"Delete", "Delete forgets the record, and the id may be created again. If there is no record, that is not an error.", sessionsDelete},
		{"AnyName", "Ids are any bytes; one that contains another, or looks like it, is another.", sessionsAnyName},
		{"NoMeaning", "Records without a principal and without an expiry stay, however many there are.", sessionsNoMeaning},
		{"AnyData", "Data are any bytes, of any length up to 1 MiB.", sessionsAnyData},
		{"CopiesWhatItTakes", "A store does not keep the caller's slice.", sessionsTaken},
		{"CopiesWhatItGives", "A store does not hand out its own slice.", sessionsGiven},
		{"RaceOfCreates", "Of concurrent Creates of one id exactly one succeeds, and its record is there.", sessionsCreateRace},
		{"RaceOfUpdates", "Of those who have read the same version exactly one writes the next; the others get ErrConflict.", sessionsUpdateRace},
		{"RaceOfRetries", "Those who read and update again after each conflict lose nothing.", sessionsRetryRace},
		{"RaceWithTouches", "A Touch causes no conflict, and does not undo an Update.", sessionsTouchRace},
		{"RaceWithDeletes", "Only Create brings a deleted record back.", sessionsDeleteRace},
		{"Expiry", "A record is there until it expires, and not afterwards; its id may be created again.", sessionsExpiry},
		{"ExpiredAtOnce", "A record that has already expired is not there.", sessionsStillborn},
		{"UpdateProlongs", "The Expires of an Update counts: a later one prolongs the life.", sessionsUpdateProlongs},
		{"UpdateShortens", "The Expires of an Update counts: an earlier one shortens the life.", sessionsUpdateShortens},
		{"TouchProlongs", "Touch prolongs the life.", sessionsTouchProlongs},
		{"TouchShortens", "Touch shortens the life.", sessionsTouchShortens},
		{"ExpiryTakenAway", "An Expires that is zero means never, also where there was one before.", sessionsUnlimited},
		{"ExpiryGiven", "A record that never expired can be given an expiry.", sessionsLimited},
		{"ConflictDoesNotProlong", "An Update that is refused does not prolong the life.", sessionsConflictLife},
		{"DeleteEndsTheLife", "A record that follows a deleted one does not inherit its expiry.", sessionsDeletedLife},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			tt.run(t, sessions{t, open(t), &clock{}})
		})
	}
}

// sessions is a store that fails the test if an operation returns an error that the interface does
// not allow. Its methods may be called in any goroutine.
type sessions struct {
	t     testing.TB
	store session.Store
	clock *clock
}

// fresh returns a simple record that does not expire during a test.
func fresh(id string) session.Record {
	return session.Record{ID: id, Principal: "x", Version: 1, Expires: time.Now().Add(long), Data: []byte("data of " + id)}
}

// copyOf returns a copy that shares no memory with the record.
func copyOf(r session.Record) session.Record {
	r.Data = bytes.Clone(r.Data)
	return r
}

func (s sessions) create(r session.Record) {
	s.t.Helper()
	if err := s.store.Create(s.t.Context(), r); err != nil {
		s.t.Errorf("Create(%s): %v", brief(r.ID), err)
	}
}

func (s sessions) fill(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.create(fresh(id))
	}
}

// get returns the record, and reports whether there is one.
func (s sessions) get(id string) (session.Record, bool) {
	s.t.Helper()
	r, err := s.store.Get(s.t.Context(), id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		s.t.Errorf("Get(%s): %v", brief(id), err)
	}
	return r, err == nil
}

func (s sessions) update(r session.Record) {
	s.t.Helper()
	if err := s.store.Update(s.t.Context(), r); err != nil {
		s.t.Errorf("Update(%s) of version %d: %v", brief(r.ID), r.Version, err)
	}
}

// change reads the record, changes and updates it, and returns the record that is then stored.
func (s sessions) change(id string, how func(r *session.Record)) session.Record {
	s.t.Helper()
	r, _ := s.get(id)
	how(&r)
	s.update(r)
	r.Version++
	return r
}

func (s sessions) touch(id string, expires time.Time) {
	s.t.Helper()
	if err := s.store.Touch(s.t.Context(), id, expires); err != nil {
		s.t.Errorf("Touch(%s): %v", brief(id), err)
	}
}

func (s sessions) remove(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if err := s.store.Delete(s.t.Context(), id); err != nil {
			s.t.Errorf("Delete(%s): %v", brief(id), err)
		}
	}
}

func (s sessions) want(want session.Record) {
	s.t.Helper()
	got, ok := s.get(want.ID)
	if !ok {
		s.t.Errorf("Get(%s): nothing", brief(want.ID))
		return
	}
	for _, f := range []struct{ name, got, want string }{
		{"ID", got.ID, want.ID},
		{"Principal", got.Principal, want.Principal},
		{"Version", fmt.Sprint(got.Version), fmt.Sprint(want.Version)},
		{"Data", string(got.Data), string(want.Data)},
	} {
		if f.got != f.want {
			s.t.Errorf("Get(%s): %s is %s, want %s", brief(want.ID), f.name, brief(f.got), brief(f.want))
		}
	}
	if !sameEnd(got.Expires, want.Expires) {
		s.t.Errorf("Get(%s): it expires at %v, want %v", brief(want.ID), moment(got.Expires), moment(want.Expires))
	}
}

// sameEnd reports whether two times of expiry are equal up to rounding. A zero time, which means
// never, equals only a zero time.
func sameEnd(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= early
}

func (s sessions) wantNothing(id string) {
	s.t.Helper()
	ctx := s.t.Context()
	if r, err := s.store.Get(ctx, id); !errors.Is(err, session.ErrNotFound) || r.ID != "" || len(r.Data) > 0 {
		s.t.Errorf("Get(%s): %s, %v; want ErrNotFound", brief(id), brief(r.ID), err)
	}
	for version := range uint64(3) {
		r := fresh(id)
		r.Version = version
		if err := s.store.Update(ctx, r); !errors.Is(err, session.ErrNotFound) {
			s.t.Errorf("Update(%s) of version %d: %v; want ErrNotFound", brief(id), version, err)
		}
	}
	for _, end := range []time.Time{{}, time.Now().Add(long)} {
		if err := s.store.Touch(ctx, id, end); !errors.Is(err, session.ErrNotFound) {
			s.t.Errorf("Touch(%s): %v; want ErrNotFound", brief(id), err)
		}
	}
	s.remove(id)
}

func sessionsCreate(t *testing.T, s sessions) {
	s.wantNothing("a")
	first := fresh("a")
	first.Version = 9 // Create ignores it
	s.create(first)
	first.Version = 1
	s.want(first)
	for _, principal := range []string{"x", "y"} {
		second := fresh("a")
		second.Principal, second.Data = principal, []byte("second")
		if err := s.store.Create(t.Context(), second); !errors.Is(err, session.ErrExists) {
			t.Errorf("the second Create: %v, want ErrExists", err)
		}
	}
	s.want(first)
	s.want(first) // reading removes nothing
	s.fill("b")
	s.want(first)
}

func sessionsEverything(_ *testing.T, s sessions) {
	for i, zone := range []*time.Location{time.UTC, time.Local, time.FixedZone("far", 14*3600)} {
		r := fresh(fmt.Sprint("zone ", i))
		r.Principal, r.Expires = "whose it is, 誰 \x00\xff <&>\u2028", time.Now().Add(12*time.Hour+time.Nanosecond).In(zone)
		s.create(r)
		s.want(r)
		r.Expires, r.Data = r.Expires.Add(time.Hour), []byte("other")
		s.update(r)
		r.Version++
		s.want(r)
	}
	r := fresh("far away")
	r.Expires = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	s.create(r)
	s.want(r)
}

// sessionsNothing: empty fields stay empty, and replace fields that are not empty.
func sessionsNothing(_ *testing.T, s sessions) {
	bare := session.Record{ID: "bare", Version: 1}
	s.create(bare)
	s.want(bare)
	full := fresh("full")
	s.create(full)
	full.Expires, full.Data = time.Time{}, nil
	s.update(full)
	full.Version++
	s.want(full)
	full.Data = []byte{}
	s.update(full)
	full.Version++
	s.want(full)
	s.want(bare)
}

func sessionsUpdate(t *testing.T, s sessions) {
	s.fill("a", "b")
	other, _ := s.get("b")
	for i := range uint64(20) {
		r := s.change("a", func(r *session.Record) {
			if r.Version != i+1 {
				t.Errorf("version %d, want %d", r.Version, i+1)
			}
			r.Data = fmt.Append(r.Data, i)
			r.Expires = r.Expires.Add(time.Minute)
		})
		s.want(r)
	}
	s.want(other)
	s.wantNothing("c") // Update creates nothing
	s.wantNothing("c")
}

func sessionsConflict(t *testing.T, s sessions) {
	s.fill("a")
	s.change("a", func(*session.Record) {})
	r := s.change("a", func(r *session.Record) { r.Data = []byte("third") })
	for _, version := range []uint64{0, 1, 2, 4, math.MaxUint64} {
		stale := session.Record{ID: "a", Version: version, Data: []byte("stale")}
		if err := s.store.Update(t.Context(), stale); !errors.Is(err, session.ErrConflict) {
			t.Errorf("Update of version %d, 3 is stored: %v; want ErrConflict", version, err)
		}
	}
	s.want(r)
	s.update(r)
}

func sessionsStay(_ *testing.T, s sessions) {
	r := fresh("a")
	s.create(r)
	for i, principal := range []string{"y", "", "x"} {
		changed := copyOf(r)
		changed.Principal, changed.Data = principal, fmt.Append(nil, i)
		s.update(changed)
		r.Version, r.Data = r.Version+1, changed.Data
		s.want(r)
	}
}

func sessionsTouch(_ *testing.T, s sessions) {
	r := fresh("a")
	s.create(r)
	s.fill("b")
	other, _ := s.get("b")
	for _, end := range []time.Time{{}, time.Now().Add(long), time.Now().Add(2 * long), time.Now().Add(long / 2), {}} {
		s.touch("a", end)
		r.Expires = end
		s.want(r)
	}
	r.Data = []byte("changed")
	s.update(r) // its version is still 1
	r.Version++
	s.want(r)
	s.want(other)
}

func sessionsDelete(_ *testing.T, s sessions) {
	s.remove("a")
	s.fill("a", "b")
	s.change("a", func(*session.Record) {})
	s.remove("a", "a")
	s.wantNothing("a")
	again := fresh("a")
	again.Principal, again.Data = "y", []byte("another life")
	s.create(again)
	s.want(again)
	s.want(s.change("b", func(*session.Record) {}))
}

func sessionsAnyName(t *testing.T, s sessions) {
	all := names()
	records := map[string]session.Record{}
	for i, id := range all {
		r := fresh(id)
		r.Principal = all[len(all)-1-i]
		s.create(r)
		records[id] = r
	}
	for i, id := range all {
		s.want(records[id])
		if s.t.Failed() {
			return // all other names also fail
		}
		s.change(id, func(*session.Record) {})
		s.touch(id, time.Time{})
		s.remove(id)
		s.wantNothing(id)
		for _, later := range all[i+1:] {
			if r, ok := s.get(later); !ok || r.Version != 1 || r.Expires.IsZero() {
				t.Errorf("what is done to %s is done to %s, too", brief(id), brief(later))
			}
		}
	}
}

func sessionsAnyData(_ *testing.T, s sessions) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	large := string(slices.Repeat(all, 1<<12)[1:]) // 1 MiB, including the byte that is added below
	for i, value := range []string{string(all), "", "null", "0", "\x00", "\xff\xfe", " {} ", "\ufffd", large, large[:1<<20-2] + "x"} {
		r := fresh(fmt.Sprint(i))
		r.Data = []byte(value)
		s.create(r)
		s.want(r)
		r.Data = append([]byte{0}, r.Data...)
		s.update(r)
		r.Version++
		s.want(r)
		r.Data = []byte("small")
		s.update(r)
		r.Version++
		s.want(r)
	}
}

func sessionsTaken(_ *testing.T, s sessions) {
	r := fresh("a")
	want := copyOf(r)
	s.create(r)
	overwrite(r.Data)
	s.want(want)
	r = copyOf(want)
	r.Data = []byte("another")
	want = copyOf(r)
	s.update(r)
	want.Version++
	overwrite(r.Data)
	s.want(want)
}

func sessionsGiven(_ *testing.T, s sessions) {
	want := fresh("a")
	s.create(want)
	for range 2 {
		r, _ := s.get("a")
		overwrite(r.Data)
	}
	s.want(want)
}
