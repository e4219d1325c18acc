package client_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestQuestionsOfARoundAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var barrier sync.WaitGroup
		barrier.Add(3)
		meet := func() { barrier.Done(); barrier.Wait() }
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askURL+`,"b":`+askSample+`,"c":`+askRoots+`}`, ""))
			m := f.expect(protocol.MethodCallTool)
			sameJSON(f.t, m.at("inputResponses"), `{"a":{"action":"accept"},`+
				`"b":{"role":"assistant","model":"m","content":{"type":"text","text":"yo"}},"c":{"roots":[]}}`)
			f.result(m, complete)
		},
			client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
				meet()
				return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"not": "sent"}}, nil
			}),
			client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
				meet()
				return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "yo"}}}, nil
			}),
			client.OnRoots(func(context.Context) ([]protocol.Root, error) { meet(); return nil, nil }))
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Error(err)
		}
		wait()
	})
}

func TestMissingHandlers(t *testing.T) {
	t.Parallel()
	all := `{"a":` + askForm + `,"b":` + askURL + `,"c":` + askSample + `,"d":` + askSample + `,"e":` + askRoots + `}`
	never := client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
		t.Error("asked in vain")
		return nil, nil
	})
	tests := map[string]struct {
		opts []client.Option
		want string
	}{
		"none":      {nil, "elicitation (OnElicit), sampling (OnSample), roots (OnRoots)"},
		"some":      {[]client.Option{never}, "sampling (OnSample), roots (OnRoots)"},
		"form only": {append(saying(""), client.FormOnly(), never), "elicitation by URL (FormOnly)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.modern()
				f.result(f.expect(protocol.MethodCallTool), required(all, ""))
				f.result(f.expect(protocol.MethodDiscover), discovery) // and no second round before it
			}, tt.opts...)
			_, err := c.CallTool(t.Context(), "x", nil)
			if !errors.Is(err, client.ErrInputRequired) || !strings.HasSuffix(err.Error(), "did not declare "+tt.want) {
				t.Errorf("error %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

// What a handler returns instead of an answer ends the call; the server hears nothing.
func TestHandlerErrorsEndTheCall(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	refusal := &protocol.Error{Code: -32001, Message: "refused here"}
	elicit := func(a *client.ElicitAnswer, err error) client.Option {
		return client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) { return a, err })
	}
	tests := map[string]struct {
		opt  client.Option
		is   error
		want string
	}{
		"own error":      {elicit(nil, own), own, `answering "a" of the server: own`},
		"protocol error": {elicit(nil, refusal), refusal, "refused here"},
		"rejected":       {elicit(nil, client.ErrRejected), client.ErrRejected, "rejected"},
		"no answer":      {elicit(nil, nil), nil, "no answer"},
		"odd action":     {elicit(&client.ElicitAnswer{Action: "maybe"}, nil), nil, "maybe"},
		"invalid answer": {elicit(&client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": 1}}, nil), client.ErrInvalidAnswer, "n: must be a string"},
		"no JSON":        {elicit(&client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": make(chan int)}}, nil), client.ErrInvalidAnswer, "chan int"},
		"ends its turn": {client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			runtime.Goexit()
			return nil, nil
		}), nil, "did not return"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.modern()
				f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askForm+`}`, `"s"`))
				f.result(f.expect(protocol.MethodDiscover), discovery)
			}, tt.opt)
			_, err := c.CallTool(t.Context(), "x", nil)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

func TestOneErrorEndsTheOtherHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own, ended := errors.New("own"), make(chan struct{})
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askSample+`,"b":`+askRoots+`}`, `"s"`))
		},
			client.OnSample(func(ctx context.Context, _ *client.SampleRequest) (*client.SampleAnswer, error) {
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			}),
			client.OnRoots(func(context.Context) ([]protocol.Root, error) { return nil, own }))
		if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, own) {
			t.Errorf("error %v", err)
		}
		<-ended
		wait()
	})
}

func TestRefusalsAreAnswers(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"decline", "cancel"} {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askForm+`}`, ""))
			m := f.expect(protocol.MethodCallTool)
			sameJSON(f.t, m.at("inputResponses"), `{"a":{"action":"`+action+`"}}`)
			f.result(m, complete)
		}, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: action, Content: map[string]any{"n": "not sent"}}, nil
		}))
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		wait()
	}
}

// A handler that does not listen holds up Close, but not the call.
func TestDeafHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askRoots+`}`, ""))
		}, client.OnRoots(func(context.Context) ([]protocol.Root, error) { <-release; return nil, nil }))
		if _, err := c.CallTool(ctx, "x", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		wait()
	})
}

// Handlers may use the client they answer for, even within a notification's handler.
func TestHandlerCallsTheClient(t *testing.T) {
	t.Parallel()
	var c *client.Client
	inside := make(chan error, 1)
	ready := make(chan struct{})
	c, wait := connect(t, func(f *fake) {
		f.modern()
		<-ready
		f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
		f.result(f.expect(protocol.MethodCallTool), required(`{"a":`+askRoots+`}`, ""))
		f.result(f.expect(protocol.MethodDiscover), discovery)
		f.result(f.expect(protocol.MethodCallTool), complete)
	},
		client.OnRoots(func(ctx context.Context) ([]protocol.Root, error) { return nil, c.Ping(ctx) }),
		client.OnNotification(func(ctx context.Context, _ protocol.Notification) {
			_, err := c.CallTool(ctx, "x", nil)
			inside <- err
		}))
	close(ready)
	if err := <-inside; err != nil {
		t.Error(err)
	}
	wait()
}
