//go:build unix

package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// BenchmarkTask: what tasks of 1 KiB of arguments cost their client, on each store; no
// network but that to Redis. life is from the creation to the result, of one task after
// the other; busy the same with 64 at once; poll is one look at a task. xMemory is how
// many times longer it takes than on store/memory in the same run.
//
//	go test -run '^$' -bench Task ./framework/serve
func BenchmarkTask(b *testing.B) {
	runs := []struct {
		what string
		run  func(b *testing.B, c *client.Client)
	}{{"life", benchLife}, {"busy", benchBusy}, {"poll", benchPoll}}
	stores := []struct {
		name string
		open func(b *testing.B) framework.Store
	}{
		{"memory", func(*testing.B) framework.Store { return memory.New() }},
		{"file", func(b *testing.B) framework.Store {
			s, err := boltstore.Open(filepath.Join(b.TempDir(), "kept.db"))
			return opened(b, s, err)
		}},
		{"redis", func(b *testing.B) framework.Store {
			s, err := redisstore.Open(b.Context(), "redis://"+redisserver.Start(b).Addr()+"/0")
			return opened(b, s, err)
		}},
	}
	inMemory := map[string]float64{}
	for _, s := range stores {
		b.Run(s.name, func(b *testing.B) {
			c := taskClient(b, s.open(b))
			for _, r := range runs {
				b.Run(r.what, func(b *testing.B) {
					r.run(b, c)
					each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					if s.name == "memory" {
						inMemory[r.what] = each
					}
					b.ReportMetric(each/inMemory[r.what], "xMemory")
				})
			}
		})
	}
}

func opened[S interface {
	framework.Store
	io.Closer
}](tb testing.TB, s S, err error) framework.Store {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() }) // nothing of it is wanted
	return s
}

// taskClient is one of 2025-11-25, whose tasks/result waits.
func taskClient(b *testing.B, store framework.Store) *client.Client {
	b.Helper()
	server, err := framework.New("bench", "1", framework.WithStore(store), framework.WithLogger(zap.NewNop())).Add(
		framework.Tool("echo", func(_ context.Context, in struct {
			Text string `json:"text"`
		},
		) (string, error) {
			return in.Text[:2], nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional))).Build()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	c, err := client.Connect(b.Context(), client.InMemory(server), client.Revisions(protocol.Rev20251125))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Close()
		_ = server.Shutdown(context.WithoutCancel(b.Context()))
	})
	return c
}

func oneTask(b *testing.B, c *client.Client) *client.Task {
	made, err := c.CallTask(b.Context(), "echo", map[string]string{"text": strings.Repeat("1 KiB as a text.", 64)})
	if err != nil {
		b.Error(err)
		return nil
	}
	raw, err := c.Request(b.Context(), "tasks/result", json.RawMessage(`{"taskId":"`+made.ID()+`"}`)) // Wait would look now and then
	if err != nil || !bytes.Contains(raw, []byte(`"1 "`)) {
		b.Errorf("%s, %v", raw, err)
	}
	return made
}

func benchLife(b *testing.B, c *client.Client) {
	for b.Loop() {
		oneTask(b, c)
	}
}

func benchBusy(b *testing.B, c *client.Client) {
	var all sync.WaitGroup
	next := make(chan struct{})
	for range 64 {
		all.Go(func() {
			for range next {
				oneTask(b, c)
			}
		})
	}
	for b.Loop() {
		next <- struct{}{}
	}
	close(next)
	all.Wait()
}

func benchPoll(b *testing.B, c *client.Client) {
	made := oneTask(b, c)
	for b.Loop() {
		if _, err := made.Get(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
