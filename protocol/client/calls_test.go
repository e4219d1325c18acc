package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

func TestListsGoThroughAllPages(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				for i, cursor := range []string{"", `""`, `"b"`} {
					m := f.expect(protocol.MethodListTools)
					if m.at("cursor") != cursor {
						f.t.Errorf("page %d asked with %s", i, m.text)
					}
					next := []string{`,"nextCursor":""`, `,"nextCursor":"b"`, ``}[i]
					f.result(m, fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"t%d","inputSchema":{"type":"object"}}]%s}`, i, next))
				}
				f.refuse(f.expect(protocol.MethodListPrompts), -32603, "boom", "")
			})
			var names []string
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"t0", "t1", "t2"}) {
				t.Errorf("tools %v", names)
			}
			for _, err := range c.Prompts(t.Context()) {
				var e *protocol.Error
				if !errors.As(err, &e) || e.Code != -32603 || e.Message != "boom" {
					t.Errorf("error %v", err)
				}
			}
			wait()
		})
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cursor func(i int) string
		most   int // pages that are asked for
	}{
		"repeats the cursor": {func(int) string { return "again" }, 2},
		"in a circle":        {func(i int) string { return fmt.Sprint(i % 100) }, 300},
		"into a circle":      {func(i int) string { return fmt.Sprint(min(i, 50+i%7)) }, 300},
		"ever new cursors":   {func(i int) string { return fmt.Sprint(i) }, 10_000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pages atomic.Int64
			c, _ := connect(t, func(f *fake) {
				f.modern()
				for i := 0; ; i++ {
					select {
					case frame := <-f.in:
						var m message
						_ = json.Unmarshal(frame, &m)
						pages.Add(1)
						f.result(m, fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","resources":[],"nextCursor":%q}`, tt.cursor(i)))
					case <-f.gone:
						return
					}
				}
			})
			var last error
			for _, err := range c.Resources(t.Context()) {
				last = err
			}
			if n := int(pages.Load()); n > tt.most || last == nil || !strings.Contains(last.Error(), "does not end") {
				t.Errorf("after %d pages: %v", n, last)
			}
		})
	}
}

func TestCallToolArguments(t *testing.T) {
	t.Parallel()
	var none map[string]any
	tests := map[string]struct {
		args any
		want string // of the arguments member
		err  string
	}{
		"nil":           {args: nil, want: `{}`},
		"nil map":       {args: none, want: `{}`},
		"empty":         {args: struct{}{}, want: `{}`},
		"struct":        {args: struct{ A int }{1}, want: `{"A":1}`},
		"raw":           {args: json.RawMessage("{\n \"a\": 1 }"), want: `{"a":1}`},
		"no object":     {args: []int{1}, err: "want an object"},
		"half an emoji": {args: json.RawMessage(`{"a":"\ud83d"}`), err: "lone surrogate"},
		"no JSON":       {args: make(chan int), err: "unsupported type"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := connect(t, func(f *fake) {
				f.modern()
				if tt.err != "" {
					return
				}
				m := f.expect(protocol.MethodCallTool)
				if m.at("arguments") != tt.want || m.at("name") != `"tool"` {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`)
			})
			_, err := c.CallTool(t.Context(), "tool", tt.args)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestCallDecodes(t *testing.T) {
	t.Parallel()
	type point struct{ X, Y int }
	c, _ := connect(t, func(f *fake) {
		f.legacy("2025-11-25")
		for _, result := range []string{
			`{"content":[],"structuredContent":{"X":1,"Y":2}}`,
			`{"content":[{"type":"text","text":"{\"X\":3,\"Y\":4}"}]}`,
			`{"content":[],"structuredContent":{"result":[5,6]}}`,
			`{"content":[{"type":"text","text":"plain"}]}`,
			`{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
			`{"content":[{"type":"text","text":"plain"}]}`,
		} {
			f.result(f.expect(protocol.MethodCallTool), result)
		}
	})
	ctx := t.Context()
	if p, err := client.Call[point](ctx, c, "a", nil); err != nil || p != (point{1, 2}) {
		t.Errorf("structured: %v, %v", p, err)
	}
	if p, err := client.Call[point](ctx, c, "a", nil); err != nil || p != (point{3, 4}) {
		t.Errorf("text: %v, %v", p, err)
	}
	if l, err := client.Call[[]int](ctx, c, "a", nil); err != nil || !slices.Equal(l, []int{5, 6}) {
		t.Errorf("wrapped: %v, %v", l, err)
	}
	if s, err := client.Call[string](ctx, c, "a", nil); err != nil || s != "plain" {
		t.Errorf("string: %q, %v", s, err)
	}
	var failed *client.ToolError
	_, err := client.Call[point](ctx, c, "a", nil)
	if !errors.As(err, &failed) || failed.Tool != "a" || !strings.Contains(err.Error(), "no such city") {
		t.Errorf("isError: %v", err)
	}
	if _, err := client.Call[point](ctx, c, "a", nil); err == nil || errors.As(err, &failed) {
		t.Errorf("undecodable: %v", err)
	}
}

func TestOtherCalls(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			const complete = `"resultType":"complete","ttlMs":0,"cacheScope":"public"`
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				m := f.expect(protocol.MethodReadResource)
				f.result(m, `{`+complete+`,"contents":[{"uri":"a://b","text":"hello"}]}`)
				m = f.expect(protocol.MethodGetPrompt)
				if m.at("arguments", "k") != `"v"` {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`)
				m = f.expect(protocol.MethodComplete)
				if m.at("ref", "title") != `"P"` {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{"resultType":"complete","completion":{"values":["x"],"total":7,"hasMore":true}}`)
				m = f.expect("example.com/custom")
				if m.at("n") != "1" {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{"resultType":"complete","answer":42}`)
				f.refuse(f.expect("example.com/custom"), -32000, "no", `{"why":1}`)
				f.result(f.expect("example.com/custom"), `null`)
				f.result(f.next(), `{}`) // ping, or its substitute
			})
			ctx := t.Context()
			if r, err := c.ReadResource(ctx, "a://b"); err != nil || r.Contents[0].Text != "hello" {
				t.Errorf("ReadResource: %+v, %v", r, err)
			}
			if r, err := c.GetPrompt(ctx, "p", map[string]string{"k": "v"}); err != nil || r.Messages[0].Role != protocol.RoleUser {
				t.Errorf("GetPrompt: %+v, %v", r, err)
			}
			done, err := c.Complete(ctx, &protocol.CompleteParams{Prompt: "p", Title: "P", Argument: "k", Value: "v"})
			if err != nil || done.Total != 7 || !done.HasMore || done.Values[0] != "x" {
				t.Errorf("Complete: %+v, %v", done, err)
			}
			raw, err := c.Request(ctx, "example.com/custom", json.RawMessage("{\n\"n\": 1}"))
			if err != nil || !strings.Contains(string(raw), `"answer":42`) {
				t.Errorf("Request: %s, %v", raw, err)
			}
			var e *protocol.Error
			if _, err := c.Request(ctx, "example.com/custom", nil); !errors.As(err, &e) || e.Code != -32000 {
				t.Errorf("Request: %v", err)
			}
			if raw, err := c.Request(ctx, "example.com/custom", nil); err == nil || !strings.Contains(err.Error(), "result must be an object") {
				t.Errorf("Request: %s, %v", raw, err)
			}
			if _, err := c.Request(ctx, "example.com/custom", json.RawMessage(`[1]`)); err == nil {
				t.Error("params that are no object were sent")
			}
			if _, err := c.Complete(ctx, nil); err == nil {
				t.Error("a completion of nothing was asked for")
			}
			if err := c.Ping(ctx); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

func TestInputRequired(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}`)
	})
	if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, client.ErrInputRequired) {
		t.Errorf("error %v", err)
	}
}

