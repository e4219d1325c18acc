package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func TestTasksOverHTTP(t *testing.T) {
	t.Parallel()
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			s := jobs(t)
			site := httptest.NewServer(nethttp.Handler(s))
			t.Cleanup(site.Close)
			carrier := &http.Transport{}
			t.Cleanup(carrier.CloseIdleConnections)
			target := client.HTTP(site.URL, client.HTTPClient(&http.Client{Transport: carrier}))
			var u users
			c := reach(t, target, only(t, revision), u.option())
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					r, err := callTask(t, c, "ask", nil).Wait(t.Context())
					if err != nil || textOf(r) != "FSL" {
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
			all.Wait()
			task := callTask(t, c, "work", jobIn{MS: 60_000})
			if err := task.Cancel(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := task.Wait(t.Context()); !errors.Is(err, client.ErrTaskCancelled) {
				t.Errorf("Wait: %v", err)
			}
			// Another client finds the task if callers have no principal, but not the task of another session.
			other := reach(t, target, only(t, revision))
			_, err := other.Task(task.ID()).Get(t.Context())
			if (err == nil) != (revision == "2026-07-28") || err != nil && !errors.Is(err, client.ErrTaskGone) {
				t.Errorf("another client: %v", err)
			}
		})
	}
}

// TestTaskResultStalls checks that the client sends tasks/result again, because a server that was
// restarted may have forgotten the first request. While the client answers a question, it does not.
func TestTaskResultStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const state = `"taskId":"t","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null`
		c, wait := connect(t, func(f *fake) {
			f.result(f.expect(protocol.MethodInitialize), `{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":`+serverInfo+`}`)
			f.expect(protocol.NotificationInitialized)
			results, answered := 0, false
			for results < 2 {
				switch m := f.next(); m.Method {
				case protocol.MethodGetTask:
					f.result(m, `{`+state+`,"status":"input_required"}`)
				case protocol.MethodTaskResult:
					if results++; results == 1 {
						f.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}`, form)
					} else {
						f.result(m, `{"content":[{"type":"text","text":"done"}]}`)
					}
				case "":
					answered = true
				case protocol.NotificationCancelled:
					if !answered {
						f.t.Error("it was given up while the user was asked")
					}
				default:
					f.t.Errorf("the client sent %s", m.text)
				}
			}
		}, only(t, "2025-11-25"), replying(time.Minute, "Ada"))
		began := time.Now()
		r, err := c.Task("t").Wait(t.Context())
		if text := textIn(t, r, err); text != "done" {
			t.Errorf("got %q", text)
		}
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("it took %v", took)
		}
		wait()
	})
}
