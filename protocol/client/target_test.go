package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

func self(t testing.TB, mode string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	return cmd
}

func TestCommand(t *testing.T) {
	t.Parallel()
	cmd := self(t, "serve")
	c, err := client.Connect(t.Context(), client.Command(cmd))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "from a child" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if cmd.ProcessState == nil || !cmd.ProcessState.Success() {
		t.Errorf("the process ended as %v", cmd.ProcessState)
	}
}

func TestCommandThatIsStartedAgain(t *testing.T) {
	t.Parallel()
	cmd := self(t, "only-initialize")
	c, err := client.Connect(t.Context(), client.Command(cmd))
	if err != nil {
		t.Fatal(err)
	}
	if c.Revision() != "2025-06-18" {
		t.Errorf("revision %s", c.Revision())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !cmd.ProcessState.Success() {
		t.Errorf("the process ended as %v", cmd.ProcessState)
	}
	if _, err := client.Connect(t.Context(), client.Command(cmd)); err == nil {
		t.Error("a command was connected to twice")
	}
}

func TestCommandThatCrashes(t *testing.T) {
	t.Parallel()
	c, err := client.Connect(t.Context(), client.Command(self(t, "crash")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	if err := c.Close(); err == nil {
		t.Error("Close says nothing of the exit status")
	}
}

// rote is a host that answers each request with the same results.
type rote struct{ principal chan *transport.Principal }

func (r rote) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	return answering{r, frame}, nil
}

type answering struct {
	rote
	frame []byte
}

func (a answering) Serve(ctx context.Context, out transport.Outbound) error {
	var m message
	if err := json.Unmarshal(a.frame, &m); err != nil || m.ID == nil {
		return err
	}
	result := `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`
	if m.Method == protocol.MethodDiscover {
		result = discovery
		a.principal <- transport.PrincipalFrom(ctx)
	}
	return out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)})
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	host := rote{make(chan *transport.Principal, 1)}
	ctx := transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "ann"})
	c, err := client.Connect(ctx, client.InMemory(host))
	if err != nil {
		t.Fatal(err)
	}
	if p := <-host.principal; p == nil || p.Subject != "ann" {
		t.Errorf("principal %+v", p)
	}
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkCallTool(b *testing.B) {
	c, err := client.Connect(b.Context(), client.InMemory(rote{make(chan *transport.Principal, 1)}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	args := map[string]any{"a": 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(b.Context(), "x", args); err != nil {
			b.Fatal(err)
		}
	}
}
