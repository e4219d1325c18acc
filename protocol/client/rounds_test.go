package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const (
	askForm   = `{"method":"elicitation/create","params":` + form + `}`
	askURL    = `{"method":"elicitation/create","params":{"mode":"url","message":"go","url":"https://a.example/x"}}`
	askSample = `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}}`
	askRoots  = `{"method":"roots/list"}`
	complete  = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
)

func required(requests, state string) string {
	members := []string{`"resultType":"input_required"`}
	if requests != "" {
		members = append(members, `"inputRequests":`+requests)
	}
	if state != "" {
		members = append(members, `"requestState":`+state)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// saying answers forms with n=name, samples and roots.
func saying(name string) []client.Option {
	return []client.Option{
		client.OnElicit(func(_ context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": name}}, nil
		}),
		client.OnSample(func(_ context.Context, _ *client.SampleRequest) (*client.SampleAnswer, error) {
			return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "yo"}}, StopReason: "endTurn"}, nil
		}),
		client.OnRoots(func(context.Context) ([]protocol.Root, error) {
			return []protocol.Root{{URI: "file:///a"}}, nil
		}),
	}
}

// sameJSON compares values; texts byte by byte after decoding.
func sameJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%q: %v", got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(w)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

// without is the params of a request but for what every round has of its own.
func (m message) without(names ...string) string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(m.Params, &all)
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return slices.Contains(names, name) })
	raw, _ := json.Marshal(all)
	return string(raw)
}

// The methods that may ask, each by every way of calling it.
func asking() map[string]func(context.Context, *client.Client) (string, error) {
	return map[string]func(context.Context, *client.Client) (string, error){
		"CallTool": func(ctx context.Context, c *client.Client) (string, error) {
			r, err := c.CallTool(ctx, "x", map[string]any{"a": "<é>", "requestState": "mine"})
			if err != nil {
				return "", err
			}
			return r.Content[0].(protocol.Text).Text, nil
		},
		"Call": func(ctx context.Context, c *client.Client) (string, error) {
			return client.Call[string](ctx, c, "x", nil)
		},
		"ReadResource": func(ctx context.Context, c *client.Client) (string, error) {
			r, err := c.ReadResource(ctx, "file:///a")
			if err != nil {
				return "", err
			}
			return r.Contents[0].Text, nil
		},
		"GetPrompt": func(ctx context.Context, c *client.Client) (string, error) {
			r, err := c.GetPrompt(ctx, "p", map[string]string{"b": "2", "a": "1"})
			if err != nil {
				return "", err
			}
			return r.Messages[0].Content.(protocol.Text).Text, nil
		},
		"Request": func(ctx context.Context, c *client.Client) (string, error) {
			params := `{"name":"x","arguments":{"z":1.50},"vendor":{"k":[1]},"_meta":{"m":1}}`
			r, err := c.Request(ctx, protocol.MethodCallTool, json.RawMessage(params), client.InRounds())
			if err != nil {
				return "", err
			}
			return "done", expectRaw(r)
		},
	}
}

func expectRaw(raw json.RawMessage) error {
	if string(raw) != complete {
		return fmt.Errorf("raw result %s", raw)
	}
	return nil
}

func finish(f *fake, m message) {
	f.t.Helper()
	switch m.Method {
	case protocol.MethodReadResource:
		f.result(m, `{"resultType":"complete","contents":[{"uri":"file:///a","text":"done"}],"ttlMs":0,"cacheScope":"private"}`)
	case protocol.MethodGetPrompt:
		f.result(m, `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"done"}}]}`)
	default:
		f.result(m, complete)
	}
}

