package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const form = `{"mode":"form","message":"name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}`

func TestQuestions(t *testing.T) {
	t.Parallel()
	answer := func(a *client.ElicitAnswer, err error) client.Option {
		return client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) { return a, err })
	}
	sample := client.OnSample(func(_ context.Context, r *client.SampleRequest) (*client.SampleAnswer, error) {
		text := fmt.Sprintf("%s/%d/%v", r.System, r.MaxTokens, r.Messages[0].Content.(protocol.Text).Text)
		return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: text}}, StopReason: "endTurn"}, nil
	})
	const messages = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"systemPrompt":"be","maxTokens":9}`
	url := `{"mode":"url","message":"go","url":"https://a.example/x","elicitationId":"1"}`
	accept := answer(&client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": "x"}}, nil)
	tests := map[string]struct {
		method, params string
		opt            client.Option
		code           int
		result         string // contained in the result
		hidden         string // not contained in the error
	}{
		"ping":              {method: "ping", params: `{}`, result: `{}`},
		"elicit accept":     {method: "elicitation/create", params: form, opt: accept, result: `"content":{"n":"x"}`},
		"elicit decline":    {method: "elicitation/create", params: form, opt: answer(&client.ElicitAnswer{Action: "decline"}, nil), result: `"decline"`},
		"elicit cancel":     {method: "elicitation/create", params: form, opt: answer(&client.ElicitAnswer{Action: "cancel"}, nil), result: `"cancel"`},
		"elicit no content": {method: "elicitation/create", params: form, opt: answer(&client.ElicitAnswer{Action: "accept"}, nil), result: `"content":{}`},
		"elicit url":        {method: "elicitation/create", params: url, opt: accept, result: `"accept"`},
		"elicit undeclared": {method: "elicitation/create", params: form, code: -32601},
		"elicit bad params": {method: "elicitation/create", params: `{"message":7}`, opt: accept, code: -32602},
		"elicit nil":        {method: "elicitation/create", params: form, opt: answer(nil, nil), code: -32603},
		"elicit odd action": {method: "elicitation/create", params: form, opt: answer(&client.ElicitAnswer{Action: "maybe"}, nil), code: -32603},
		"elicit error":      {method: "elicitation/create", params: form, opt: answer(nil, errors.New("secret")), code: -32603, hidden: "secret"},
		"elicit own error":  {method: "elicitation/create", params: form, opt: answer(nil, &protocol.Error{Code: -32001, Message: "own"}), code: -32001},
		"elicit rejected":   {method: "elicitation/create", params: form, opt: answer(nil, fmt.Errorf("%w: secret", client.ErrRejected)), code: -1, hidden: "secret"},
		"elicit ends its turn": {method: "elicitation/create", params: form, opt: client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			runtime.Goexit()
			return nil, nil
		}), code: -32603},
		"sample":            {method: "sampling/createMessage", params: messages, opt: sample, result: `be/9/hi`},
		"sample undeclared": {method: "sampling/createMessage", params: messages, code: -32601},
		"sample rejected": {method: "sampling/createMessage", params: messages, opt: client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
			return nil, client.ErrRejected
		}), code: -1},
		"roots": {method: "roots/list", params: `{}`, opt: client.OnRoots(func(context.Context) ([]protocol.Root, error) {
			return []protocol.Root{{URI: "file:///a", Name: "a"}}, nil
		}), result: `"uri":"file:///a"`},
		"roots undeclared": {method: "roots/list", params: `{}`, code: -32601},
		"unknown":          {method: "example.com/what", params: `{}`, code: -32601},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := []client.Option{client.Revisions(protocol.Rev20251125)}
			if tt.opt != nil {
				opts = append(opts, tt.opt)
			}
			_, wait := connect(t, func(f *fake) {
				f.initialized("2025-11-25")
				f.send(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, tt.method, tt.params)
				m := f.next()
				if string(m.ID) != `"q"` {
					f.t.Fatalf("answered with %s", m.text)
				}
				switch {
				case tt.code == 0 && (m.Error != nil || !strings.Contains(string(m.Result), tt.result)):
					f.t.Errorf("answered with %s", m.text)
				case tt.code != 0 && (m.Error == nil || m.Error.Code != tt.code):
					f.t.Errorf("answered with %s, want error %d", m.text, tt.code)
				case tt.hidden != "" && strings.Contains(m.text, tt.hidden):
					f.t.Errorf("answered with %s", m.text)
				}
			}, opts...)
			wait()
		})
	}
}

func TestUndeclaredElicitationMode(t *testing.T) {
	t.Parallel()
	_, wait := connect(t, func(f *fake) {
		m := f.initialized("2025-11-25")
		if m.at("capabilities", "elicitation", "url") != "" {
			f.t.Errorf("declared %s", m.text)
		}
		f.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"go","url":"https://a.example","elicitationId":"1"}}`)
		if m := f.next(); m.Error == nil || m.Error.Code != -32602 {
			f.t.Errorf("answered with %s", m.text)
		}
	}, client.Revisions(protocol.Rev20251125), client.FormOnly(),
		client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			t.Error("asked")
			return nil, nil
		}))
	wait()
}

func TestQuestionsAreForbiddenOnModernRevisions(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.result(f.expect(protocol.MethodDiscover), discovery) // the client is connected
		f.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		f.send(`{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
		f.result(f.expect(protocol.MethodDiscover), discovery) // and nothing before it
	})
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	wait()
}

func TestWithdrawnQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		withdrawn := make(chan struct{})
		_, wait := connect(t, func(f *fake) {
			f.initialized("2025-11-25")
			f.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, form)
			synctest.Wait()
			f.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // the id is in use
			if m := f.next(); m.Error == nil || m.Error.Code != -32600 {
				f.t.Errorf("answered with %s", m.text)
			}
			f.notify(protocol.NotificationCancelled, `{"requestId":9}`) // unknown: ignored
			f.notify(protocol.NotificationCancelled, `{"requestId":1}`)
			<-withdrawn
			synctest.Wait()
			f.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			if m := f.next(); string(m.ID) != "2" {
				f.t.Errorf("a withdrawn question was answered: %s", m.text)
			}
		}, client.Revisions(protocol.Rev20251125), client.OnElicit(
			func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
				<-ctx.Done()
				close(withdrawn)
				return &client.ElicitAnswer{Action: "decline"}, nil
			}))
		wait()
	})
}

func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, wait := connect(t, func(f *fake) {
			f.initialized("2025-11-25")
			for i := range 65 {
				f.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, i, form)
			}
			if m := f.next(); string(m.ID) != "64" || m.Error == nil {
				f.t.Errorf("answered with %s", m.text)
			}
		}, client.Revisions(protocol.Rev20251125), client.OnElicit(
			func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}))
		wait()
	})
}
