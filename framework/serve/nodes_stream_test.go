package serve_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// deaf is a store whose bus holds back what others say, while mu is held.
type deaf struct {
	*memory.Store
	mu *sync.Mutex
}

func (d deaf) Changes() change.Bus { return deafBus{d.Store.Changes(), d.mu} }

type deafBus struct {
	change.Bus
	mu *sync.Mutex
}

func (b deafBus) Subscribe(ctx context.Context, fn func([]byte)) error {
	return b.Bus.Subscribe(ctx, func(message []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		fn(message)
	})
}

// apart is a client of 2025-11-25 that sends all its frames to one node and listens to
// another, as a balancer may have it.
type apart struct {
	t        *testing.T
	sends    *framework.Server
	listens  *framework.Server
	hears    *sync.Mutex // held: the node that it listens to hears nothing
	to, from string      // their endpoints
	session  string
	lines    chan string // of the stream
}

func newApart(t *testing.T) *apart {
	t.Helper()
	c := &apart{t: t, hears: new(sync.Mutex), lines: make(chan string, 100)}
	store := memory.New()
	c.sends, c.to = endpoint(t, store)
	c.listens, c.from = endpoint(t, deaf{store, c.hears})
	c.settle()
	c.initialize()
	return c
}

// settle lets the node that is listened to become one, by a session that is none of c's:
// what it looks for when it begins shall not be what helps.
func (c *apart) settle() {
	c.t.Helper()
	c.to, c.from = c.from, c.to
	c.initialize()
	c.to, c.from, c.session = c.from, c.to, ""
}

func (c *apart) initialize() {
	c.t.Helper()
	c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func endpoint(t *testing.T, store framework.Store) (server *framework.Server, url string) {
	t.Helper()
	server, err := framework.New("s", "1", framework.WithStore(store), framework.WithLogger(zap.NewNop())).Add(
		framework.Resource("x://y", func(context.Context) (string, error) { return "", nil })).Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(nethttp.Handler(server))
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return server, web.URL + "/mcp"
}

func (c *apart) do(method, url, body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		c.t.Fatalf("%s %s: %s", method, body, resp.Status)
	}
	return resp
}

func (c *apart) post(body string) {
	c.t.Helper()
	resp := c.do(http.MethodPost, c.to, body)
	defer func() { _ = resp.Body.Close() }()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if answer, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(answer), `"error"`) {
		c.t.Fatalf("%s: %s, %v", body, answer, err)
	}
}

func (c *apart) subscribe() {
	c.t.Helper()
	c.post(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"x://y"}}`)
}

func (c *apart) listen() {
	c.t.Helper()
	resp := c.do(http.MethodGet, c.from, "")
	var reading sync.WaitGroup
	reading.Go(func() {
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			c.lines <- s.Text()
		}
	})
	c.t.Cleanup(func() {
		_ = resp.Body.Close()
		reading.Wait()
	})
}

func (c *apart) wants(method string) {
	c.t.Helper()
	timer := time.NewTimer(faultPatience)
	defer timer.Stop()
	for {
		select {
		case line := <-c.lines:
			if strings.Contains(line, `"`+method+`"`) {
				return
			}
		case <-timer.C:
			c.t.Fatalf("no %s", method)
		}
	}
}

const updated = "notifications/resources/updated"

// caughtUp waits for the update that stands for those that the client may have missed.
func (c *apart) caughtUp() { c.wants(updated) }

// TestUpdateBetweenWriters: a change that no node could send, because the client listened nowhere, is
// sent when the client listens again.
func TestUpdateBetweenWriters(t *testing.T) {
	t.Parallel()
	c := newApart(t)
	c.subscribe()
	c.sends.ResourceUpdated(t.Context(), "x://y")
	c.listens.ResourceUpdated(t.Context(), "x://y")
	c.listen()
	c.caughtUp()
	c.sends, c.listens, c.to, c.from = c.listens, c.sends, c.from, c.to
	c.sends.ResourceUpdated(t.Context(), "x://y")
	c.wants(updated)
	c.listen() // now at the other node
	c.caughtUp()
}

// TestListeningElsewhere: a node that no frame of a session has come to tells its client
// all the same what changes, on whichever node, and whenever it was asked for.
func TestListeningElsewhere(t *testing.T) {
	t.Parallel()
	orders := map[string][]func(*apart){
		"subscribed before": {(*apart).subscribe, (*apart).listen, (*apart).caughtUp},
		"subscribed after":  {(*apart).listen, (*apart).subscribe},
	}
	for name, steps := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newApart(t)
			for _, step := range steps {
				step(c)
			}
			c.sends.ResourceUpdated(t.Context(), "x://y")
			c.wants(updated)
			c.listens.ResourceUpdated(t.Context(), "x://y")
			c.wants(updated)
			if err := c.listens.Add(framework.Resource("x://z", func(context.Context) (string, error) { return "", nil })); err != nil {
				t.Fatal(err)
			}
			c.wants("notifications/resources/list_changed")
		})
	}
}

// TestUpdateOvertakes checks an update on the node that the client listens to. It is sent even if
// this node has not received the subscription yet that another node accepted.
func TestUpdateOvertakes(t *testing.T) {
	t.Parallel()
	c := newApart(t)
	c.listen()
	c.hears.Lock()
	c.subscribe()
	c.listens.ResourceUpdated(t.Context(), "x://y")
	c.hears.Unlock()
	c.wants(updated)
}
