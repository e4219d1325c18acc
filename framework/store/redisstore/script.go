package redisstore

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script. Its hash is computed at its first run, because most programs that link
// this package use no Redis.
//
// It is safe for concurrent use.
type script func() *redis.Script

//go:embed lua
var sources embed.FS

// newScript returns a script that consists of the named files in lua, in this order.
func newScript(names ...string) script {
	return sync.OnceValue(func() *redis.Script {
		var source []byte
		for _, name := range names {
			part, _ := sources.ReadFile("lua/" + name + ".lua") // the names are constants, and each operation has a test
			source = append(source, part...)
		}
		return redis.NewScript(string(source))
	})
}

// run runs a script, and never sends it twice.
//
// No lock may be held. If the options of the store are invalid, it sends nothing and returns their
// error.
func (s *Store) run(ctx context.Context, what script, keys []string, args ...any) *redis.Cmd {
	if s.fault != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(s.fault)
		return cmd
	}
	return what().Run(ctx, once{s.client}, keys, args...)
}

// once is a client that sends a script only once. If the answer was lost and the script were sent
// again, an event would be stored twice. A created record would seem to have existed before.
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

// do sends a command once.
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

// failed returns err with the operation in front. It leaves out IDs, which may be secrets.
func failed(doing string, err error) error { return fmt.Errorf("redisstore: %s: %w", doing, err) }

// failedOrFull is like failed, and also matches full if Redis has no memory left.
func failedOrFull(full error, doing string, err error) error {
	if strings.Contains(err.Error(), "OOM command not allowed") { // Redis has reached its maxmemory
		return fmt.Errorf("redisstore: %s: %w: %w", doing, full, err)
	}
	return failed(doing, err)
}

// noGroup reports whether the consumer group does not exist yet, or not any more.
func noGroup(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOGROUP") || strings.Contains(err.Error(), "UNBLOCKED"))
}

// millis returns d in milliseconds, rounded up. Nothing expires too early, and a positive duration
// is never 0, which would mean no expiry.
func millis(d time.Duration) int64 { return int64((d-1)/time.Millisecond) + 1 }

// unixMillis returns t in milliseconds, also rounded up.
func unixMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// stamp returns t to the nanosecond. For the zero time it returns "".
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
