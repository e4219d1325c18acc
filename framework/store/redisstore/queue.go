package redisstore

import (
	"context"
	_ "embed" // for the scripts
	"fmt"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/task"
)

var (
	//go:embed lua/queue_take.lua
	queueTakeLua string
	//go:embed lua/queue_accept.lua
	queueAcceptLua string
	//go:embed lua/queue_renew.lua
	queueRenewLua string
	//go:embed lua/queue_release.lua
	queueReleaseLua string
	//go:embed lua/queue_reap.lua
	queueReapLua string

	queueTake    = newScript(taskLua + queueTakeLua)
	queueAccept  = newScript(taskLua + queueAcceptLua)
	queueRenew   = newScript(taskLua + queueRenewLua)
	queueRelease = newScript(taskLua + queueReleaseLua)
	queueReap    = newScript(taskLua + queueReapLua)
)

// group is that of all workers. lua/task.lua has it, too.
const group = "w"

// Take waits in one line with the others of this store. It fails where Redis is away,
// and does not try again by itself.
func (s *tasks) Take(ctx context.Context) (task.Lease, error) {
	if err := ctx.Err(); err != nil {
		return task.Lease{}, err
	}
	if s.store.fault != nil {
		return task.Lease{}, s.store.fault
	}
	t, err := s.line.wait(ctx)
	if err != nil {
		return task.Lease{}, err
	}
	return s.lease(t), nil
}

// turn is an entry of the line that is handed out.
type turn struct {
	task  string
	entry string
	count int64 // how often it was handed out
}

// lease has a token by which nobody can take the lease of the next one for his own: that
// has another count, even with the same store.
func (s *tasks) lease(t turn) task.Lease {
	return task.Lease{
		Task:  t.task,
		Token: t.entry + " " + strconv.FormatInt(t.count, 10) + " " + s.line.consumer,
		Life:  s.line.life,
		Again: t.count > 1,
	}
}

// Renew leaves how often it was handed out as it is.
func (s *tasks) Renew(ctx context.Context, l task.Lease) error {
	held, err := s.held(ctx, queueRenew, l)
	switch {
	case err != nil:
		return failed("renewing a lease", err)
	case !held:
		return fmt.Errorf("redisstore: %w", task.ErrLost)
	}
	return nil
}

// Release needs no round trip where this store has seen the task leave the line.
func (s *tasks) Release(ctx context.Context, l task.Lease) error {
	if entry, _, _ := strings.Cut(l.Token, " "); s.line.isOver(entry) {
		return nil
	}
	if _, err := s.held(ctx, queueRelease, l); err != nil {
		return failed("releasing a lease", err)
	}
	return nil
}

// held runs a script that says whether the lease is that of the token. It may be used by
// another store than the one that took it.
func (s *tasks) held(ctx context.Context, what script, l task.Lease) (bool, error) {
	entry, rest, _ := strings.Cut(l.Token, " ")
	count, consumer, ok := strings.Cut(rest, " ")
	if !ok {
		return false, nil
	}
	if _, err := strconv.ParseInt(count, 10, 64); err != nil {
		return false, nil //nolint:nilerr // a token that is none is that of no lease
	}
	held, err := s.run(ctx, what, s.store.lineKey(), consumer, l.Task, entry, count).Int()
	return held == 1, err
}
