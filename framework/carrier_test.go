package framework_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// door is an authenticator that refuses every caller.
type door struct{}

func (door) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, errors.New("closed")
}

// with puts a request into the context of all frames from now on.
func (p *peer) with(r *transport.Request) { p.ctx = transport.WithRequest(p.ctx, r) }

// What carriers over HTTP ask a server for.
func TestServerOfCarriers(t *testing.T) {
	t.Parallel()
	s := build(t, quiet())
	if s.Services().Authenticator != nil {
		t.Error("it demands a principal unasked")
	}
	if got := build(t, quiet(framework.WithAuth(door{}))).Services().Authenticator; got != (door{}) {
		t.Errorf("the authenticator is %v", got)
	}
	if seq, err := s.Services().Events.Append(t.Context(), "s", []byte("x")); seq != 1 || err != nil {
		t.Errorf("Append = %d, %v", seq, err)
	}
	if events, err := s.Services().Events.After(t.Context(), "s", 0); len(events) != 1 || err != nil {
		t.Errorf("After = %v, %v: each call of Events has a store of its own", events, err)
	}
	if _, err := build(t, quiet()).Services().Events.After(t.Context(), "s", 0); err == nil {
		t.Error("two servers share their events")
	}
	select {
	case <-s.Services().Closing:
		t.Error("it is closing before Shutdown")
	default:
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Services().Closing:
	default:
		t.Error("it is not closing after Shutdown")
	}
	select {
	case <-s.Services().Abandoned:
		t.Error("it gave up calls, and there were none")
	default:
	}
}

// counter counts how often it was released.
type counter int

// Release implements the Stream of transport.Request.
func (c *counter) Release() { *c++ }

func TestReleaseStream(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		framework.ReleaseStream(ctx)
		return nil
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		p.tool("t", `{}`).mentions("done") // not over HTTP
		p.with(&transport.Request{})
		p.tool("t", `{}`).mentions("done") // over HTTP, but it cannot be released
		released := new(counter)
		p.with(&transport.Request{Stream: released})
		p.tool("t", `{}`).mentions("done")
		if *released != 1 {
			t.Errorf("released %d times", *released)
		}
	})
	framework.ReleaseStream(t.Context()) // outside of a handler
}

// Each request of one connection has a header and an address of its own.
func TestCallerOverHTTP(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		var info *framework.CallInfo
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			info = framework.Caller(ctx)
			return nil
		})))
		p := dial(t, s, rev)
		for _, addr := range []string{"192.0.2.1:1000", "192.0.2.2:2000"} {
			p.with(&transport.Request{Fields: transport.HeaderFields{"X-From": {addr}}, RemoteAddr: addr})
			p.tool("t", `{}`).ok()
			if info.RemoteAddr != addr || info.Header.Get("X-From") != addr {
				t.Errorf("from %s: address %q, header %v", addr, info.RemoteAddr, info.Header)
			}
		}
	})
}

// stateless has no handshake sessions.
type stateless struct{}

func (stateless) Find() (*transport.Connection, error) { return nil, nil } //nolint:nilnil // the request names none
func (stateless) Open() (*transport.Connection, error) { return nil, transport.ErrNoSession }

// TestMirroredArguments checks that arguments with a header tag are compared with the headers of
// the request, also for tools that are added at run time (2026-07-28
// basic/transports/streamable-http "Custom Headers from Tool Parameters").
func TestMirroredArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		At struct {
			Region string `json:"region,omitempty" header:"Region"`
		} `json:"at"`
		Replicas int `json:"replicas,omitempty" header:"Replicas"`
	}
	run := func(context.Context, in) (string, error) { return "ran", nil }
	s := build(t, quiet().Add(framework.Group("g", framework.Tool("t", run))))
	if err := s.Add(framework.Tool("late", none, framework.InputSchema(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`))); err != nil {
		t.Fatal(err)
	}
	const mismatch = -32020
	for name, tt := range map[string]struct {
		tool, arguments string
		headers         map[string]string
		code            int // 0: it runs
	}{
		"equal":         {"g_t", `{"at":{"region":"eu"},"replicas":2}`, map[string]string{"Mcp-Param-Region": "eu", "Mcp-Param-Replicas": "2"}, 0},
		"another value": {"g_t", `{"at":{"region":"eu"}}`, map[string]string{"Mcp-Param-Region": "us"}, mismatch},
		"missing":       {"g_t", `{"at":{},"replicas":2}`, nil, mismatch},
		"in a text":     {"g_t", `{"at":"{\"region\":\"eu\"}"}`, nil, mismatch},
		"late, equal":   {"late", `{"region":"eu"}`, map[string]string{"Mcp-Param-Region": "eu"}, 0},
		"late, missing": {"late", `{"region":"eu"}`, nil, mismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			header.Set("MCP-Protocol-Version", protocol.Rev20260728.String())
			header.Set("Mcp-Method", "tools/call")
			header.Set("Mcp-Name", tt.tool)
			for k, v := range tt.headers {
				header.Set(k, v)
			}
			p := dial(t, s, protocol.Rev20260728)
			p.with(&transport.Request{Fields: transport.HeaderFields(header), Sessions: stateless{}})
			answer := p.tool(tt.tool, tt.arguments)
			if tt.code != 0 {
				answer.code(tt.code)
				return
			}
			answer.ok()
		})
	}
}
