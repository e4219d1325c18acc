package nodes

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// A node that runs says so in the store: who waits for what it writes gives up when it
// does not any more.
const (
	beat      = 5 * time.Second
	lifeAfter = 4 * beat // of the record, from each beat on
	beatTime  = 2 * time.Second
)

// newMark is 16 bits that are not 0.
func newMark() uint16 {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint16(b[:]), 1)
}

func aliveKey(mark uint16) string { return "node." + strconv.Itoa(int(mark)) }

// living keeps the record of this node until ctx ends, and takes it away then.
func (n *Node) living(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		n.say(ctx)
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

// say is one beat. One that is lost does no harm.
func (n *Node) say(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	until := time.Now().Add(lifeAfter)
	if err := n.Sessions.Touch(ctx, aliveKey(n.Mark), until); errors.Is(err, session.ErrNotFound) {
		_ = n.Sessions.Create(ctx, session.Record{ID: aliveKey(n.Mark), Expires: until})
	}
}

// Lives says whether the node with that mark runs. While the store is away, it does.
func (n *Node) Lives(ctx context.Context, mark uint16) bool {
	if mark == n.Mark {
		return true
	}
	_, err := n.Sessions.Get(ctx, aliveKey(mark))
	return !errors.Is(err, session.ErrNotFound)
}
