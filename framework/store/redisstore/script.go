package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script. Its hash is computed at its first run: most programs that have this
// package linked in have no Redis.
type script func() *redis.Script

func newScript(source string) script {
	return sync.OnceValue(func() *redis.Script { return redis.NewScript(source) })
}

// run runs a script, and never sends it twice.
func (s *Store) run(ctx context.Context, what script, keys []string, args ...any) *redis.Cmd {
	if s.fault != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(s.fault)
		return cmd
	}
	return what().Run(ctx, once{s.client}, keys, args...)
}

// once is a client that sends a script only once. If it were sent again because the answer was
// lost, an event would be there twice, and a created record would seem to have existed before.
type once struct{ redis.UniversalClient }

// EvalSha implements redis.Scripter.
func (o once) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return o.eval(ctx, "evalsha", sha, keys, args)
}

// Eval implements redis.Scripter.
func (o once) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return o.eval(ctx, "eval", source, keys, args)
}

func (o once) eval(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return o.do(ctx, append(all, args...)...)
}

// do sends any command once.
func (o once) do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := onceCmd{redis.NewCmd(ctx, args...)}
	_ = o.Process(ctx, cmd) // cmd has the error
	return cmd.Cmd
}

// onceCmd is a command that the client must not retry.
type onceCmd struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }

// onceRead is a command with a read timeout of its own that the client must not retry.
type onceRead struct{ *redis.XStreamSliceCmd }

// NoRetry implements redis.Cmder.
func (onceRead) NoRetry() bool { return true }

// failed wraps err with what was being done. It leaves out ids, which may be secrets.
func failed(doing string, err error) error { return fmt.Errorf("redisstore: %s: %w", doing, err) }

// outOfMemory says that Redis has reached its maxmemory.
func outOfMemory(err error) bool {
	return err != nil && strings.Contains(err.Error(), "OOM command not allowed")
}

// noGroup says that the consumer group does not exist yet, or not any more.
func noGroup(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOGROUP") || strings.Contains(err.Error(), "UNBLOCKED"))
}

// millis rounds up: nothing expires too early, and a positive duration is never 0, which is for
// ever.
func millis(d time.Duration) int64 { return int64((d-1)/time.Millisecond) + 1 }

// unixMillis rounds up, too: 0 stands for no time.
func unixMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// stamp is t to the nanosecond; "" is the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10) + " " + strconv.Itoa(t.Nanosecond())
}

func parseStamp(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	seconds, nanos, _ := strings.Cut(s, " ")
	sec, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time: %w", err)
	}
	nsec, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time: %w", err)
	}
	return time.Unix(sec, nsec).UTC(), nil
}

// text is a field of an answer as a string; nil is "".
func text(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok
}
