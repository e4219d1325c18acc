package testkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// kept is a value that was passed to a handler or a client, as a text made from it now, and as the
// text at that time.
type kept struct {
	live func() string
	was  string
}

// keeper keeps what handlers and clients are given. Safe for concurrent use.
type keeper struct {
	mu  sync.Mutex // guards all
	all []kept
}

func (k *keeper) keep(live func() string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, kept{live, strings.Clone(live())})
}

func (k *keeper) check(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, each := range k.all {
		if now := each.live(); now != each.was {
			t.Errorf("kept was %.200s\nand is now %.200s", each.was, now)
		}
	}
	k.all = nil
}

// keepIn has fields that could share memory with a frame.
type keepIn struct {
	ID    string            `json:"id"`
	Raw   json.RawMessage   `json:"raw"`
	Bytes []byte            `json:"bytes"`
	Map   map[string]string `json:"map"`
	Any   any               `json:"any"`
}

func (k *keeper) tool(ctx context.Context, in keepIn) (keepIn, error) {
	info := framework.Caller(ctx)
	k.keep(func() string { return fmt.Sprintf("%s %s %s %v %v", in.ID, in.Raw, in.Bytes, in.Map, in.Any) })
	k.keep(func() string {
		now := framework.Caller(ctx) // the context may be kept, too
		return fmt.Sprint(info.Meta, info.Client, info.Call, info.Header, now.Meta, now.Client, now.Call, now.Header)
	})
	return in, nil
}

// app has a step, which keeps arguments and results, and a step on frames; or neither, so that
// results are written into memory that is used again.
func (k *keeper) app(steps bool) func() *framework.App {
	return func() *framework.App {
		app := framework.New("kept", "1", framework.WithLogger(zap.NewNop())).Add(framework.Tool("keep", k.tool))
		if !steps {
			return app
		}
		app.UseFrames(func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				k.keep(func() string { return string(frame) })
				return next(ctx, frame, out)
			}
		})
		return app.Use(framework.OnToolCall("keep", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			k.keep(func() string { return call.Name + string(call.Arguments) })
			result, err := next(ctx, call)
			if err == nil {
				k.keep(func() string { return fmt.Sprintf("%s %v", result.Structured, result.Content) })
			}
			return result, err
		}))
	}
}

// What a handler, a step or a client was given stays as it was, whatever comes after it: none
// of it is in memory that is used again. Answers of several lengths take several ways.
func TestWhatWasGivenMayBeKept(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
			t.Run(fmt.Sprintf("%s, steps %v", rev, steps), func(t *testing.T) {
				t.Parallel()
				k := &keeper{}
				testkit.AllCarriers(t, k.app(steps), k.calls, testkit.At(rev))
			})
		}
	}
}

func (k *keeper) calls(t *testing.T, s *testkit.Session) {
	t.Helper()
	for i, size := range []int{1, 500, 5_000, 50_000, 1, 50_000, 5_000, 500, 1} {
		id := strings.Repeat(fmt.Sprintf("%d-", i), size)
		answer := s.CallRaw("keep", fmt.Sprintf(`{"id":%q,"raw":[%[1]q],"bytes":"a2FnYW1p","map":{"%d":%[1]q},"any":{"a":%[1]q}}`, id, i)).OK()
		answer.Mentions(id)
		k.keep(answer.Text)
	}
	k.check(t)
}