func TestInvalidResults(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), `{"resultType":"complete","content":7}`)
		f.result(f.expect(protocol.MethodCallTool), `{"resultType":"surprise"}`)
		m := f.expect(protocol.MethodCallTool)
		f.send(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"both"}}`, m.ID)
	})
	for range 3 {
		_, err := c.CallTool(t.Context(), "x", nil)
		var fault *protocol.Fault
		var refusal *protocol.Error
		if err == nil || errors.As(err, &fault) || errors.As(err, &refusal) {
			t.Errorf("error %v (%T): want one that is not the server's", err, err)
		}
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	t.Run("handshake", func(t *testing.T) {
		t.Parallel()
		c, wait := connect(t, func(f *fake) {
			f.initialized("2025-06-18")
			for _, level := range []string{`"warning"`, `"debug"`} {
				m := f.expect(protocol.MethodSetLevel)
				if m.at("level") != level {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{}`)
			}
		}, client.Revisions(protocol.Rev20250618), client.LogLevel(protocol.LevelWarning))
		if err := c.SetLogLevel(t.Context(), protocol.LevelDebug); err != nil {
			t.Error(err)
		}
		wait()
		if err := c.SetLogLevel(t.Context(), "loud"); err == nil {
			t.Error("no error for a level that is none")
		}
	})
	t.Run("refused", func(t *testing.T) { // as by mcp-go 0.32 over HTTP, which declares logging
		t.Parallel()
		c, wait := connect(t, func(f *fake) {
			f.initialized("2025-03-26")
			for range 2 {
				f.refuse(f.expect(protocol.MethodSetLevel), -32603, "session does not support setting logging level", "")
			}
		}, client.Revisions(protocol.Rev20250326), client.LogLevel(protocol.LevelInfo))
		var refused *protocol.Error
		if err := c.SetLogLevel(t.Context(), protocol.LevelInfo); !errors.As(err, &refused) {
			t.Errorf("error %v", err)
		}
		wait()
	})
	t.Run("per request", func(t *testing.T) {
		t.Parallel()
		c, _ := connect(t, func(f *fake) {
			f.modern()
			for _, level := range []string{`"warning"`, `"debug"`} {
				m := f.expect(protocol.MethodCallTool)
				if m.at("_meta", metaLevel) != level {
					f.t.Errorf("frame %s", m.text)
				}
				f.result(m, `{"resultType":"complete","content":[]}`)
			}
		}, client.LogLevel(protocol.LevelWarning))
		for range 2 {
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Error(err)
			}
			if err := c.SetLogLevel(t.Context(), protocol.LevelDebug); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRootsChanged(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				if era != "2026-07-28" {
					f.expect(protocol.NotificationRootsChanged)
				}
				f.result(f.next(), `{}`)
			})
			if err := c.RootsChanged(t.Context()); err != nil {
				t.Error(err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

func TestAnswersFindTheirCalls(t *testing.T) {
	t.Parallel()
	const n = 50
	c, _ := connect(t, func(f *fake) {
		f.legacy("2025-03-26")
		var calls []message
		seen := map[string]bool{}
		for range n {
			m := f.expect(protocol.MethodCallTool)
			if seen[string(m.ID)] {
				f.t.Errorf("id %s used twice", m.ID)
			}
			seen[string(m.ID)] = true
			calls = append(calls, m)
		}
		slices.Reverse(calls)
		var batch []string
		for i, m := range calls { // half of them as a batch, which 2025-03-26 clients must take
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, m.ID, m.at("name"))
			if i%2 == 0 {
				batch = append(batch, answer)
				continue
			}
			f.send("%s", answer)
		}
		f.send("this is not JSON")
		f.send("[%s]", strings.Join(batch, ","))
	})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := fmt.Sprintf("tool%d", i)
			if got, err := client.Call[string](t.Context(), c, name, nil); err != nil || got != name {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		})
	}
	wg.Wait()
}

