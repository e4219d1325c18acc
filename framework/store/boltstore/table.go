package boltstore

import (
	"bytes"
	"fmt"
)

// rowCost is the bookkeeping of a row besides its bytes, as the bounds count it: about what
// bbolt uses.
const rowCost = 96

// table keeps values that expire, in two buckets: the rows, and their keys in the order of
// expiry. When there is no room, a new row is refused.
type table struct {
	name      string
	rows      int
	bytes     int
	spare     int // of bytes: what values of more than smallValue leave to others
	full      error
	namedEnds string
}

// smallValue is how long a value may be that takes any room there is.
const smallValue = 1 << 10

func newTable(name string, rows, bytes int, full error) table {
	return table{name: name, namedEnds: name + ".ends", rows: rows, bytes: bytes, full: full}
}

// rows is a table in a transaction. A row is its time of expiry, followed by the value.
type rows struct {
	table  *table
	t      *txn
	rows   bucket
	ends   bucket
	counts counts
}

func (tb *table) in(t *txn) *rows {
	return &rows{table: tb, t: t, rows: t.bucket(tb.name), ends: t.bucket(tb.namedEnds)}
}

// write lets a transaction change the rows, see [write].
func (tb *table) write(f *file, change func(r *rows) error) error {
	return f.write(func(t *txn) error {
		r := tb.in(t)
		r.counts = t.counts(tb.name)
		was := r.counts
		r.sweep(few)
		err := change(r)
		t.setCounts(tb.name, r.counts, was)
		return err
	})
}

// sweep drops up to so many expired rows, and says whether there may be more.
func (r *rows) sweep(most int) bool {
	for range most {
		if !r.dropExpired() {
			return false
		}
	}
	return true
}

// dropExpired drops the row that expired first, if any has expired.
func (r *rows) dropExpired() bool {
	key, _ := r.ends.first()
	if key == nil || endOf(key) > r.t.now {
		return false
	}
	r.drop(bytes.Clone(key[8:]))
	return true
}

// find does not return a row that has expired, though it may still be in the file.
func (r *rows) find(key []byte) (value []byte, there bool) {
	row := r.rows.get(key)
	if row == nil || endOf(row) <= r.t.now {
		return nil, false
	}
	return row[8:], true
}

// put stores a value in place of what was under the key.
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
	if err := r.makeRoom(more, size, most); err != nil {
		return err
	}
	if before != nil {
		r.removeEnd(endOf(before), key)
	}
	if end != never {
		r.ends.put(endKey(end, key), nil)
	}
	r.rows.put(key, append(appendEnd(nil, end), value...))
	r.counts.rows += more
	r.counts.bytes += size
	return nil
}

// makeRoom drops expired rows until so much more fits into most bytes.
func (r *rows) makeRoom(more, size, most int) error {
	for more > 0 && r.counts.rows+more > r.table.rows || size > 0 && r.counts.bytes+size > most {
		if !r.dropExpired() {
			return fmt.Errorf("boltstore: %w: %d %s in %d bytes are held, %d bytes more are needed",
				r.table.full, r.counts.rows, r.table.name, r.counts.bytes, size)
		}
	}
	return nil
}

func (r *rows) drop(key []byte) {
	row := r.rows.get(key)
	if row == nil {
		return
	}
	r.counts.rows--
	r.counts.bytes -= cost(key, len(row)-8)
	r.removeEnd(endOf(row), key)
	r.rows.remove(key)
}

func (r *rows) removeEnd(end int64, key []byte) {
	if end != never {
		r.ends.remove(endKey(end, key))
	}
}

// cost counts the key twice: it is in the bucket of expiries, too.
func cost(key []byte, value int) int { return rowCost + 2*len(key) + value }
