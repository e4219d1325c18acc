package streamable_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Each of many sessions ends when it was idle for as long as is allowed, and not before,
// in whatever order they were used, deleted and used in long calls.
func TestManySessionsEndInTime(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			const many, idle = 40, 10 * time.Minute
			random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a test that can be repeated
			var mu sync.Mutex
			ended := map[string]time.Time{}
			h := &host{plan: resumable, log: &keeper{}, handle: func(ctx context.Context, method string, _ func(string) error) (int, string) {
				name, took, _ := strings.Cut(method, " ")
				if link, err := transport.RequestFrom(ctx).Sessions.Find(); err == nil && took == "" {
					link.OnClose(func() {
						mu.Lock()
						defer mu.Unlock()
						ended[name] = time.Now()
					})
				}
				wait, _ := strconv.Atoi(took)
				time.Sleep(time.Duration(wait) * time.Second)
				return http.StatusOK, `{"a":1}`
			}}
			first := newSite(t, h, streamable.Config{SessionIdle: idle, MaxSessions: 1000})
			var used sync.WaitGroup
			want := map[string]time.Time{}
			for n := range many {
				s := &site{t: t, e: first.e}
				s.session = field(s.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
				name := strconv.Itoa(n)
				s.do(http.MethodPost, name)
				plan := []time.Duration{}
				for range random.IntN(4) {
					plan = append(plan, time.Duration(random.IntN(540))*time.Second)
				}
				deleted, busy := random.IntN(5) == 0, random.IntN(3) == 0
				used.Go(func() {
					for _, pause := range plan {
						time.Sleep(pause)
						if call := name + " 700"; busy {
							s.carry(s.do(http.MethodPost, call), -1).wait()
						} else {
							s.do(http.MethodPost, name+" 0")
						}
					}
					at := time.Now().Add(idle)
					if deleted {
						at = time.Now()
						s.do(http.MethodDelete, "")
					}
					mu.Lock()
					defer mu.Unlock()
					want[name] = at
				})
			}
			used.Wait()
			time.Sleep(2 * idle)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for name, at := range want {
				if !ended[name].Equal(at) {
					t.Errorf("seed %d, session %s ended %s too late", seed, name, ended[name].Sub(at))
				}
			}
			first.stop()
		})
	}
}