// The rules of 2026-07-28 basic/patterns/mrtr for clients, for each method.
func TestRounds(t *testing.T) {
	t.Parallel()
	const state = `"\u00e9 \u0000 <&> \ud83d\ude00 \"\\\/ =="`
	for name, call := range asking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.modern()
				first := f.next()
				if first.at("inputResponses") != "" || first.at("requestState") != "" {
					f.t.Errorf("the first round has inputs: %s", first.text)
				}
				f.result(first, required(`{"a b":`+askForm+`,"é":`+askSample+`,"c":`+askRoots+`}`, state))

				second := f.expect(first.Method)
				sameJSON(f.t, second.at("inputResponses"), `{"a b":{"action":"accept","content":{"n":"ann"}},`+
					`"é":{"role":"assistant","model":"m","content":{"type":"text","text":"yo"},"stopReason":"endTurn"},"c":{"roots":[{"uri":"file:///a"}]}}`)
				sameJSON(f.t, second.at("requestState"), state)
				sameJSON(f.t, second.without("inputResponses", "requestState"), first.without())
				f.result(second, required(`{"d":`+askForm+`}`, "")) // without a state this time

				third := f.expect(first.Method)
				sameJSON(f.t, third.at("inputResponses"), `{"d":{"action":"accept","content":{"n":"ann"}}}`)
				if third.at("requestState") != "" {
					f.t.Errorf("a state of an earlier round: %s", third.text)
				}
				sameJSON(f.t, third.without("inputResponses"), first.without())
				if ids := []string{string(first.ID), string(second.ID), string(third.ID)}; ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
					f.t.Errorf("ids %v", ids)
				}
				finish(f, third)

				other := f.next() // nothing is carried over to another call
				sameJSON(f.t, other.without(), first.without())
				finish(f, other)
			}, saying("ann")...)
			for range 2 {
				if got, err := call(t.Context(), c); err != nil || got != "done" {
					t.Errorf("got %q, %v", got, err)
				}
			}
			wait()
		})
	}
}

// A request that is raw stays raw.
func TestRequestDoesNotAnswer(t *testing.T) {
	t.Parallel()
	want := required(`{"a":`+askForm+`}`, `"s"`)
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), want)
	}, saying("x")...)
	raw, err := c.Request(t.Context(), protocol.MethodCallTool, json.RawMessage(`{"name":"x"}`))
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
	wait()
}

func TestCallsInParallelKeepTheirInputs(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		for range 4 { // the answer of one call may come before the other call
			m := f.expect(protocol.MethodCallTool)
			if m.at("requestState") == "" {
				f.result(m, required(`{"q":{"method":"elicitation/create","params":{"message":`+m.at("name")+
					`,"requestedSchema":{"type":"object","properties":{}}}}}`, m.at("name")))
				continue
			}
			sameJSON(f.t, m.at("requestState"), m.at("name"))
			sameJSON(f.t, m.at("inputResponses", "q", "content", "said"), m.at("name"))
			f.result(m, complete)
		}
	}, client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
		return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"said": q.Message}}, nil
	}))
	var group sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		group.Go(func() {
			if _, err := c.CallTool(t.Context(), name, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wait()
}

func TestResultTypeAbsentOrUnknown(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), `{"content":[{"type":"text","text":"done"}],"inputRequests":{"a":`+askForm+`},"requestState":"s"}`)
		f.result(f.expect(protocol.MethodCallTool), `{"resultType":"Input_Required","requestState":"s"}`)
		f.result(f.expect(protocol.MethodListTools), required(`{"a":`+askForm+`}`, ""))
	}, saying("x")...)
	if r, err := c.CallTool(t.Context(), "x", nil); err != nil || r.Content[0].(protocol.Text).Text != "done" {
		t.Errorf("absent: %+v, %v", r, err)
	}
	if r, err := c.CallTool(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "resultType") {
		t.Errorf("unknown: %+v, %v", r, err)
	}
	for _, err := range c.Tools(t.Context()) {
		if err == nil {
			t.Error("a list asked for input")
		}
	}
	wait()
}

func TestMaxRounds(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{-1, 0, 1, 3} { // -1: the default
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			opts, want := saying("x"), limit
			if limit < 0 {
				want = 32
			} else {
				opts = append(opts, client.MaxRounds(limit))
			}
			c, wait := connect(t, func(f *fake) {
				f.modern()
				for i := range want + 1 {
					f.result(f.expect(protocol.MethodCallTool), required(fmt.Sprintf(`{"q%d":%s}`, i, askForm), ""))
				}
				f.result(f.expect(protocol.MethodDiscover), discovery)
			}, opts...)
			_, err := c.CallTool(t.Context(), "x", nil)
			if !errors.Is(err, client.ErrInputRequired) || !strings.Contains(err.Error(), fmt.Sprintf("after %d rounds", want)) {
				t.Errorf("error %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

func TestTooManyQuestionsInARound(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 65 {
		all = append(all, fmt.Sprintf(`"q%d":%s`, i, askForm))
	}
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodCallTool), required("{"+strings.Join(all, ",")+"}", ""))
	}, saying("x")...)
	if _, err := c.CallTool(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "65 questions at once") {
		t.Errorf("error %v", err)
	}
	wait()
}

