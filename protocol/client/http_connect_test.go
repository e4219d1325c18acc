package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const unsupported = `{"supported":["2026-07-28"],"requested":"2026-07-28"}`

func TestHTTPConnectNegotiates(t *testing.T) {
	t.Parallel()
	probed := func(answer func(*visit)) func(*visit) bool {
		return func(v *visit) bool {
			if v.Method != protocol.MethodDiscover {
				return false
			}
			answer(v)
			return true
		}
	}
	tests := map[string]struct {
		script   func(*visit) bool
		opts     []client.Option
		server   string // revision of the plain server
		revision string // "" : Connect fails
		errText  string
		status   int
		steps    []string // begins with
	}{
		"modern": {server: "2026-07-28", revision: "2026-07-28", steps: []string{"POST server/discover"}},
		"unknown method, 200": {
			server: "2025-11-25", revision: "2025-11-25",
			steps: []string{"POST server/discover", "POST initialize", "POST notifications/initialized"},
		},
		"text, 400": {
			script: probed(func(v *visit) { v.say(400, "text/plain", "Bad Request: Server not initialized") }),
			server: "2025-06-18", revision: "2025-06-18",
		},
		"JSON-RPC, 400": {
			script: probed(func(v *visit) {
				v.say(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"},"id":null}`)
			}),
			server: "2025-11-25", revision: "2025-11-25",
		},
		"JSON-RPC, 500": {
			script: probed(func(v *visit) { v.refuse(500, -32603, "Internal error", "") }),
			server: "2025-11-25", revision: "2025-11-25",
		},
		"an exception, 500": { // as by stateless servers of the Java SDK
			script: probed(func(v *visit) {
				v.say(500, "application/json", `{"cause":null,"jsonRpcError":{"code":-32601,"message":"Missing handler"}}`)
			}),
			server: "2025-11-25", revision: "2025-11-25",
		},
		"nothing, 404": {script: probed(func(v *visit) { v.say(404, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"nothing, 405": {script: probed(func(v *visit) { v.say(405, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"nothing, 406": {script: probed(func(v *visit) { v.say(406, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"nothing, 415": {script: probed(func(v *visit) { v.say(415, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"nothing, 418": {script: probed(func(v *visit) { v.say(418, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"nothing, 202": {script: probed(func(v *visit) { v.say(202, "", "") }), server: "2025-11-25", revision: "2025-11-25"},
		"empty result": {script: probed(func(v *visit) { v.result(`{}`) }), server: "2025-11-25", revision: "2025-11-25"},
		"HTML":         {script: probed(func(v *visit) { v.say(200, "text/html", "<html>") }), server: "2025-11-25", revision: "2025-11-25"},
		"a stream without the answer": {
			script: probed(func(v *visit) { v.stream(); v.write("id: 1\ndata:\n\n") }),
			server: "2025-11-25", revision: "2025-11-25",
		},
		"no answer in time": {
			script: probed((*visit).hold), opts: []client.Option{client.ProbeTimeout(20 * time.Millisecond)},
			server: "2025-11-25", revision: "2025-11-25",
		},
		"a counter-offer that is the offer": {
			script: func(v *visit) bool {
				if v.n > 0 || v.Method != protocol.MethodDiscover {
					return false
				}
				v.refuse(400, -32022, "Unsupported protocol version", unsupported)
				return true
			},
			server: "2026-07-28", revision: "2026-07-28", steps: []string{"POST server/discover", "POST server/discover"},
		},
		"the same counter-offer for ever": {
			script: probed(func(v *visit) { v.refuse(400, -32022, "Unsupported protocol version", unsupported) }),
			server: "2025-11-25", errText: "-32022", status: 400, steps: []string{"POST server/discover", "POST server/discover"},
		},
		"a handshake revision is named": {
			script: probed(func(v *visit) {
				v.refuse(400, -32022, "no", `{"supported":["2025-06-18"],"requested":"2026-07-28"}`)
			}),
			server: "2025-06-18", revision: "2025-06-18",
		},
		"header mismatch is modern": {
			script: probed(func(v *visit) { v.refuse(400, -32020, "mismatch", "") }),
			server: "2025-11-25", errText: "mismatch", status: 400, steps: []string{"POST server/discover"},
		},
		"401 is no fallback": {
			script: probed(func(v *visit) {
				v.w.Header().Set("WWW-Authenticate", "Bearer")
				v.refuse(401, -32600, "unauthorized", "")
			}),
			server: "2025-11-25", errText: "unauthorized", status: 401, steps: []string{"POST server/discover"},
		},
		"502 is no fallback": {
			script: probed(func(v *visit) { v.say(502, "text/html", "<html>") }),
			server: "2025-11-25", errText: "HTTP 502", status: 502, steps: []string{"POST server/discover"},
		},
		"a broken network is no fallback": {
			script: probed(func(*visit) { panic(http.ErrAbortHandler) }),
			server: "2025-11-25", errText: "EOF", steps: []string{"POST server/discover"},
		},
		"handshake alone does not probe": {
			opts: []client.Option{only(t, "2025-03-26")}, server: "2025-03-26", revision: "2025-03-26",
			steps: []string{"POST initialize", "POST notifications/initialized"},
		},
		"modern alone never falls back": {
			script: probed(func(v *visit) { v.say(405, "", "") }), opts: []client.Option{only(t, "2026-07-28")},
			server: "2025-11-25", errText: "HTTP 405", status: 405, steps: []string{"POST server/discover"},
		},
		"initialized is refused": {
			script: func(v *visit) bool {
				if v.Method != protocol.NotificationInitialized {
					return false
				}
				v.say(400, "text/plain", "go away")
				return true
			},
			server: "2025-11-25", errText: "go away", status: 400,
		},
		"forbidden": {
			script:  func(v *visit) bool { v.say(403, "text/plain", "Origin"); return true },
			errText: "Origin", status: 403, steps: []string{"POST server/discover", "POST initialize"},
		},
		"an error for nobody": {
			script: func(v *visit) bool {
				v.say(404, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no such session"}}`)
				return true
			},
			errText: "HTTP+SSE", status: 404, steps: []string{"POST server/discover", "POST initialize", "GET "},
		},
		"an error for the request": {
			script:  func(v *visit) bool { v.refuse(400, -32602, "bad params", ""); return true },
			errText: "bad params", status: 400, steps: []string{"POST server/discover", "POST initialize"},
		},
		"a modern error for nobody": {
			script: func(v *visit) bool {
				v.say(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32020,"message":"header missing"}}`)
				return true
			},
			opts: []client.Option{only(t, "2025-11-25")}, errText: "header missing", status: 400, steps: []string{"POST initialize"},
		},
		"neither binding": {
			script:  func(v *visit) bool { v.say(404, "text/plain", "no such page"); return true },
			errText: "HTTP+SSE: HTTP 404", status: 404, steps: []string{"POST server/discover", "POST initialize", "GET "},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, tt.server, tt.script)
			c, err := client.Connect(t.Context(), client.HTTP(s.URL), tt.opts...)
			if err == nil {
				if c.Revision() != tt.revision || c.Server().Name != "fake" || c.Instructions() != "be kind" {
					t.Errorf("agreed on %s with %+v", c.Revision(), c.Server())
				}
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			if tt.revision == "" && (err == nil || !strings.Contains(err.Error(), tt.errText)) || tt.revision != "" && err != nil {
				t.Errorf("error %v, want %q", err, tt.errText)
			}
			status, _ := errors.AsType[*client.HTTPError](err)
			if (status == nil) != (tt.status == 0) || status != nil && status.Status != tt.status {
				t.Errorf("HTTP error %v, want %d", status, tt.status)
			}
			steps := s.steps()
			if len(steps) < len(tt.steps) || !slices.Equal(steps[:len(tt.steps)], tt.steps) || tt.revision == "" && tt.steps != nil && len(steps) != len(tt.steps) {
				t.Errorf("steps %q, want %q", steps, tt.steps)
			}
		})
	}
}

func TestHTTPNobodyIsThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	_, err := client.Connect(t.Context(), client.HTTP(s.URL))
	if err == nil || !strings.Contains(err.Error(), "server/discover") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

// old is a server of HTTP+SSE: GET brings all messages, POST answers 202.
type old struct {
	t        testing.TB
	endpoint string // what the endpoint event says
	before   string // sent before it
	messages chan string
	drop     chan struct{} // closes the stream
	refuse   int           // status of posts
	user     string        // wanted in posts
}

func (o *old) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{t: o.t, w: w, r: r, verb: r.Method}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/sse":
		v.stream()
		v.write(o.before)
		if o.endpoint != "" {
			v.write("event: endpoint\ndata: " + o.endpoint + "\n\n")
		}
		for {
			select {
			case m := <-o.messages:
				v.write("event: message\ndata: " + m + "\n\n")
			case <-o.drop:
				return
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodPost && r.URL.Path == "/messages":
		o.post(v)
	default:
		v.say(405, "", "")
	}
}

func (o *old) post(v *visit) {
	body, _ := io.ReadAll(v.r.Body)
	m := message{text: string(body)}
	m.ID = []byte(idIn(body))
	if user, _, _ := v.r.BasicAuth(); user != o.user {
		o.t.Errorf("a POST of user %q", user)
	}
	if v.header("X-Extra") != "yes" || v.r.URL.RawQuery != "session=1" {
		o.t.Errorf("%s with %v", v.r.URL, v.r.Header)
	}
	switch {
	case strings.Contains(m.text, `"initialize"`):
		o.messages <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + initialization("2024-11-05") + `}`
	case o.refuse != 0 && strings.Contains(m.text, `"tools/call"`):
		v.say(o.refuse, "", "no")
		return
	case strings.Contains(m.text, `"tools/call"`):
		o.messages <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + ok + `}`
	}
	v.say(202, "text/plain", "Accepted")
}

func newOld(t testing.TB, endpoint string) (*old, string) {
	t.Helper()
	o := &old{t: t, endpoint: endpoint, messages: make(chan string, 10), drop: make(chan struct{})}
	s := httptest.NewServer(o)
	t.Cleanup(s.Close)
	o.endpoint = strings.ReplaceAll(endpoint, "SELF", s.URL)
	return o, s.URL + "/sse"
}

// The client does not wait for the body of the response to a notification.
func TestHTTPAcceptedWithABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.Method != protocol.NotificationInitialized {
			return false
		}
		v.w.Header().Set("Content-Length", "10")
		v.w.WriteHeader(http.StatusAccepted)
		v.write("Acc")
		v.hold()
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.HTTP(s.URL+"/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestHTTPFallsBackToSSE(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"/messages?session=1", "messages?session=1", "SELF/messages?session=1"} {
		o, url := newOld(t, endpoint)
		o.before = ": hello\n\ndata: too early\n\n"
		c, err := client.Connect(t.Context(), client.HTTP(url, client.Header("X-Extra", "yes")))
		if err != nil {
			t.Fatalf("%s: %v", endpoint, err)
		}
		if c.Revision() != "2024-11-05" {
			t.Errorf("revision %s", c.Revision())
		}
		if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
			t.Errorf("%q, %v", got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHTTPSSEOriginOfAnotherCase: the case of the host in a URL does not matter.
func TestHTTPSSEOriginOfAnotherCase(t *testing.T) {
	t.Parallel()
	_, url := newOld(t, "http://sse.test/messages?session=1")
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/sse")
	web := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(web.CloseIdleConnections)
	c, err := client.Connect(t.Context(), client.HTTP("http://SSE.Test/sse",
		client.Header("X-Extra", "yes"), client.HTTPClient(&http.Client{Transport: web})))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestHTTPSSEKeepsThePassword: each POST has the user and the password of the caller's URL.
func TestHTTPSSEKeepsThePassword(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"/messages?session=1", "SELF/messages?session=1"} {
		o, url := newOld(t, endpoint)
		o.user = "ann"
		c, err := client.Connect(t.Context(), client.HTTP(strings.Replace(url, "://", "://ann:secret@", 1), client.Header("X-Extra", "yes")))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHTTPOverSSEFails(t *testing.T) {
	t.Parallel()
	t.Run("a post", func(t *testing.T) {
		t.Parallel()
		o, url := newOld(t, "/messages?session=1")
		o.refuse = 500
		c, err := client.Connect(t.Context(), client.HTTP(url, client.Header("X-Extra", "yes")))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_, err = c.CallTool(t.Context(), "x", nil)
		if e, isHTTP := errors.AsType[*client.HTTPError](err); !isHTTP || e.Status != 500 {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the stream", func(t *testing.T) {
		t.Parallel()
		o, url := newOld(t, "/messages?session=1")
		c, err := client.Connect(t.Context(), client.HTTP(url, client.Header("X-Extra", "yes")))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		close(o.drop)
		if _, err := c.ReadResource(t.Context(), "x://y"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	tests := map[string]struct {
		endpoint, err string
		patience      time.Duration
	}{
		"another origin": {"http://example.com/messages", "another origin", time.Minute},
		"another port":   {"http://127.0.0.1:1/messages", "another origin", time.Minute},
		"no URL":         {"http://[", "endpoint", time.Minute},
		"no endpoint":    {"", "no endpoint event within", 50 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newOld(t, tt.endpoint)
			_, err := client.Connect(t.Context(), client.HTTP(url), client.ProbeTimeout(tt.patience))
			if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), "HTTP 405") {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("the caller gives up", func(t *testing.T) {
		t.Parallel()
		_, url := newOld(t, "")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := client.Connect(ctx, client.HTTP(url)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
