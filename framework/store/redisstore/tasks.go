package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/store/internal/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

var (
	taskCreate = newScript("task", "task_create")
	taskUpdate = newScript("task", "task_update")
	taskDelete = newScript("task", "task_delete")
	taskList   = newScript("task", "task_list")
	taskCount  = newScript("task", "task_count")
)

// tasks is the task.Store and the task.Queue. lua/task.lua describes the stored keys.
//
// takes is a value with a mutex, so tasks must not be copied after New.
type tasks struct {
	store *Store
	most  taskBounds
	takes takeQueue
}

// run runs a script on the keys of a record.
func (s *tasks) run(ctx context.Context, what script, key string, args ...any) *redis.Cmd {
	return s.store.run(ctx, what, []string{key}, append([]any{s.store.taskBase()}, args...)...)
}

func taskBinding(id, owner string) []byte { return binding("task", id, owner) }

// flags returns the facts about a status that the scripts need.
func flags(r *task.Record) (working, live string) {
	flag := map[bool]string{true: "1", false: "0"}
	return flag[r.Status == protocol.TaskWorking], flag[!r.Terminal()]
}

var errFull = fmt.Errorf("redisstore: %w: the limit is redisstore.LiveBytes", task.ErrFull)

// Create copies the record.
func (s *tasks) Create(ctx context.Context, r task.Record) error {
	r.Version = 1
	expires := int64(0)
	if end := r.Expires(); !end.IsZero() {
		expires = max(unixMillis(end), 1)
	}
	working, live := flags(&r)
	data := s.store.box.seal(record.AppendTask(nil, &r), taskBinding(r.ID, r.Owner))
	made, err := s.run(ctx, taskCreate, s.store.recordKey(r.ID),
		r.ID, r.Owner, working, live, expires, stamp(r.Created), unixMillis(r.Created), data, s.most.ended, s.most.endedBytes, s.most.liveBytes).Int()
	switch {
	case err != nil: // Update leaves out ErrFull, because it can be repeated when Redis has memory again
		return failedOrFull(task.ErrFull, "creating a task", err)
	case made == 0:
		return fmt.Errorf("redisstore: %w", task.ErrExists)
	case made == 3:
		return errFull
	}
	return nil
}

// Get reads the record atomically.
func (s *tasks) Get(ctx context.Context, id string) (task.Record, error) {
	const doing = "reading a task"
	if s.store.fault != nil {
		return task.Record{}, s.store.fault
	}
	fields, err := s.store.client.HMGet(ctx, s.store.recordKey(id), "o", "v", "c", "d").Result()
	if err != nil {
		return task.Record{}, failed(doing, err)
	}
	owner, ok := fields[0].(string)
	if !ok {
		return task.Record{}, fmt.Errorf("redisstore: %w", task.ErrNotFound)
	}
	r, err := s.parse(id, owner, fields[1:])
	if err != nil {
		return task.Record{}, failed(doing, fmt.Errorf("%w: %w", task.ErrUnreadable, err))
	}
	return r, nil
}

// parse returns a record with the stored version and creation time. The version and time in the
// data are ignored, because the last Update wrote them.
func (s *tasks) parse(id, owner string, fields []any) (task.Record, error) {
	version, _ := fields[0].(string)
	created, _ := fields[1].(string)
	kept, _ := fields[2].(string)
	data, err := s.store.box.open(kept, taskBinding(id, owner))
	if err != nil {
		return task.Record{}, err
	}
	r, err := record.ParseTask(data)
	if err != nil {
		return task.Record{}, fmt.Errorf("its data: %w", err)
	}
	r.ID, r.Owner = id, owner
	if r.Version, err = strconv.ParseUint(version, 10, 64); err != nil {
		return task.Record{}, fmt.Errorf("its version: %w", err)
	}
	if r.Created, err = parseStamp(created); err != nil {
		return task.Record{}, err
	}
	return r, nil
}

// Update copies the record. The data is sealed for the owner given to Create. If r has another
// owner, the script refuses, and Update seals the data again for the stored one.
func (s *tasks) Update(ctx context.Context, r task.Record) error {
	reply, err := s.update(ctx, &r)
	if owner, ok := reply.([]any); ok && err == nil && len(owner) == 1 {
		r.Owner, _ = owner[0].(string)
		reply, err = s.update(ctx, &r)
	}
	switch {
	case err != nil:
		return failed("changing a task", err)
	case reply == int64(0):
		return fmt.Errorf("redisstore: %w", task.ErrNotFound)
	case reply == int64(2):
		return fmt.Errorf("redisstore: %w", task.ErrConflict)
	case reply == int64(3):
		return errFull
	}
	if over, _ := reply.(string); over != "" {
		s.takes.over(over)
	}
	return nil
}

func (s *tasks) update(ctx context.Context, r *task.Record) (any, error) {
	ttl := int64(0)
	if r.TTL > 0 {
		ttl = millis(r.TTL)
	}
	working, live := flags(r)
	data := s.store.box.seal(record.AppendTask(nil, r), taskBinding(r.ID, r.Owner))
	grown := s.most.liveBytes + s.most.liveBytes/2
	return s.run(ctx, taskUpdate, s.store.recordKey(r.ID),
		r.ID, r.Version, r.Owner, working, live, ttl, data, s.most.ended, s.most.endedBytes, grown).Result()
}

// Delete also removes the task from the queue.
func (s *tasks) Delete(ctx context.Context, id string) error {
	if err := s.run(ctx, taskDelete, s.store.recordKey(id), id).Err(); err != nil {
		return failed("deleting a task", err)
	}
	return nil
}

// List reads page by page. A task that is created or deleted meanwhile may or may not be in the
// list.
func (s *tasks) List(ctx context.Context, owner, after string, limit int) ([]task.Record, error) {
	var out []task.Record
	for from := ""; len(out) < limit; {
		reply, err := s.run(ctx, taskList, s.store.ownerKey(owner), owner, after, from, limit-len(out)).Slice()
		if err != nil {
			return nil, failed("listing tasks", err)
		}
		for fields := reply[1:]; len(fields) >= 4; fields = fields[4:] {
			id, _ := fields[0].(string)
			r, err := s.parse(id, owner, fields[1:])
			if err != nil { // one unreadable record must not hide the others
				r = task.Record{ID: id, Owner: owner}
			}
			out = append(out, r)
		}
		if from, _ = reply[0].(string); from == "" {
			break
		}
	}
	return out, nil
}

// Count returns the number of the owner's unfinished tasks. It takes time logarithmic in the number
// of tasks.
func (s *tasks) Count(ctx context.Context, owner string) (int, error) {
	n, err := s.run(ctx, taskCount, s.store.liveKey(owner)).Int()
	if err != nil {
		return 0, failed("counting tasks", err)
	}
	return n, nil
}
