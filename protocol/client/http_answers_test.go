package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const ok = `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`

func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(*visit)
		err    string // "" : the call succeeds
		code   int    // of a JSON-RPC error
		status int    // of an HTTPError
	}{
		"JSON": {answer: func(v *visit) { v.result(ok) }},
		"its id as text": {answer: func(v *visit) {
			v.say(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":%s}`, v.ID, ok))
		}},
		"its id with a fraction": {answer: func(v *visit) {
			v.stream()
			v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s.0,"result":%s}`, v.ID, ok))
		}},
		"another type": {answer: func(v *visit) { v.say(200, "text/plain", v.answer(ok)) }},
		"pretty JSON": {answer: func(v *visit) {
			v.say(200, "application/json", "\n"+strings.ReplaceAll(v.answer(ok), ",", ",\n  ")+"\n")
		}},
		"a byte order mark": {answer: func(v *visit) { v.say(200, "application/json", "\ufeff"+v.answer(ok)) }},
		"half an emoji":     {answer: func(v *visit) { v.result(`{"resultType":"complete","content":[{"type":"text","text":"\ud83d"}]}`) }, err: "lone surrogate"},
		"half an emoji on a stream": {answer: func(v *visit) {
			v.stream()
			v.event("", v.answer(`{"resultType":"complete","content":[{"type":"text","text":"\ud83d"}]}`))
		}, err: "lone surrogate"},
		"a stream": {answer: func(v *visit) { v.stream(); v.event("", v.answer(ok)) }},
		"CR LF, lines": {answer: func(v *visit) {
			v.stream()
			v.write("data: " + strings.ReplaceAll(v.answer(ok), ",", ",\r\ndata: ") + "\r\n\r\n")
		}},
		"primed":          {answer: func(v *visit) { v.stream(); v.write("retry: 5\nid: 1\ndata:\n\n: hi\n\n"); v.event("2", v.answer(ok)) }},
		"other types":     {answer: func(v *visit) { v.stream(); v.write("event: ping\ndata: {}\n\n"); v.event("", v.answer(ok)) }},
		"no JSON between": {answer: func(v *visit) { v.stream(); v.event("", "nonsense"); v.event("", v.answer(ok)) }},
		"a held stream":   {answer: func(v *visit) { v.stream(); v.event("", v.answer(ok)); v.hold() }},
		"an error":        {answer: func(v *visit) { v.refuse(200, -32603, "boom", "") }, err: "boom", code: -32603},
		"an error, 400":   {answer: func(v *visit) { v.refuse(400, -32602, "boom", "") }, err: "boom", code: -32602, status: 400},
		"an error, 500":   {answer: func(v *visit) { v.refuse(500, -32603, "boom", "") }, err: "boom", code: -32603, status: 500},
		"no id": {answer: func(v *visit) {
			v.say(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"boom"}}`)
		}, err: "boom", code: -32700, status: 400},
		"no id, 200": {answer: func(v *visit) {
			v.say(200, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"boom"}}`)
		}, err: "boom", code: -32600},
		"no id on a stream": {answer: func(v *visit) {
			v.stream()
			v.event("", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"boom"}}`)
		}, err: "boom", code: -32600},
		"text, 400":     {answer: func(v *visit) { v.say(400, "text/plain", "Bad Request\n") }, err: "HTTP 400 Bad Request: Bad Request", status: 400},
		"nothing, 503":  {answer: func(v *visit) { v.say(503, "", "") }, err: "HTTP 503 Service Unavailable", status: 503},
		"a result, 500": {answer: func(v *visit) { v.say(500, "application/json", v.answer(ok)) }, err: "HTTP 500", status: 500},
		"202":           {answer: func(v *visit) { v.say(202, "", "") }, err: "empty body (HTTP 202)"},
		"empty":         {answer: func(v *visit) { v.say(200, "application/json", "") }, err: "empty body"},
		"HTML":          {answer: func(v *visit) { v.say(200, "text/html", "<html>") }, err: "not JSON (text/html)"},
		"brotli": {answer: func(v *visit) {
			v.w.Header().Set("Content-Encoding", "br")
			v.say(200, "application/json", "\x8b\x01")
		}, err: "not JSON (application/json, compressed with br, which the client did not ask for)"},
		"a brotli stream": {answer: func(v *visit) {
			v.w.Header().Set("Content-Encoding", "br")
			v.say(200, "text/event-stream", "\x8b\x01")
		}, err: "not JSON (text/event-stream, compressed with br,"},
		"utf-8 as encoding": {answer: func(v *visit) { v.w.Header().Set("Content-Encoding", "utf-8"); v.result(ok) }},
		"of another call":   {answer: func(v *visit) { v.say(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{}}`) }, err: "does not hold the answer"},
		"malformed":         {answer: func(v *visit) { v.say(200, "application/json", `{"jsonrpc":"1.0","id":`+string(v.ID)+`,"result":{}}`) }, err: "malformed answer"},
		"an ended stream":   {answer: func(v *visit) { v.stream(); v.event("", `{"jsonrpc":"2.0","method":"x"}`) }, err: "broke before the answer"},
		"a broken body":     {answer: func(v *visit) { v.w.Header().Set("Content-Length", "1000"); v.say(200, "application/json", "{") }, err: "unexpected EOF"},
		"a broken stream":   {answer: func(v *visit) { v.stream(); panic(http.ErrAbortHandler) }, err: "broke before the answer"},
		"a broken network":  {answer: func(*visit) { panic(http.ErrAbortHandler) }, err: "EOF"},
	}
	for _, era := range eras() {
		for name, tt := range tests {
			t.Run(era+" "+name, func(t *testing.T) {
				t.Parallel()
				s := open(t, era, func(v *visit) bool {
					if v.Method != protocol.MethodCallTool || v.n > 0 {
						return false
					}
					tt.answer(v)
					return true
				})
				c := visitor(t, s, nil)
				got, err := client.Call[string](t.Context(), c, "x", nil)
				if tt.err == "" && (err != nil || got != "ok") || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("%q, %v; want error %q", got, err, tt.err)
				}
				status, _ := errors.AsType[*client.HTTPError](err)
				rpc, _ := errors.AsType[*protocol.Error](err)
				if (rpc == nil) != (tt.code == 0) || rpc != nil && rpc.Code != tt.code {
					t.Errorf("JSON-RPC error %v, want code %d", rpc, tt.code)
				}
				if (status == nil) != (tt.status == 0) || status != nil && status.Status != tt.status {
					t.Errorf("HTTP error %v, want status %d", status, tt.status)
				}
				if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
					t.Errorf("the next call: %q, %v", got, err)
				}
			})
		}
	}
}

func TestHTTPErrorFields(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		check  func(*client.HTTPError) bool
	}{
		"challenge": {
			401,
			map[string]string{"WWW-Authenticate": `Bearer resource_metadata="https://x/y"`},
			"",
			func(e *client.HTTPError) bool { return e.Challenge == `Bearer resource_metadata="https://x/y"` },
		},
		"challenge with JSON-RPC": {
			403,
			map[string]string{"WWW-Authenticate": "Bearer error=\"insufficient_scope\""},
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`,
			func(e *client.HTTPError) bool { return strings.Contains(e.Challenge, "insufficient_scope") },
		},
		"seconds": {
			429,
			map[string]string{"Retry-After": "120"},
			"slow down",
			func(e *client.HTTPError) bool { return e.RetryAfter == 2*time.Minute && e.Body == "slow down" },
		},
		"date": {
			503,
			map[string]string{"Retry-After": time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")},
			"",
			func(e *client.HTTPError) bool { return e.RetryAfter > 58*time.Minute && e.RetryAfter <= time.Hour },
		},
		"nonsense": {
			503,
			map[string]string{"Retry-After": "-7"},
			"",
			func(e *client.HTTPError) bool { return e.RetryAfter == 0 },
		},
		"long text": {
			500, nil, strings.Repeat("é", 5000),
			func(e *client.HTTPError) bool { return len(e.Body) > 2000 && len(e.Body) <= 2048 },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "2026-07-28", func(v *visit) bool {
				if v.Method != protocol.MethodCallTool {
					return false
				}
				for name, value := range tt.header {
					v.w.Header().Set(name, value)
				}
				v.say(tt.status, "", tt.body)
				return true
			})
			c := visitor(t, s, nil)
			_, err := c.CallTool(t.Context(), "x", nil)
			e, isHTTP := errors.AsType[*client.HTTPError](err)
			if !isHTTP || e.Status != tt.status || !tt.check(e) {
				t.Errorf("error %+v (%v)", e, err)
			}
			if n := s.count("POST tools/call"); n != 1 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

// The text of a refusal names the scopes that are missing, whatever the body is.
func TestRefusalNamesScopes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":     "HTTP 403 Forbidden (scopes needed: a b)",
		"nope": "HTTP 403 Forbidden: nope (scopes needed: a b)",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`: "no (JSON-RPC error -32600) (scopes needed: a b)",
	} {
		s := open(t, "2026-07-28", func(v *visit) bool {
			if v.Method != protocol.MethodCallTool {
				return false
			}
			v.w.Header().Set("WWW-Authenticate", `Bearer scope="a b", error="insufficient_scope"`)
			v.say(403, "", body)
			return true
		})
		if _, err := visitor(t, s, nil).CallTool(t.Context(), "x", nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestHTTPNotificationsComeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	const many = 200 // more than wait for the reader at once
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := open(t, era, func(v *visit) bool {
				if v.Method != protocol.MethodCallTool {
					return false
				}
				v.stream()
				for i := range many {
					v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, v.ID, i))
				}
				v.event("", v.answer(ok))
				return true
			})
			c := visitor(t, s, nil)
			var got []int
			_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(p protocol.Progress) { got = append(got, int(p.Done)) }))
			if err != nil || len(got) != many || !slices.IsSorted(got) {
				t.Errorf("progress %v, %v", got, err)
			}
		})
	}
}

func TestHTTPBatchIsOneBody(t *testing.T) {
	t.Parallel()
	s := open(t, "2025-03-26", func(v *visit) bool {
		if v.Method != protocol.MethodCallTool {
			return false
		}
		v.say(200, "application/json", `[{"jsonrpc":"2.0","method":"notifications/x"},`+v.answer(ok)+`]`)
		return true
	})
	var mu sync.Mutex
	var seen []string
	c := visitor(t, s, nil, only(t, "2025-03-26"), client.OnNotification(func(_ context.Context, n protocol.Notification) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, n.Method)
	}))
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
		t.Errorf("%q, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []string{"notifications/x"}) {
		t.Errorf("notifications %v", seen)
	}
}

func TestHTTPExchange(t *testing.T) {
	t.Parallel()
	s := open(t, "2026-07-28", func(v *visit) bool {
		if v.Method == "raw" && v.header("Mcp-Protocol-Version") != "v999" {
			v.t.Errorf("the version of the header is %q", v.header("Mcp-Protocol-Version"))
		}
		return false
	})
	c := visitor(t, s, nil)
	got, err := c.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","id":"a","method":"raw","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}}`))
	if err != nil || !strings.Contains(string(got), `"id":"a"`) || !strings.Contains(string(got), "-32601") {
		t.Errorf("answer %s, %v", got, err)
	}
	if got, err := c.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); err != nil || got != nil {
		t.Errorf("answer %s, %v", got, err)
	}
}

