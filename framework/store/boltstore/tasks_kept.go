package boltstore

import (
	"encoding/binary"
	"fmt"

	"github.com/kagami-mcp/kagami/framework/store/internal/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// state is a status, as far as the store must know it.
type state byte

const (
	stateWaits   state = iota // for answers
	stateWorking              // in line, or leased
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

// kept is the row of a task: what the store must know without parsing the record, and the
// record, in which id and owner are left out.
type kept struct {
	id     string
	end    int64
	number uint64 // in the order of creation
	over   uint64 // in the order of ending; 0: it has not ended
	state  state
	owner  []byte
	record []byte
}

// keptHead is the length of the fields in front of the owner.
const keptHead = 8 + 8 + 8 + 1 + 2

// taskCost is the bookkeeping of a task as the bound counts it, about what bbolt uses.
const taskCost = 256

func newKept(r *task.Record) *kept {
	k := &kept{id: r.ID, end: never, state: stateOf(r), owner: []byte(r.Owner)}
	if e := r.Expires(); !e.IsZero() {
		k.end = nanos(e)
	}
	plain := *r
	plain.ID, plain.Owner = "", ""
	k.record = record.AppendTask(nil, &plain)
	return k
}

// openKept parses a row without copying its bytes.
func openKept(id string, row []byte) *kept {
	owner := keptHead + int(binary.BigEndian.Uint16(row[25:]))
	return &kept{
		id: id, end: endOf(row), number: numberOf(row[8:]), over: numberOf(row[16:]), state: state(row[24]),
		owner: row[keptHead:owner], record: row[owner:],
	}
}

func (k *kept) row() []byte {
	dst := make([]byte, 0, keptHead+len(k.owner)+len(k.record))
	dst = appendNumber(appendNumber(appendEnd(dst, k.end), k.number), k.over)
	dst = append(dst, byte(k.state))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(k.owner)))
	return append(append(dst, k.owner...), k.record...)
}

func (k *kept) parse() (task.Record, error) {
	r, err := record.ParseTask(k.record)
	if err != nil {
		return task.Record{}, fmt.Errorf("%w: %w: %w", ErrDamaged, task.ErrUnreadable, err)
	}
	r.ID, r.Owner = k.id, string(k.owner)
	return r, nil
}

func (k *kept) alive(now int64) bool { return now < k.end }

// cost counts id and owner as often as they are in a bucket.
func (k *kept) cost() int { return taskCost + 3*len(k.id) + 3*len(k.owner) + len(k.record) }

// placeInList is the value under which the owner's list has the task.
func (k *kept) placeInList() []byte {
	return append(appendEnd([]byte{byte(k.state)}, k.end), k.id...)
}

// ownerPrefix begins with the length, so that no owner's keys begin like another's.
func ownerPrefix(owner []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(owner))), owner...)
}

func ownerKey(owner []byte, number uint64) []byte { return appendNumber(ownerPrefix(owner), number) }
