package boltstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

// few bounds the expired rows that a write drops if it needs no room. It is more than a write
// can add, so that they become fewer, and few, so that no write waits until all that expired in
// a quiet hour is dropped.
const few = 8

// longestName bounds ids, owners, keys and names of streams. bbolt's own bound is eight times
// as large, which leaves room for the keys that are composed of them.
const longestName = 4096

func checkName(what, name string) error {
	if len(name) > longestName {
		return fmt.Errorf("boltstore: %s of %d bytes, at most %d", what, len(name), longestName)
	}
	return nil
}

// txn is one transaction. If it writes, err is the first write that failed: the transaction
// must be rolled back then.
type txn struct {
	tx    *bbolt.Tx
	now   int64
	wrote bool
	moves []move
	err   error
}

// bucket is one of a transaction. What it returns is valid as long as the transaction, and must
// not be changed.
type bucket struct {
	t *txn
	b *bbolt.Bucket
}

func (t *txn) bucket(name string) bucket { return bucket{t, t.tx.Bucket([]byte(name))} }

func (b bucket) get(key []byte) []byte { return b.b.Get(key) }

// first is nil in an empty bucket.
func (b bucket) first() (key, value []byte) { return b.b.Cursor().First() }

// next is a number that it has not returned before.
func (b bucket) next() uint64 {
	b.t.wrote = true
	n, err := b.b.NextSequence()
	b.t.check(err)
	return n
}

// put keeps the value without a copy: it must not change before the commit.
func (b bucket) put(key, value []byte) {
	b.t.wrote = true
	b.t.check(b.b.Put(key, value))
}

func (b bucket) remove(key []byte) {
	b.t.wrote = true
	b.t.check(b.b.Delete(key))
}

// empty removes everything from a bucket. Its numbers go on counting.
func (t *txn) empty(name string) {
	last := t.bucket(name).b.Sequence()
	t.check(t.tx.DeleteBucket([]byte(name)))
	b, err := t.tx.CreateBucket([]byte(name))
	t.check(err)
	if err == nil {
		t.check(b.SetSequence(last))
	}
}

func (t *txn) check(err error) {
	if t.err == nil {
		t.err = err
	}
}

// counts are the totals of a port in the file. ended are those of rows that may be dropped for
// new ones, gone those of traces of dropped rows; both are also in bytes.
type counts struct {
	rows, bytes      int
	ended, endedSize int
	gone, goneSize   int
}

const countsName = "counts"

func (t *txn) counts(port string) (c counts) {
	data := t.bucket(countsName).get([]byte(port))
	for i, field := range c.fields() {
		if len(data) >= 8*(i+1) {
			*field = int(binary.BigEndian.Uint64(data[8*i:]))
		}
	}
	return c
}

func (c *counts) fields() [6]*int {
	return [...]*int{&c.rows, &c.bytes, &c.ended, &c.endedSize, &c.gone, &c.goneSize}
}

// setCounts writes the counts if they have changed.
func (t *txn) setCounts(port string, c, was counts) {
	if c == was {
		return
	}
	data := make([]byte, 0, 8*len(c.fields()))
	for _, field := range c.fields() {
		data = binary.BigEndian.AppendUint64(data, uint64(*field))
	}
	t.bucket(countsName).put([]byte(port), data)
}

// never is the expiry of what does not expire, or not in the next centuries.
const never = math.MaxInt64

// nanos is t in nanoseconds since 1970, as far as they can be counted; never for the zero time.
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

// after is d later than now; never if that overflows.
func after(now int64, d time.Duration) int64 {
	if now > never-int64(d) {
		return never
	}
	return now + int64(d)
}

// appendEnd makes keys that sort by time.
func appendEnd(dst []byte, end int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(end)^(1<<63))
}

// endOf needs at least 8 bytes.
func endOf(data []byte) int64 { return int64(binary.BigEndian.Uint64(data) ^ (1 << 63)) }

func appendNumber(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

// numberOf needs at least 8 bytes.
func numberOf(data []byte) uint64 { return binary.BigEndian.Uint64(data) }

// endKey is the key of a row in the bucket of expiries.
func endKey(end int64, key []byte) []byte { return append(appendEnd(nil, end), key...) }