func TestHTTPExchangeOfABatch(t *testing.T) {
	t.Parallel()
	batches := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(405)
		case strings.HasPrefix(string(body), "[{"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event("", `{"jsonrpc":"2.0","id":"b","result":{}}`)+event("", `{"jsonrpc":"2.0","id":"a","result":{"a":1}}`))
		case strings.HasPrefix(string(body), "["):
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty"}}`)
		case strings.Contains(string(body), "initialize\""):
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(body)+`,"result":`+initialization("2025-03-26")+`}`)
		default:
			w.WriteHeader(202)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(batches))
	t.Cleanup(s.Close)
	c := visitorAt(t, s.URL, only(t, "2025-03-26"))
	for frame, want := range map[string]string{
		`[{"jsonrpc":"2.0","id":"a","method":"x"},{"jsonrpc":"2.0","method":"y"},{"jsonrpc":"2.0","id":"b","method":"x"}]`: `"a":1`,
		`[]`:    "-32600",
		`[1,2]`: "-32600",
	} {
		got, err := c.Exchange(t.Context(), []byte(frame))
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v", frame, got, err)
		}
	}
}

func TestHTTPAnswersAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("moves 128 MiB")
	}
	chunk := strings.Repeat("x", 1<<20)
	for name, kind := range map[string]string{"JSON": "application/json", "a stream": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "2025-11-25", func(v *visit) bool {
				if v.Method != protocol.MethodCallTool || v.n > 0 {
					return false
				}
				v.w.Header().Set("Content-Type", kind)
				v.write("id: 1\n\ndata:")
				for v.r.Context().Err() == nil {
					if _, err := io.WriteString(v.w, chunk); err != nil {
						break
					}
				}
				return true
			})
			c := visitor(t, s, nil)
			if _, err := c.CallTool(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "long") {
				t.Errorf("error %v", err)
			}
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// A frame that is no JSON is posted too: tests of servers want that.
func TestHTTPExchangeOfNonsense(t *testing.T) {
	t.Parallel()
	c := visitorAt(t, nonsenseServer(t), only(t, "2026-07-28"))
	got, err := c.Exchange(t.Context(), []byte(`{nonsense`))
	if err != nil || !strings.Contains(string(got), "-32700") {
		t.Errorf("answer %s, %v", got, err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHTTPServerAsks(t *testing.T) {
	t.Parallel()
	replies := make(chan message, 1)
	s := open(t, "2025-11-25", func(v *visit) bool {
		v.w.Header().Set("Mcp-Session-Id", "s")
		switch {
		case v.Method == protocol.MethodCallTool:
			v.stream()
			v.event("", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}}`)
			reply := <-replies
			v.event("", v.answer(`{"content":[{"type":"text","text":`+fmt.Sprintf("%q", reply.Result)+`}]}`))
			return true
		case v.Method == "" && v.Result != nil:
			if v.header("Mcp-Session-Id") != "s" || v.header("Mcp-Protocol-Version") != "2025-11-25" || v.header("Mcp-Method") != "" {
				v.t.Errorf("headers of the reply %v", v.r.Header)
			}
			replies <- v.message
		}
		return false
	})
	c := visitor(t, s, nil, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
		return &client.ElicitAnswer{Action: "decline"}, nil
	}))
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != `{"action":"decline"}` {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHTTPArgumentsThatCannotBeSent: arguments that are not valid Unicode end only their call.
func TestHTTPArgumentsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	begun, release := make(chan bool), make(chan bool)
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.at("name") != `"slow"` {
			return false
		}
		begun <- true
		<-release
		v.result(ok)
		return true
	})
	c := visitor(t, s, nil)
	slow := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "slow", nil)
		slow <- err
	}()
	<-begun
	if _, err := c.CallTool(t.Context(), "x", json.RawMessage(`{"q":"\ud83d"}`)); err == nil {
		t.Error("half an emoji was sent")
	}
	release <- true
	if err := <-slow; err != nil {
		t.Errorf("the other call: %v", err)
	}
}

// TestHTTPAnswerThatCannotBeSent: if the answer of a handler is not valid Unicode, the server gets
// an error.
func TestHTTPAnswerThatCannotBeSent(t *testing.T) {
	t.Parallel()
	replies := make(chan message, 1)
	s := open(t, "2025-11-25", func(v *visit) bool {
		switch {
		case v.Method == protocol.MethodCallTool:
			v.stream()
			v.event("", `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
			if reply := <-replies; reply.Error == nil {
				v.t.Errorf("sent %s", reply.text)
			}
			v.event("", v.answer(ok))
			return true
		case v.verb == http.MethodPost && v.Method == "":
			replies <- v.message
		}
		return false
	})
	c := visitor(t, s, nil, client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
		use := protocol.ToolUse{ID: "1", Name: "x", Input: json.RawMessage(`{"q":"\ud83d"}`)}
		return &client.SampleAnswer{Content: []protocol.Block{use}, Model: "m"}, nil
	}))
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
}

