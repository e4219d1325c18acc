package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// interopTools returns tools for Kagami's tests with other clients.
func interopTools(s *sleeper, w *watched) []framework.Component {
	return []framework.Component{
		framework.Tool("slow", s.sleep, framework.Describe("Waits, after a first progress notification. Ends at once when cancelled."), framework.ReadOnly()),
		framework.Tool("slow_cancelled", s.count, framework.Describe("How many calls of slow were cancelled."), framework.ReadOnly()),
		framework.Tool("burst", burst, framework.Describe("Sends n progress and n log notifications, then the result."), framework.ReadOnly()),
		framework.Tool("update_watched", w.update, framework.Describe("Changes "+watchedURI+"."), framework.Destructive(false)),
	}
}

type sleeper struct{ cancelled atomic.Int64 }

type slowIn struct {
	Seconds float64 `json:"seconds" doc:"how long to wait" validate:"min=0,max=3600"`
}

func (s *sleeper) sleep(ctx context.Context, in slowIn) (string, error) {
	framework.Progress(ctx, 0, in.Seconds, "waiting")
	if err := sleep(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		s.cancelled.Add(1)
		return "", err
	}
	return fmt.Sprintf("Waited %g s.", in.Seconds), nil
}

type countOut struct {
	Count int64 `json:"count" doc:"calls cancelled since the start"`
}

func (s *sleeper) count(context.Context, none) (countOut, error) {
	return countOut{Count: s.cancelled.Load()}, nil
}

type burstIn struct {
	N int `json:"n" doc:"notifications of each kind" validate:"min=0,max=100000"`
}

func burst(ctx context.Context, in burstIn) (string, error) {
	for i := range in.N {
		framework.Progress(ctx, i+1, in.N, fmt.Sprintf("progress %d", i+1))
		framework.Notify(ctx, protocol.LevelInfo, fmt.Sprintf("log %d", i+1))
	}
	return fmt.Sprintf("Sent %d of each.", in.N), nil
}
