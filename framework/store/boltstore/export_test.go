package boltstore

import (
	"bytes"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// Verify says where the buckets contradict each other, or the counts them.
func Verify(s *Store) error {
	return errors.Join(
		s.main.view(func(t *txn) error {
			return errors.Join(checkPages(t.tx), verifyTable(t, &s.sessions.table), verifyTable(t, &s.claims.table), verifyTasks(t, s.tasks.most))
		}),
		s.logged.view(func(t *txn) error {
			return errors.Join(checkPages(t.tx), verifyEvents(t, s.events.most))
		}),
	)
}

func count(b bucket) (n int) {
	_ = b.b.ForEach(func(_, _ []byte) error { n++; return nil })
	return n
}

func verifyTable(t *txn, tb *table) error {
	r, want, mortal := tb.in(t), counts{}, 0
	err := r.rows.b.ForEach(func(k, v []byte) error {
		want.rows++
		want.bytes += cost(k, len(v)-8)
		if end := endOf(v); end != never {
			mortal++
			if r.ends.get(endKey(end, k)) == nil {
				return fmt.Errorf("%s: the end of %q is missing", tb.name, k)
			}
		}
		return nil
	})
	if got := t.counts(tb.name); got != want || count(r.ends) != mortal {
		err = errors.Join(err, fmt.Errorf("%s: %+v, counted %+v; %d ends of %d", tb.name, got, want, count(r.ends), mortal))
	}
	return err
}

func verifyTasks(t *txn, most taskBounds) error {
	x, want := tasksIn(t, most), counts{}
	mortal, weights, open := 0, map[string]uint64{}, map[string][2]int{}
	err := x.rows.b.ForEach(func(key, row []byte) error {
		k := openTaskEntry(string(key[1:]), row)
		want.rows++
		want.bytes += k.cost()
		if k.end != never {
			mortal++
			if x.ends.get(endKey(k.end, key)) == nil {
				return errors.New("an end is missing")
			}
		}
		if owner := string(ownerPrefix(k.owner)); k.state == stateOver {
			want.ended++
			want.endedSize += k.cost()
			weights[owner] += uint64(k.cost() + taskWeight)
			if !bytes.Equal(x.over.get(ownerKey(k.owner, k.over)), key) {
				return errors.New("one is over and not among those")
			}
		} else {
			open[owner] = [2]int{open[owner][0] + 1, open[owner][1] + k.cost()}
		}
		if k.state != stateWorking && x.wasTaken(k.id) {
			return errors.New("one does not work and is taken")
		}
		if !bytes.Equal(x.owners.get(ownerKey(k.owner, k.number)), k.listEntry()) {
			return errors.New("one is not in its owner's list")
		}
		_, err := k.parse()
		return err
	})
	err = errors.Join(err, x.gone.b.ForEach(func(key, trace []byte) error {
		want.gone++
		want.goneSize += traceCost(string(key[1:]), trace[16:])
		if !bytes.Equal(x.traces.get(trace[8:16]), key) {
			return errors.New("a trace is not in order")
		}
		return nil
	}))
	for owner, weight := range weights {
		if x.ranks.get(append(appendNumber(nil, weight), owner...)) == nil || !bytes.Equal(x.shares.get([]byte(owner)), appendNumber(nil, weight)) {
			err = errors.Join(err, errors.New("an owner's terminal tasks are not weighed"))
		}
	}
	for owner, want := range open {
		if n, bytes := x.openOf([]byte(owner)); want != [2]int{n, bytes} {
			err = errors.Join(err, errors.New("an owner's open tasks are not counted"))
		}
	}
	if count(x.shares) != len(weights) || count(x.ranks) != len(weights) || count(x.open) != len(open) {
		err = errors.Join(err, errors.New("what is gone is weighed"))
	}
	want.bytes += want.goneSize
	if got := x.counts; got != want || count(x.ends) != mortal || count(x.owners) != want.rows ||
		count(x.over) != want.ended || count(x.traces) != want.gone || count(x.taken) > want.rows {
		err = errors.Join(err, fmt.Errorf("tasks: %+v, counted %+v", got, want))
	}
	return err
}

func verifyEvents(t *txn, most *settings) error {
	x, want, sums := eventsIn(t, most), counts{}, sums{}
	err := x.streams.b.ForEach(func(key, _ []byte) error {
		s := findStream(x.streams, key)
		want.rows++
		want.bytes += s.cost()
		turn := x.kept.get(s.keptKey())
		if s.emptied {
			turn = x.emptied.get(appendNumber(nil, s.order))
			want.gone++
			want.goneSize += s.cost()
		} else {
			sums[s.size()] += s.cost()
		}
		if !bytes.Equal(turn, key) {
			return errors.New("a stream has no turn")
		}
		return verifyFrames(x, s)
	})
	if sums != x.sums {
		err = errors.Join(err, fmt.Errorf("streams by size: %v, counted %v", x.sums, sums))
	}
	if got := x.counts; got != want || count(x.kept)+count(x.emptied) != want.rows || count(bucket{t, x.frames}) != want.rows {
		err = errors.Join(err, fmt.Errorf("events: %+v, counted %+v", got, want))
	}
	return err
}

func verifyFrames(x *eventRows, s *stream) error {
	next, size := s.first, 0
	err := x.framesOf(s).b.ForEach(func(k, v []byte) error {
		if numberOf(k) != next {
			return fmt.Errorf("event %d is missing", next)
		}
		next++
		size += len(v)
		return nil
	})
	if err == nil && (next != s.last+1 || size != s.bytes) {
		err = fmt.Errorf("a stream ends with %d, it should with %d; %d bytes of %d", next-1, s.last, size, s.bytes)
	}
	return err
}

// edit changes a file that no store has open.
func edit(path string, how func(tx *bbolt.Tx) error) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(how), db.Close())
}

