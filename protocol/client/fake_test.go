package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// message is a frame as the fake server sees it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	text string
}

// at reads one member of the params by path.
func (m message) at(path ...string) string {
	raw := m.Params
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return ""
		}
		raw = object[name]
	}
	return string(raw)
}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
)

// fake is a scripted server: two unbuffered channels and a goroutine of its own.
type fake struct {
	t    testing.TB
	in   chan []byte // from the client
	out  chan []byte // to the client
	gone chan struct{}
	once sync.Once

	asked int       // questions put to the client
	told  []message // notifications that came in between

	patience time.Duration // of next, 0: the usual one; a bubble of synctest may need more
}

func (f *fake) Read(ctx context.Context) ([]byte, error) {
	select {
	case frame := <-f.out:
		return frame, nil
	case <-f.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fake) Write(ctx context.Context, frame []byte) error {
	select {
	case f.in <- append([]byte(nil), frame...):
		return nil
	case <-f.gone:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Close() error {
	f.once.Do(func() { close(f.gone) })
	return nil
}

func (f *fake) fatalf(format string, args ...any) {
	f.t.Helper()
	f.t.Errorf(format, args...)
	_ = f.Close()
	runtime.Goexit()
}

// scriptPatience is how long the client's next frame may take, so that a rule that is broken is
// named within a minute.
const scriptPatience = 45 * time.Second

// next is the client's next frame.
func (f *fake) next() message {
	f.t.Helper()
	long := cmp.Or(f.patience, scriptPatience)
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case frame := <-f.in:
		m := message{text: string(frame)}
		if err := json.Unmarshal(frame, &m); err != nil {
			f.fatalf("the client sent %s: %v", frame, err)
		}
		return m
	case <-f.gone:
		f.fatalf("the client closed, a frame was expected")
	case <-timer.C:
		f.fatalf("no frame of the client within %v", long)
	}
	panic("unreachable")
}

func (f *fake) expect(method string) message {
	f.t.Helper()
	m := f.next()
	if m.Method != method {
		f.fatalf("the client sent %s, want %s", m.text, method)
	}
	return m
}

func (f *fake) send(format string, args ...any) {
	f.t.Helper()
	select {
	case f.out <- fmt.Appendf(nil, format, args...):
	case <-f.gone:
		f.fatalf("the client closed, cannot send %s", fmt.Sprintf(format, args...))
	}
}

func (f *fake) result(m message, result string) {
	f.t.Helper()
	f.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (f *fake) refuse(m message, code int, text, data string) {
	f.t.Helper()
	if data != "" {
		data = `,"data":` + data
	}
	f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, m.ID, code, text, data)
}

func (f *fake) notify(method, params string) {
	f.t.Helper()
	f.send(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

const (
	capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"logging":{},"completions":{}}`
	serverInfo   = `{"name":"fake","version":"1"}`
	discovery    = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + capabilities +
		`,"instructions":"be kind","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}`
)

// modern answers the probe.
func (f *fake) modern() {
	f.t.Helper()
	f.result(f.expect(protocol.MethodDiscover), discovery)
}

// legacy refuses the probe and shakes hands.
func (f *fake) legacy(revision string) {
	f.t.Helper()
	f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
	f.initialized(revision)
}

func (f *fake) initialized(revision string) message {
	f.t.Helper()
	m := f.expect(protocol.MethodInitialize)
	f.result(m, `{"protocolVersion":"`+revision+`","capabilities":`+capabilities+`,"serverInfo":`+serverInfo+`,"instructions":"be kind"}`)
	f.expect(protocol.NotificationInitialized)
	return m
}

// era opens one of the two kinds of session.
func (f *fake) era(revision string) {
	f.t.Helper()
	if revision == "2026-07-28" {
		f.modern()
		return
	}
	f.legacy(revision)
}

func eras() []string { return []string{"2025-11-25", "2026-07-28"} }

// dial starts a script as the server; wait joins it.
func dial(t testing.TB, script func(*fake)) (target client.Target, wait func()) {
	t.Helper()
	f := &fake{t: t, in: make(chan []byte), out: make(chan []byte), gone: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		script(f)
	}()
	return client.Over(func(context.Context) (transport.Conn, error) { return f, nil }), func() { <-done }
}

// connect starts a script and connects to it; both have ended when the test has.
func connect(t testing.TB, script func(*fake), opts ...client.Option) (c *client.Client, wait func()) {
	t.Helper()
	target, wait := dial(t, script)
	c, err := client.Connect(t.Context(), target, opts...)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wait()
	})
	return c, wait
}

// idIn is the id of a frame, as JSON.
func idIn(frame []byte) string {
	var m message
	_ = json.Unmarshal(frame, &m)
	return string(m.ID)
}
