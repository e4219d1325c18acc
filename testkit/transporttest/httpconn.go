package transporttest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// httpConn is the client side of a connection over HTTP. It handles frames and knows nothing about
// MCP, so that carriers are not tested with package client only. It is the common part of both
// bindings.
//
// start and end run requests and close the connection; mu guards closed. frames is not buffered.
type httpConn struct {
	client *http.Client
	ctx    context.Context //nolint:containedctx // ends with the connection
	cancel context.CancelFunc
	frames chan []byte // not buffered: a client that does not read blocks its streams
	work   sync.WaitGroup

	mu     sync.Mutex // guards closed
	closed bool
}

func newHTTPConn(client *http.Client) *httpConn {
	c := &httpConn{client: client, frames: make(chan []byte)}
	c.ctx, c.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // Close ends it
	return c
}

// Read implements transport.Conn.
func (c *httpConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case frame := <-c.frames:
		return frame, nil
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *httpConn) push(frame []byte) {
	select {
	case c.frames <- frame:
	case <-c.ctx.Done():
	}
}

// start runs do in a goroutine, unless the connection is closed.
func (c *httpConn) start(do func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("transporttest: the connection is closed")
	}
	c.work.Go(do)
	return nil
}

// end closes the connection once. It runs last before it cancels the requests.
func (c *httpConn) end(last func()) {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		return
	}
	last()
	c.cancel()
	c.work.Wait()
	c.client.CloseIdleConnections()
}

func (c *httpConn) do(ctx context.Context, method, url, session string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return c.client.Do(r)
}

// receive pushes the frames of a response.
func (c *httpConn) receive(response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	if response.Header.Get("Content-Type") != "text/event-stream" {
		if frame, err := io.ReadAll(response.Body); err == nil && len(frame) > 0 {
			c.push(frame)
		}
		return
	}
	for e := range events(response.Body) {
		if e.name == "message" {
			c.push(e.data)
		}
	}
}

// event is one event of an SSE stream.
type event struct {
	name string
	data []byte
}

// events reads a stream to its end.
func events(body io.Reader) iter.Seq[event] {
	return func(yield func(event) bool) {
		in := bufio.NewReader(body)
		var e event
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			line = bytes.TrimSuffix(line, []byte("\n"))
			name, value, _ := strings.Cut(string(line), ": ")
			switch {
			case name == "event":
				e.name = value
			case name == "data":
				e.data = []byte(value)
			case len(line) == 0:
				if e.name != "" && !yield(e) {
					return
				}
				e = event{}
			}
		}
	}
}

// streamableConn implements Streamable HTTP: a POST for each frame, and a GET for frames without a
// request.
type streamableConn struct {
	*httpConn
	url, session string
}

func dialStreamable(t testing.TB, client *http.Client, url string) transport.Conn {
	t.Helper()
	c := &streamableConn{httpConn: newHTTPConn(client), url: url}
	response, err := c.do(c.ctx, http.MethodPost, url, "", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"open"}`))
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	c.session = response.Header.Get("Mcp-Session-Id")
	if response.StatusCode != http.StatusOK || c.session == "" {
		t.Fatalf("opening a session: %s, session %q", response.Status, c.session)
	}
	stream, err := c.do(c.ctx, http.MethodGet, url, c.session, nil)
	if err != nil {
		t.Fatalf("opening the stream: %v", err)
	}
	if err := c.start(func() { c.receive(stream) }); err != nil {
		t.Fatal(err)
	}
	return c
}

// Write implements transport.Conn. It does not wait for the answer.
func (c *streamableConn) Write(_ context.Context, frame []byte) error {
	body := bytes.Clone(frame)
	return c.start(func() {
		response, err := c.do(c.ctx, http.MethodPost, c.url, c.session, bytes.NewReader(body)) //nolint:bodyclose // receive closes it
		if err == nil {
			c.receive(response)
		}
	})
}

// Close implements transport.Conn. It ends the session.
func (c *streamableConn) Close() error {
	c.end(func() {
		response, err := c.do(c.ctx, http.MethodDelete, c.url, c.session, nil)
		if err == nil {
			_ = response.Body.Close()
		}
	})
	return nil
}

// sseConn implements HTTP+SSE.
type sseConn struct {
	*httpConn
	messages string
}

func dialSSE(t testing.TB, client *http.Client, url string) transport.Conn {
	t.Helper()
	c := &sseConn{httpConn: newHTTPConn(client)}
	stream, err := c.do(c.ctx, http.MethodGet, url, "", nil)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("opening the stream: %v, %v", stream, err)
	}
	endpoint := make(chan string, 1)
	if err := c.start(func() { c.listen(stream, endpoint) }); err != nil {
		t.Fatal(err)
	}
	reference, err := stream.Request.URL.Parse(within(t, "the endpoint", endpoint))
	if err != nil {
		t.Fatalf("the endpoint: %v", err)
	}
	c.messages = reference.String()
	return c
}

// listen reads the stream. The first event contains the address for posts.
func (c *sseConn) listen(stream *http.Response, endpoint chan<- string) {
	defer func() { _ = stream.Body.Close() }()
	for e := range events(stream.Body) {
		switch e.name {
		case "endpoint":
			endpoint <- string(e.data)
		case "message":
			c.push(e.data)
		}
	}
}

// Write implements transport.Conn. It waits until the server has accepted the frame.
func (c *sseConn) Write(ctx context.Context, frame []byte) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	response, err := c.do(ctx, http.MethodPost, c.messages, "", bytes.NewReader(bytes.Clone(frame)))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("POST: %s", response.Status)
	}
	return nil
}

// Close implements transport.Conn.
func (c *sseConn) Close() error {
	c.end(func() {})
	return nil
}
