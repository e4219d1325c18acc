//go:build unix

package serve_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestCallLostByKill: the client of a call whose process was killed hears that there will be no
// answer. With a file that is as soon as the next process serves, with Redis as soon as the
// process counts as dead. The session goes on.
func TestCallLostByKill(t *testing.T) {
	t.Parallel()
	const dead = 20 * time.Second // after the last sign of life; see transport/internal/cluster
	stores := map[string]struct {
		url  func(t *testing.T) string
		late time.Duration
	}{
		"file":  {func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "db") }, dead * 3 / 4},
		"redis": {func(t *testing.T) string { return "redis://" + redisserver.Start(t).Addr() + "/0" + patient }, dead + clusterLate},
	}
	for name, store := range stores {
		for _, revision := range []protocol.Revision{protocol.Rev20250326, protocol.Rev20251125} {
			t.Run(name+" "+revision.String(), func(t *testing.T) {
				t.Parallel()
				addr, env := fixedAddr(t), []string{"LONG_STORE=" + store.url(t)}
				first := runLong(t, "n1", []string{"--http", addr}, env)
				me, _ := join(t, "http://"+first.serves()+"/mcp", revision)
				var killed time.Time
				kill := sync.OnceFunc(func() {
					killed = time.Now()
					first.kill()
					runLong(t, "n2", []string{"--http", addr}, env).serves()
				})
				ctx := bounded(t)
				_, err := client.Call[string](ctx, me, "count", map[string]int{"n": 1 << 30, "pause_us": 50_000},
					client.OnProgress(func(protocol.Progress) { kill() }))
				took := time.Since(killed)
				t.Logf("%v later: %v", took, err)
				if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeInterrupted {
					t.Error("that is another error")
				}
				if !errors.Is(err, io.ErrUnexpectedEOF) || took > store.late {
					t.Error("it is not that of a lost answer, or too late")
				}
				if got := whereAgain(ctx, t, me); got != "n2" {
					t.Errorf("afterwards %q answers", got)
				}
			})
		}
	}
}

func whereAgain(ctx context.Context, t *testing.T, c *client.Client) string {
	t.Helper()
	got, err := client.Call[string](ctx, c, "where", nil)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(got)
}