// A server that sheds load, or repeats itself, is not asked in a tight loop.
func TestRoundsArePaced(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	tests := map[string]struct {
		results []string
		pauses  []time.Duration
	}{
		"load shedding": {
			slices.Repeat([]string{required("", `"busy"`)}, 8),
			[]time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms, 2000 * ms},
		},
		"no requests": {[]string{required("{}", `"busy"`)}, []time.Duration{50 * ms}},
		"the same question": {
			slices.Repeat([]string{required(`{"a":`+askURL+`}`, `"s"`)}, 3),
			[]time.Duration{0, 50 * ms, 100 * ms},
		},
		"another question": {
			[]string{required("", `"busy"`), required(`{"a":`+askForm+`}`, ""), required(`{"b":`+askForm+`}`, ""), required("", `"busy"`)},
			[]time.Duration{50 * ms, 0, 0, 50 * ms},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, wait := connect(t, func(f *fake) {
					f.modern()
					m := f.expect(protocol.MethodCallTool)
					for i, result := range tt.results {
						before := time.Now()
						f.result(m, result)
						m = f.expect(protocol.MethodCallTool)
						if pause := time.Since(before); pause != tt.pauses[i] {
							f.t.Errorf("round %d came after %s, want %s", i+1, pause, tt.pauses[i])
						}
						if strings.Contains(result, "busy") && (m.at("requestState") != `"busy"` || m.at("inputResponses") != "") {
							f.t.Errorf("round %d: %s", i+1, m.text)
						}
					}
					f.result(m, complete)
				}, saying("x")...)
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
				wait()
			})
		})
	}
}

// A call can end while its questions are open or while it rests.
func TestRoundsEnd(t *testing.T) {
	t.Parallel()
	hang := client.OnElicit(func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
		<-ctx.Done()
		return nil, errors.New("ended")
	})
	own := errors.New("own")
	questions, busy := required(`{"a":`+askForm+`}`, ""), required("", `"s"`)
	tests := map[string]struct {
		result string
		end    func(cancel func(error), c *client.Client, f *fake)
		want   error
	}{
		"cancelled, asked":   {questions, func(cancel func(error), _ *client.Client, _ *fake) { cancel(own) }, context.Canceled},
		"cancelled, resting": {busy, func(cancel func(error), _ *client.Client, _ *fake) { cancel(own) }, context.Canceled},
		"closed, asked":      {questions, func(_ func(error), c *client.Client, _ *fake) { _ = c.Close() }, client.ErrClosed},
		"closed, resting":    {busy, func(_ func(error), c *client.Client, _ *fake) { _ = c.Close() }, client.ErrClosed},
		"lost, asked":        {questions, func(_ func(error), _ *client.Client, f *fake) { _ = f.Close() }, io.ErrUnexpectedEOF},
		"lost, resting":      {busy, func(_ func(error), _ *client.Client, f *fake) { _ = f.Close() }, io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var server *fake
				c, wait := connect(t, func(f *fake) {
					server = f
					f.modern()
					f.result(f.expect(protocol.MethodCallTool), tt.result)
				}, hang)
				done := make(chan error, 1)
				go func() {
					_, err := c.CallTool(ctx, "x", nil)
					done <- err
				}()
				synctest.Wait()
				tt.end(cancel, c, server)
				if err := <-done; !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				cancel(nil)
				wait()
			})
		})
	}
}

// A handler is replayed from the top, and so is its progress.
func TestProgressOverRounds(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		tokens := map[string]bool{}
		for round, reports := range [][]string{{"1", "2"}, {}, {"1", "2", "2.5", "3"}, {"0", "4"}} {
			m := f.expect(protocol.MethodCallTool)
			token := m.at("_meta", "progressToken")
			if token != string(m.ID) || tokens[token] {
				f.t.Errorf("round %d: %s", round, m.text)
			}
			tokens[token] = true
			for _, p := range reports {
				f.notify(protocol.NotificationProgress, `{"progressToken":`+token+`,"progress":`+p+`,"total":4}`)
			}
			if round == 3 {
				f.result(m, complete)
				return
			}
			f.result(m, required(fmt.Sprintf(`{"q%d":%s}`, round, askForm), ""))
		}
	}, saying("x")...)
	var got []float64
	_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(p protocol.Progress) { got = append(got, p.Done) }))
	if want := []float64{1, 2, 2.5, 3, 4}; err != nil || !slices.Equal(got, want) {
		t.Errorf("progress %v, want %v; %v", got, want, err)
	}
	wait()
}