// Rewrite changes what a file says about itself.
func Rewrite(path, key string, value []byte) error {
	return edit(path, func(tx *bbolt.Tx) error { return tx.Bucket([]byte(aboutName)).Put([]byte(key), value) })
}

// Downgrade makes both files ones of format 1, 2 or 3.
func Downgrade(path string, to byte) error {
	err := edit(path, func(tx *bbolt.Tx) error {
		if to == 3 {
			return nil
		}
		return downgradeTasks(&txn{tx: tx}, to)
	})
	return errors.Join(
		err, Rewrite(path, formatKey, []byte{to}),
		edit(path+".events", downgradeEvents), Rewrite(path+".events", formatKey, []byte{to}),
	)
}

func downgradeTasks(t *txn, to byte) error {
	x := tasksIn(t, taskBounds{})
	err := x.rows.b.ForEach(func(key, row []byte) error {
		k := openTaskEntry(string(key[1:]), row)
		if to > 1 {
			return nil
		}
		x.counts.bytes -= len(k.owner) // format 1 counted it twice
		if k.state != stateOver {
			return nil
		}
		x.counts.endedSize -= len(k.owner)
		x.over.remove(ownerKey(k.owner, k.over))
		x.over.put(appendNumber(nil, k.over), key)
		return nil
	})
	t.setCounts(tasksName, x.counts, counts{})
	if to == 1 {
		err = errors.Join(err, t.tx.DeleteBucket([]byte(sharesName)), t.tx.DeleteBucket([]byte(ranksName)))
	}
	return errors.Join(err, t.err, t.tx.DeleteBucket([]byte(openName)))
}

// downgradeEvents makes of the queues one.
func downgradeEvents(tx *bbolt.Tx) error {
	t := &txn{tx: tx}
	x := eventsIn(t, nil)
	t.empty(keptName)
	t.bucket(countsName).remove([]byte(keptName))
	err := x.streams.b.ForEach(func(key, _ []byte) error {
		if s := findStream(x.streams, key); !s.emptied {
			t.bucket(keptName).put(appendNumber(nil, s.order), bytes.Clone(key))
		}
		return nil
	})
	return errors.Join(err, t.err)
}

// WriteBadly writes what bbolt refuses, or panics.
func WriteBadly(s *Store, panics bool) error {
	return s.main.write(func(t *txn) error {
		t.bucket(countsName).put([]byte("half"), []byte("half"))
		if panics {
			panic("a page is not what it should be")
		}
		t.bucket(countsName).put(nil, nil)
		return nil
	})
}

// Half says whether something of WriteBadly is there.
func Half(s *Store) (there bool) {
	_ = s.main.view(func(t *txn) error {
		there = t.bucket(countsName).get([]byte("half")) != nil
		return nil
	})
	return there
}

// Rows of all ports with a clock.
func Rows(s *Store) (n int) {
	_ = s.main.view(func(t *txn) error {
		for _, name := range []string{sessionsName, claimsName, tasksName, ownersName, endsName} {
			n += count(t.bucket(name))
		}
		return nil
	})
	return n
}

// Crash leaves the files as a process that was killed does, in that boot if it is not
// empty.
func Crash(s *Store, boot string) error {
	var err error
	if was, _ := s.main.mark(); boot != "" && was != nil {
		err = s.main.setMark([]byte(boot))
	}
	close(s.closing)
	s.close = func() error { return nil }
	return errors.Join(err, s.logged.close(), s.main.close())
}

// Spoil makes the record of a task one of a later program.
func Spoil(s *Store, id string) error {
	return s.tasks.write(func(x *taskRows) error {
		k := x.get(id)
		was := *k
		k.record = append([]byte{255}, k.record[1:]...)
		x.replace(&was, k)
		return nil
	})
}

// BootID is the ID of this boot, and SameBoot compares two.
var (
	BootID   = bootID
	SameBoot = sameBoot
)

// PathOf is the path of the URL of a store.
var PathOf = pathOf