func TestLostConnection(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		for range 3 {
			f.expect(protocol.MethodCallTool)
		}
		_ = f.Close()
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	wait()
	if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("afterwards: %v", err)
	}
}

// closing counts how often it is closed.
type closing struct {
	*fake
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return errors.Join(c.fake.Close(), errors.New("it was open"))
}

// The carrier is closed once, however often the client is.
func TestCloseAgain(t *testing.T) {
	t.Parallel()
	f := &closing{fake: &fake{t: t, in: make(chan []byte), out: make(chan []byte), gone: make(chan struct{})}}
	go f.modern()
	c, err := client.Connect(t.Context(), client.Over(func(context.Context) (transport.Conn, error) { return f, nil }))
	if err != nil {
		t.Fatal(err)
	}
	first, second := c.Close(), c.Close()
	if f.closed != 1 || first == nil || !errors.Is(second, first) {
		t.Errorf("closed %d times: %v, %v", f.closed, first, second)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.expect(protocol.MethodCallTool)
			<-f.gone
		})
		failed := make(chan error)
		go func() {
			_, err := c.CallTool(t.Context(), "x", nil)
			failed <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; !errors.Is(err, client.ErrClosed) {
			t.Errorf("in flight: %v", err)
		}
		if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, client.ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
		wait()
	})
}

// TestAnswerWithoutAResult: a response without a result and without an error ends its call.
func TestAnswerWithoutAResult(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		m := f.expect(protocol.MethodCallTool)
		f.send(`{"jsonrpc":"2.0","id":%s}`, m.ID)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.CallTool(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), "malformed answer") {
		t.Errorf("error %v", err)
	}
	wait()
}

// TestDeepAnswer: the client reads values as deep as a server may send.
func TestDeepAnswer(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1000) + `"` + strings.Repeat("x", 200<<10) + `"` + strings.Repeat("]", 1000)
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), `{"resultType":"complete","content":[],"structuredContent":`+deep+`}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if r, err := c.CallTool(ctx, "x", nil); err != nil || string(r.Structured) != deep {
		t.Errorf("the answer is lost: %v", err)
	}
	wait()
}

// TestUnreadableAnswers: an answer that the client refuses to read ends its call. Programs in
// JavaScript write a lone surrogate if they cut a text within an emoji.
func TestUnreadableAnswers(t *testing.T) {
	t.Parallel()
	for want, result := range map[string]string{
		"lone surrogate":  `{"content":[{"type":"text","text":"cut \ud83d"}]}`,
		"invalid UTF-8":   "{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}",
		"nested too deep": `{"content":[],"structuredContent":{"a":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}}`,
	} {
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			f.result(f.expect(protocol.MethodCallTool), result)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := c.CallTool(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
		cancel()
		wait()
	}
}

// TestHostileAnswers: an answer that would cost far more than its size ends the call.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"deep and large": `{"resultType":"complete","content":[],"structuredContent":` + strings.Repeat("[", 900) + strings.Repeat("1,", 1<<20) + `1` + strings.Repeat("]", 900) + `}`,
		"elements":       `{"resultType":"complete","content":[],"structuredContent":[` + strings.Repeat("0,", 5<<20) + `0]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := connect(t, func(f *fake) { f.modern(); f.result(f.expect(protocol.MethodCallTool), result) })
			if _, err := c.CallTool(t.Context(), "t", nil); err == nil || !strings.Contains(err.Error(), "malformed answer") {
				t.Errorf("%v", err)
			}
		})
	}
}
