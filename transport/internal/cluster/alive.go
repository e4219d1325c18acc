package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// A running node keeps a record of its own in the store. When the record is gone, other nodes stop
// waiting for what this node writes.
const (
	beat      = 5 * time.Second // between two renewals of the record
	lifeAfter = 4 * beat        // how long the record lives after each
	beatTime  = 2 * time.Second // how long one may take

	// recovery is how long after a failure of the store a node that runs may have no record.
	recovery = 2 * (beat + beatTime)
)

// newMark returns 31 random bits, not 0. Of 1,000 nodes that run at the same time, two have the
// same mark with a probability of 1 in 4,000.
func newMark() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint32(b[:])>>1, 1)
}

func aliveKey(mark uint32) string { return "node." + strconv.FormatUint(uint64(mark), 10) }

// living is the goroutine that renews the record of this node until ctx ends, and then
// deletes it.
func (n *Node) living(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := n.say(ctx); err != nil && !first {
			n.failed.Store(time.Now().UnixNano())
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTime)
		_ = n.Sessions.Delete(ctx, aliveKey(n.Mark)) // else it expires
		cancel()
		return
	}
}

// say renews the record once. It returns an error if the store did not have the record any more, or
// could not renew it. lifeAfter allows for several failures.
func (n *Node) say(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	until := time.Now().Add(lifeAfter)
	err := n.Sessions.Touch(ctx, aliveKey(n.Mark), until)
	if errors.Is(err, session.ErrNotFound) {
		_ = n.Sessions.Create(ctx, session.Record{ID: aliveKey(n.Mark), Expires: until, Data: []byte(n.opening())})
	}
	return err
}

// opening returns the opening of an exclusive store, or "" for other stores.
func (n *Node) opening() string {
	if store, ok := n.Sessions.(session.Exclusive); ok {
		return store.Opening()
	}
	return ""
}

// Lives reports whether the node with that mark runs. While the store is unavailable, and for recovery
// after that, Lives returns true: the records of all nodes may have expired meanwhile. A killed node
// counts as running for up to lifeAfter, unless its process had an exclusive store: this process could
// not have opened the store then.
func (n *Node) Lives(ctx context.Context, mark uint32) bool {
	if mark == n.Mark {
		return true
	}
	r, err := n.Sessions.Get(ctx, aliveKey(mark))
	if err != nil {
		return !errors.Is(err, session.ErrNotFound) || time.Since(time.Unix(0, n.failed.Load())) < recovery
	}
	return string(r.Data) == n.opening()
}