func TestHTTPTargets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:80", "ftp://x/", "http://", "/mcp", "http://a b/"} {
		if _, err := client.Connect(t.Context(), client.HTTP(url)); err == nil {
			t.Errorf("%q is taken for a URL", url)
		}
	}
}

// nonsenseServer answers what it cannot read as JSON-RPC says.
func nonsenseServer(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasPrefix(string(body), `{"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no JSON"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(body)+`,"result":`+discovery+`}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func visitorAt(t testing.TB, url string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(url), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func BenchmarkHTTPCallTool(b *testing.B) {
	for name, answer := range map[string]func(*visit){
		"JSON":   func(v *visit) { v.result(ok) },
		"stream": func(v *visit) { v.stream(); v.event("", v.answer(ok)) },
	} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				v := &visit{t: b, w: w, r: r, message: message{ID: []byte(idIn(body))}}
				if r.Header.Get("Mcp-Method") == protocol.MethodDiscover {
					v.result(discovery)
					return
				}
				answer(v)
			}))
			b.Cleanup(s.Close)
			c := visitorAt(b, s.URL)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.CallTool(b.Context(), "x", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMalformedAnswerWithAllMembers: an answer that cannot be read ends its call, also if it has null for the
// members that it does not use.
func TestMalformedAnswerWithAllMembers(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"an integer code": `{"jsonrpc":"2.0","id":%s,"method":null,"params":null,"result":null,"error":{"code":"E1","message":"m"}}`,
		"Invalid API key": `{"jsonrpc":"2.0","id":%s,"error":{"code":"E1","message":"Invalid API key"}}`,
		"over quota":      `{"jsonrpc":"2.0","id":%s,"error":"over quota"}`,
		"lone surrogate":  `{"jsonrpc":"2.0","id":%s,"method":null,"params":null,"result":{"content":[{"type":"text","text":"\ud83d"}]},"error":null}`,
	} {
		s := open(t, "2025-11-25", func(v *visit) bool {
			if v.Method != protocol.MethodCallTool {
				return false
			}
			v.say(200, "application/json", fmt.Sprintf(text, v.ID))
			return true
		})
		overStdio, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			f.send(text, f.expect(protocol.MethodCallTool).ID)
		})
		for name, c := range map[string]*client.Client{"HTTP": visitor(t, s, nil), "stdio": overStdio} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if _, err := c.CallTool(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
			cancel()
		}
		wait()
	}
}

// TestEndlessAnswer checks that the client does not keep an endless answer, as a body or as an
// event.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	spaces := strings.Repeat(" ", 1<<20)
	for want, begin := range map[string]func(v *visit){
		"longer than 64 MiB": func(v *visit) { v.w.Header().Set("Content-Type", "application/json") },
		"too long":           func(v *visit) { v.stream(); v.write("data: ") },
	} {
		s := open(t, "2026-07-28", func(v *visit) bool {
			if v.Method != protocol.MethodCallTool {
				return false
			}
			begin(v)
			for range 100 {
				v.write(spaces) // fails once the client has disconnected
			}
			return true
		})
		c := reach(t, client.HTTP(s.URL+"/mcp"))
		if _, err := c.CallTool(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
