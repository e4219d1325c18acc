package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// tasked is a catalog whose every tool runs as a task if the client wants it.
type tasked struct{ catalog }

func (k tasked) Snapshot() engine.Snapshot { return k }

func (k tasked) Find(ctx context.Context, c *engine.Call, p protocol.Params) (engine.Handler, error) {
	h, err := k.catalog.Find(ctx, c, p)
	if err != nil {
		return nil, err
	}
	return patient{h}, nil
}

func (k tasked) Capabilities() protocol.ServerCapabilities {
	all := k.catalog.Capabilities()
	all.Tasks = true
	return all
}

type patient struct{ engine.Handler }

func (patient) TaskPolicy() *engine.TaskPolicy { return &engine.TaskPolicy{} }

// TestTaskOwner: only its owner can see a task. For every other client it does not exist: another
// subject, the same subject of another issuer, a client without a principal, another session.
func TestTaskOwner(t *testing.T) {
	t.Parallel()
	ann := &transport.Principal{Issuer: "https://one.example", Subject: "ann"}
	reader := &transport.Principal{Issuer: "keys", Scopes: []string{"read"}}
	for name, tt := range map[string]struct{ owner, other *transport.Principal }{
		"another subject":       {ann, &transport.Principal{Issuer: ann.Issuer, Subject: "bob"}},
		"another issuer":        {ann, &transport.Principal{Issuer: "https://two.example", Subject: "ann"}},
		"the same text":         {ann, &transport.Principal{Issuer: "https", Subject: "//one.example:ann"}},
		"nobody":                {ann, nil},
		"somebody for nobody's": {nil, ann},
		"another session":       {nil, nil},
		"without a subject":     {reader, reader},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine.New(engine.Config{
				Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: memory.New().Tasks(),
				Catalog: tasked{catalog{"film": func(ctx context.Context, _ *engine.Call) (protocol.Result, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}}},
			})
			as := func(who *transport.Principal) *peer {
				p := connect(t, e)
				if who != nil {
					p.ctx = transport.WithPrincipal(p.ctx, who)
				}
				p.initialize("2025-11-25", `{}`)
				return p
			}
			owner, other := as(tt.owner), as(tt.other)
			created := owner.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`)
			var answer struct {
				Result struct {
					Task struct {
						TaskID string `json:"taskId"`
					} `json:"task"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(created), &answer); err != nil || answer.Result.Task.TaskID == "" {
				t.Fatalf("no task: %s", created)
			}
			id := answer.Result.Task.TaskID
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
				got := other.ask(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{"taskId":"` + id + `"}}`)
				if want := `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such task"}}`; got != want {
					t.Fatalf("%s of somebody else's task: %s", method, got)
				}
			}
			list := other.ask(`{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`)
			if want := `{"jsonrpc":"2.0","id":3,"result":{"tasks":[]}}`; list != want {
				t.Errorf("the list of somebody else: %s", list)
			}
			shows(t, owner.ask(`{"jsonrpc":"2.0","id":4,"method":"tasks/list"}`), id, `"working"`)
			shows(t, owner.ask(`{"jsonrpc":"2.0","id":5,"method":"tasks/cancel","params":{"taskId":"`+id+`"}}`), `"cancelled"`)
		})
	}
}

// TestTasksWithoutOwner: without a principal and without a session, only the id of a task gives
// access to it. Such tasks are not listed, and the capability does not name the list.
func TestTasksWithoutOwner(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: memory.New().Tasks(),
		Catalog: tasked{catalog{"echo": echo}},
	})
	defer func() { _ = e.Shutdown(context.WithoutCancel(t.Context())) }()
	out := transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })
	post := func(frame string) string {
		link := transport.ConnectionFrom(transport.Connect(t.Context(), transport.Peer{Out: out, OneRequest: true}))
		s := &site{t: t, e: e, session: link, names: "live"}
		return strings.Join(s.post(frame, v25).frames, "")
	}
	shows(t, post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"task":{}}}`), `"taskId"`)
	shows(t, post(`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`), "-32601")
	opened := post(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	shows(t, opened, `"tasks":{`, `"cancel":{}`)
	if strings.Contains(opened, `"list":{}`) || strings.Contains(opened, `"logging"`) {
		t.Errorf("capabilities without a session: %s", opened)
	}
}

// TestTaskWaitsForTheClientThatCanReadItsQuestion: a page to visit has no id on 2026-07-28, and
// cannot be asked on 2025-11-25. tasks/result on 2025-11-25 waits until the other client has answered.
func TestTaskWaitsForTheClientThatCanReadItsQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		page := engine.Question{Key: "page", Params: &protocol.ElicitParams{Message: "Visit", URL: "https://page.example"}}
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: memory.New().Tasks(),
			Catalog: tasked{catalog{"film": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
				if r := c.Questions(ctx, page)[0]; r.Err != nil {
					return nil, r.Err
				}
				return text("visited"), nil
			}}},
		})
		defer func() { _ = e.Shutdown(t.Context()) }()
		as := func() *peer {
			p := connect(t, e)
			p.ctx = transport.WithPrincipal(p.ctx, &transport.Principal{Subject: "ann"})
			return p
		}
		modern, older := as(), as()
		defer modern.close()
		defer older.close()
		older.initialize("2025-11-25", `{"elicitation":{"form":{},"url":{}}}`)
		meta := strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
		created := modern.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film",` + meta + `}}`)
		var answer struct{ Result struct{ TaskID string } }
		if err := json.Unmarshal([]byte(created), &answer); err != nil || answer.Result.TaskID == "" {
			t.Fatalf("no task: %s", created)
		}
		id := `"taskId":"` + answer.Result.TaskID + `"`
		synctest.Wait()
		older.send(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{` + id + `}}`)
		synctest.Wait()
		if len(older.frames) != 0 {
			t.Fatalf("sent before the end of the task: %s", <-older.frames)
		}
		modern.ask(`{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{` + id + `,"inputResponses":{"page":{"action":"accept"}},` + meta + `}}`)
		shows(t, older.next(), `"id":1,"result"`, `visited`)
	})
}
