package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// A server that cannot answer for a moment, because it is being replaced or its store is
// away, does not end a Wait, whatever it says meanwhile; one that says no does.
func TestTaskWaitOutlivesRefusals(t *testing.T) {
	t.Parallel()
	const stopping = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"the server is shutting down"}}`
	tests := map[string]struct {
		status int
		body   string
		times  int // how often tasks/get is refused
		err    string
	}{
		"stopping":          {503, stopping, 4, ""},
		"without a body":    {502, "", 4, ""},
		"internal":          {500, stopping, 4, ""},
		"without its store": {200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"try again"}}`, 4, ""},
		"too many":          {429, `{"jsonrpc":"2.0","error":{"code":429,"message":"too many"}}`, 4, ""},
		"away for too long": {503, stopping, 100, "shutting down"},
		"a no":              {400, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`, 1, "no"},
	}
	inEras(t, func(t *testing.T, revision string) {
		serve := nethttp.Handler(jobs(t))
		for name, tt := range tests {
			left := tt.times
			carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var m message
				if err := json.Unmarshal(body, &m); err == nil && m.Method == protocol.MethodGetTask && left > 0 {
					left--
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, strings.ReplaceAll(tt.body, "ID", string(m.ID)))
					return
				}
				r.Host, r.Body = r.URL.Host, io.NopCloser(bytes.NewReader(body))
				serve.ServeHTTP(w, r)
			}}}
			c := reach(t, client.HTTP("http://localhost/mcp", client.HTTPClient(carrier)), only(t, revision))
			r, err := callTask(t, c, "work", jobIn{MS: 100}).Wait(t.Context())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
				continue
			}
			if text := textIn(t, r, err); text != "done" {
				t.Errorf("%s: %s", name, text)
			}
		}
	})
}

// TestTaskResultNeverComes: a result that never comes ends a Wait, although the state of the task can be read.
func TestTaskResultNeverComes(t *testing.T) {
	t.Parallel()
	const state = `"taskId":"t","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null`
	for want, answer := range map[string]func(*visit){
		"the disk is full": func(v *visit) { v.refuse(500, -32603, "the disk is full", "") },
		"has stalled":      (*visit).hold,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &site{t: t}
				carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
					v := s.visit(w, r)
					switch v.Method {
					case protocol.MethodInitialize:
						v.result(`{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":` + serverInfo + `}`)
					case protocol.MethodGetTask:
						v.result(`{` + state + `,"status":"completed"}`)
					case protocol.MethodTaskResult:
						answer(v)
					default:
						plain(v, "2025-11-25")
					}
				}}}
				c := reach(t, client.HTTP("http://kept.test/mcp", client.HTTPClient(carrier)), only(t, "2025-11-25"))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := c.Task("t").Wait(ctx); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// TestTaskResultIsLost: a lost result is not a failure of the task.
func TestTaskResultIsLost(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.result(f.expect(protocol.MethodInitialize), `{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":`+serverInfo+`}`)
		f.expect(protocol.NotificationInitialized)
		f.result(f.expect(protocol.MethodGetTask), `{"taskId":"t","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null,"status":"completed"}`)
		f.expect(protocol.MethodTaskResult)
		_ = f.Close()
	}, only(t, "2025-11-25"))
	_, err := c.Task("t").Result(t.Context())
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "the task failed") {
		t.Errorf("error %v", err)
	}
	wait()
}

// TestTaskAnswerOutlivesRefusals: an answer is sent again to a server that cannot take it for a moment, and the
// user is not asked again.
func TestTaskAnswerOutlivesRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve, left := nethttp.Handler(jobs(t)), 4
		carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var m message
			if err := json.Unmarshal(body, &m); err == nil && m.Method == protocol.MethodUpdateTask && left > 0 {
				left--
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			r.Host, r.Body = r.URL.Host, io.NopCloser(bytes.NewReader(body))
			serve.ServeHTTP(w, r)
		}}}
		var u users
		c := reach(t, client.HTTP("http://localhost/mcp", client.HTTPClient(carrier)), only(t, "2026-07-28"), u.option())
		r, err := callTask(t, c, "ask", nil).Wait(t.Context())
		if text := textIn(t, r, err); text != "FSL" {
			t.Errorf("got %q", text)
		}
		if got := u.questions(); len(got) != 3 {
			t.Errorf("asked %q", got)
		}
	})
}
