package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// victimPath is the variable with the path of the store that a victim writes to.
const victimPath = "BOLTSTORE_VICTIM"

const victims = 8 // that write at the same time

// victim writes until it is killed, and says what was acknowledged, a line for each:
//
//	t ID VERSION    a task was created or updated
//	d ID            it was deleted
//	k ID            it was taken
//	s ID VERSION    a session
//	c ID SUM        a counter
//	e ID SEQ        an event
func victim(path string) {
	limited := limitFiles()
	s, err := boltstore.Open(path)
	if err = errors.Join(err, limited); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "!", err)
		os.Exit(1)
	}
	var (
		all sync.WaitGroup
		mu  sync.Mutex // guards stdout
		ack = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...)
		}
	)
	for w := range victims {
		all.Go(func() {
			for n := 0; ; n++ {
				if err := victimWrites(s, w, n, ack); err != nil {
					ack("! %v", err)
					os.Exit(1)
				}
			}
		})
	}
	all.Wait()
}

func victimWrites(s *boltstore.Store, w, n int, ack func(format string, args ...any)) error {
	ctx := context.Background()
	name := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, n)
	tasks := s.Tasks().(storetest.QueueStore)
	if err := tasks.Create(ctx, victimTask(name)); err != nil {
		return err
	}
	ack("t %s 1", name)
	lease, err := tasks.Take(ctx)
	if err != nil {
		return err
	}
	ack("k %s", lease.Task)
	if err := victimUpdate(tasks, lease.Task, nil, ack); err != nil {
		return err
	}
	switch n % 3 {
	case 0:
		err = victimUpdate(tasks, lease.Task, func(r *task.Record) { r.Status, r.Result, r.Journal = protocol.TaskCompleted, []byte("{}"), nil }, ack)
	case 1:
		if err = tasks.Delete(ctx, lease.Task); err == nil {
			ack("d %s", lease.Task)
		}
	}
	if err != nil {
		return err
	}
	return victimOthers(s, name, w, ack)
}

func victimTask(id string) task.Record {
	now := time.Now()
	return task.Record{
		ID: id, Owner: "owner", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour,
		Call: victimBytes(id, 0), Journal: victimBytes(id, 1),
	}
}

// victimBytes say whose they are, and are more than a page.
func victimBytes(id string, version uint64) []byte {
	return bytes.Repeat(fmt.Append(nil, id, " ", version, ";"), 400)
}

func victimUpdate(tasks task.Store, id string, how func(r *task.Record), ack func(format string, args ...any)) error {
	r, err := tasks.Get(context.Background(), id)
	if err != nil {
		return err
	}
	r.Journal = victimBytes(id, r.Version+1)
	if how != nil {
		how(&r)
	}
	if err := tasks.Update(context.Background(), r); err != nil {
		return err
	}
	ack("t %s %d", id, r.Version+1)
	return nil
}

func victimOthers(s *boltstore.Store, name string, w int, ack func(format string, args ...any)) error {
	ctx := context.Background()
	r := session.Record{ID: name, Expires: time.Now().Add(time.Hour), Data: victimBytes(name, 1)}
	if err := s.Sessions().Create(ctx, r); err != nil {
		return err
	}
	ack("s %s 1", name)
	r.Version, r.Data = 1, victimBytes(name, 2)
	if err := s.Sessions().Update(ctx, r); err != nil {
		return err
	}
	ack("s %s 2", name)
	owner := fmt.Sprintf("%d-%d", os.Getpid(), w)
	sum, err := s.Claims().Add(ctx, owner, 1, time.Hour)
	if err != nil {
		return err
	}
	ack("c %s %d", owner, sum)
	seq, err := s.Events().Append(ctx, owner, victimBytes(owner, uint64(sum)))
	if err != nil {
		return err
	}
	ack("e %s %d", owner, seq)
	return nil
}
