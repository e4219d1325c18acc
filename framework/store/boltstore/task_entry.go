package boltstore

import (
	"encoding/binary"
	"fmt"

	"github.com/kagami-mcp/kagami/framework/store/internal/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// state is a task's status, as far as the store uses it.
type state byte

const (
	stateWaits   state = iota // for answers
	stateWorking              // in the queue, or leased
	stateOver
)

func stateOf(r *task.Record) state {
	switch {
	case r.Terminal():
		return stateOver
	case r.Status == protocol.TaskWorking:
		return stateWorking
	default:
		return stateWaits
	}
}

// taskEntry is the row of a task. It has the fields that the store reads without parsing the record, and
// the record. ID and owner are left out of the record.
//
// An entry from openTaskEntry refers to the memory of its row. It is valid until the transaction ends
// or the row is written, whichever comes first.
type taskEntry struct {
	id     string
	end    int64
	number uint64 // grows in the order of creation
	over   uint64 // grows in the order of ending; 0 if the task has not ended
	state  state
	owner  []byte
	record []byte
}

// keptHead is the length of the fields in front of the owner.
const keptHead = 8 + 8 + 8 + 1 + 2

// taskCost is the bookkeeping of a task that counts toward TaskBytes. It is about the space that
// bbolt uses.
const taskCost = 256

// newKept returns the row for a record, with memory of its own. number and over are set when it is
// stored.
func newKept(r *task.Record) *taskEntry {
	k := &taskEntry{id: r.ID, end: never, state: stateOf(r), owner: []byte(r.Owner)}
	if e := r.Expires(); !e.IsZero() {
		k.end = nanos(e)
	}
	plain := *r
	plain.ID, plain.Owner = "", ""
	k.record = record.AppendTask(nil, &plain)
	return k
}

// openTaskEntry parses a row without copying its bytes.
func openTaskEntry(id string, row []byte) *taskEntry {
	owner := keptHead + int(binary.BigEndian.Uint16(row[25:]))
	return &taskEntry{
		id: id, end: endOf(row), number: numberOf(row[8:]), over: numberOf(row[16:]), state: state(row[24]),
		owner: row[keptHead:owner], record: row[owner:],
	}
}

func (k *taskEntry) row() []byte {
	dst := make([]byte, 0, keptHead+len(k.owner)+len(k.record))
	dst = appendNumber(appendNumber(appendEnd(dst, k.end), k.number), k.over)
	dst = append(dst, byte(k.state))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(k.owner)))
	return append(append(dst, k.owner...), k.record...)
}

// parse returns the record, as a copy.
func (k *taskEntry) parse() (task.Record, error) {
	r, err := record.ParseTask(k.record)
	if err != nil {
		return task.Record{}, fmt.Errorf("%w: %w: %w", ErrDamaged, task.ErrUnreadable, err)
	}
	r.ID, r.Owner = k.id, string(k.owner)
	return r, nil
}

func (k *taskEntry) alive(now int64) bool { return now < k.end }

// cost returns the size of a task. It counts ID and owner three times, because three buckets
// contain them.
func (k *taskEntry) cost() int { return taskCost + 3*len(k.id) + 3*len(k.owner) + len(k.record) }

// listEntry returns the value that the owner's list has for the task.
func (k *taskEntry) listEntry() []byte {
	return append(appendEnd([]byte{byte(k.state)}, k.end), k.id...)
}

// ownerPrefix returns the prefix of an owner's keys. It begins with the length, so that no owner's
// keys begin like another's.
func ownerPrefix(owner []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(owner))), owner...)
}

func ownerKey(owner []byte, number uint64) []byte { return appendNumber(ownerPrefix(owner), number) }
