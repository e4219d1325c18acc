package boltstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

// few is the maximum number of expired rows that a write drops if it needs no space. It is larger
// than the number that a write can add, so that expired rows become fewer. It is small, so that no
// write has to drop everything that expired in a quiet hour.
const few = 8

// longestName is the maximum length of IDs, owners, keys and names of streams. bbolt's own bound is
// eight times as large, which leaves space for composed keys.
const longestName = 4096

func checkName(what, name string) error {
	if len(name) > longestName {
		return fmt.Errorf("boltstore: %s of %d bytes, at most %d", what, len(name), longestName)
	}
	return nil
}

// txn is one transaction. err is the error of the first write that failed; if it is set, the
// transaction must be rolled back.
//
// It is used by one goroutine, from the beginning of the transaction to its end. In a commit of
// several writers it is the same for all, with a new now and new moves for each.
type txn struct {
	tx    *bbolt.Tx
	now   int64
	wrote bool
	moves []move
	err   error
}

// bucket is a bucket in a transaction. Keys and values that it returns are valid as long as the
// transaction, and must not be changed.
type bucket struct {
	t *txn
	b *bbolt.Bucket
}

func (t *txn) bucket(name string) bucket { return bucket{t, t.tx.Bucket([]byte(name))} }

func (b bucket) get(key []byte) []byte { return b.b.Get(key) }

// first returns the first key and its value, or nil if the bucket is empty.
func (b bucket) first() (key, value []byte) { return b.b.Cursor().First() }

// next returns a number that it has not returned before.
func (b bucket) next() uint64 {
	b.t.wrote = true
	n, err := b.b.NextSequence()
	b.t.check(err)
	return n
}

// put keeps the value without a copy. The value must not change before the commit.
func (b bucket) put(key, value []byte) {
	b.t.wrote = true
	b.t.check(b.b.Put(key, value))
}

func (b bucket) remove(key []byte) {
	b.t.wrote = true
	b.t.check(b.b.Delete(key))
}

// empty removes everything from a bucket. The bucket's numbers continue.
func (t *txn) empty(name string) {
	last := t.bucket(name).b.Sequence()
	t.check(t.tx.DeleteBucket([]byte(name)))
	b, err := t.tx.CreateBucket([]byte(name))
	t.check(err)
	if err == nil {
		t.check(b.SetSequence(last))
	}
}

// check notes the first error of a write. The functions that change buckets return no error: the
// transaction fails at its end.
func (t *txn) check(err error) {
	if t.err == nil {
		t.err = err
	}
}

// counts holds the totals of one kind of data in the file. ended counts rows that may be dropped
// for new ones, and gone counts traces of dropped rows. bytes includes both.
type counts struct {
	rows, bytes      int
	ended, endedSize int
	gone, goneSize   int
}

const countsName = "counts"

// counts reads the totals of one kind of data.
func (t *txn) counts(port string) counts {
	var n [6]int
	t.totals(port, n[:])
	return counts{n[0], n[1], n[2], n[3], n[4], n[5]}
}

// setCounts writes the counts if they have changed.
func (t *txn) setCounts(port string, c, was counts) {
	if c != was {
		t.setTotals(port, c.rows, c.bytes, c.ended, c.endedSize, c.gone, c.goneSize)
	}
}

// totals reads the totals under a name into all. Missing ones are 0.
func (t *txn) totals(name string, all []int) {
	data := t.bucket(countsName).get([]byte(name))
	for i := range min(len(all), len(data)/8) {
		all[i] = int(numberOf(data[8*i:]))
	}
}

func (t *txn) setTotals(name string, all ...int) {
	data := make([]byte, 0, 8*len(all))
	for _, n := range all {
		data = appendNumber(data, uint64(n))
	}
	t.bucket(countsName).put([]byte(name), data)
}

// never is the expiry of data that does not expire, or not in the next centuries.
const never = math.MaxInt64

// nanos returns t in nanoseconds since 1970, limited to the range of an int64. For the zero time it
// returns never.
func nanos(t time.Time) int64 {
	const last = math.MaxInt64 / int64(time.Second)
	switch sec := t.Unix(); {
	case t.IsZero() || sec >= last:
		return never
	case sec <= -last:
		return math.MinInt64
	default:
		return t.UnixNano()
	}
}

// after returns the time d after now, or never if that overflows.
func after(now int64, d time.Duration) int64 {
	if now > never-int64(d) {
		return never
	}
	return now + int64(d)
}

// appendEnd appends a time so that keys sort by it.
func appendEnd(dst []byte, end int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(end)^(1<<63))
}

// endOf returns the time that appendEnd wrote. It needs at least 8 bytes.
func endOf(data []byte) int64 { return int64(binary.BigEndian.Uint64(data) ^ (1 << 63)) }

func appendNumber(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

// numberOf returns the number that appendNumber wrote. It needs at least 8 bytes.
func numberOf(data []byte) uint64 { return binary.BigEndian.Uint64(data) }

// endKey returns the key of a row in the bucket of expiries.
func endKey(end int64, key []byte) []byte { return append(appendEnd(nil, end), key...) }

// putEnd adds the key of a row to a bucket of expiries. If end is never, it does nothing.
func (b bucket) putEnd(end int64, key []byte) {
	if end != never {
		b.put(endKey(end, key), nil)
	}
}

// removeEnd undoes putEnd.
func (b bucket) removeEnd(end int64, key []byte) {
	if end != never {
		b.remove(endKey(end, key))
	}
}

// firstEnd returns the key of the row that expires first, if it has expired by now. Otherwise it
// returns nil.
func (b bucket) firstEnd(now int64) (key []byte) {
	key, _ = b.first()
	if key == nil || endOf(key) > now {
		return nil
	}
	return key[8:]
}

// sweep calls dropExpired up to most times, until it returns false because no row has expired. sweep
// reports whether there may be more expired rows.
func sweep(most int, dropExpired func() bool) (more bool) {
	for range most {
		if !dropExpired() {
			return false
		}
	}
	return true
}
