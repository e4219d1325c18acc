package boltstore

import (
	"bytes"
	"fmt"
)

// rowCost is the bookkeeping of a row that counts toward the bounds. It is about the space that
// bbolt uses in addition to key and value.
const rowCost = 96

// table describes values that expire, in two buckets: the rows, and their keys in the order of
// expiry. When the table is full, a new row is refused.
type table struct {
	file  *file
	name  string // of the bucket of rows; the other is name.ends
	rows  int
	bytes int
	full  error
	spare int // part of bytes that values of more than smallValue leave free
}

// smallValue is the maximum length of a value that may use all of the space.
const smallValue = 1 << 10

// rows is a table in a transaction. A row is its time of expiry, followed by the value.
//
// It belongs to one transaction. A writer's counts are written back by table.write; a reader has
// none.
type rows struct {
	table  *table
	t      *txn
	rows   bucket
	ends   bucket
	counts counts
}

// in opens the table in a transaction, for reading.
func (tb *table) in(t *txn) *rows {
	return &rows{table: tb, t: t, rows: t.bucket(tb.name), ends: t.bucket(tb.name + ".ends")}
}

// write runs change in a transaction, see [write]. It also drops a few expired rows.
func (tb *table) write(change func(r *rows) error) error {
	return tb.file.write(func(t *txn) error {
		r := tb.in(t)
		r.counts = t.counts(tb.name)
		was := r.counts
		sweep(few, r.dropExpired)
		err := change(r)
		t.setCounts(tb.name, r.counts, was)
		return err
	})
}

// dropExpired drops the row that expired first. If no row has expired, it returns false.
func (r *rows) dropExpired() bool {
	key := r.ends.firstEnd(r.t.now)
	if key == nil {
		return false
	}
	r.drop(bytes.Clone(key))
	return true
}

// find returns the value for the key. Expired rows may still be in the file; find does not return
// them.
//
// value is valid as long as the transaction.
func (r *rows) find(key []byte) (value []byte, there bool) {
	row := r.rows.get(key)
	if row == nil || endOf(row) <= r.t.now {
		return nil, false
	}
	return row[8:], true
}

// put stores a value and replaces the previous value for the key.
//
// If there is no room, it returns the error full and has changed nothing but expired rows. value is
// copied.
func (r *rows) put(key []byte, end int64, value []byte) error {
	before := r.rows.get(key)
	if before != nil && endOf(before) <= r.t.now {
		r.drop(key)
		before = nil
	}
	more, size := 1, cost(key, len(value))
	if before != nil {
		more, size = 0, size-cost(key, len(before)-8)
	}
	most := r.table.bytes
	if len(value) > smallValue {
		most -= r.table.spare
	}
	if err := r.makeSpace(more, size, most); err != nil {
		return err
	}
	if before != nil {
		r.ends.removeEnd(endOf(before), key)
	}
	r.ends.putEnd(end, key)
	r.rows.put(key, append(appendEnd(nil, end), value...))
	r.counts.rows += more
	r.counts.bytes += size
	return nil
}

// makeSpace drops expired rows until the additional rows and bytes fit.
func (r *rows) makeSpace(more, size, most int) error {
	for more > 0 && r.counts.rows+more > r.table.rows || size > 0 && r.counts.bytes+size > most {
		if !r.dropExpired() {
			return fmt.Errorf("boltstore: %w: %d %s in %d bytes are held, %d bytes more are needed",
				r.table.full, r.counts.rows, r.table.name, r.counts.bytes, size)
		}
	}
	return nil
}

// drop removes a row, if it is there. key must not be memory of the row.
func (r *rows) drop(key []byte) {
	row := r.rows.get(key)
	if row == nil {
		return
	}
	r.counts.rows--
	r.counts.bytes -= cost(key, len(row)-8)
	r.ends.removeEnd(endOf(row), key)
	r.rows.remove(key)
}

// cost returns the size of a row. It counts the key twice, because the bucket of expiries also
// contains it.
func cost(key []byte, value int) int { return rowCost + 2*len(key) + value }
