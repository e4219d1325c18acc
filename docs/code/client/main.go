// Command client is the code of docs/client.md: what a model needs to work with the tools
// of a server. With a URL as its argument it lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Agent works with one server. Not safe for concurrent use.
type Agent struct {
	client *client.Client
	tools  []protocol.Tool
	stale  chan struct{} // has a token when the server's tools have changed
}

// Person is who is asked: by a window, in a terminal.
type Person func(ctx context.Context, question string, form *client.Form) (map[string]any, error)

var errNo = errors.New("the user does not want to say")

// Connect is a client that can be asked.
func Connect(ctx context.Context, to client.Target, person Person) (*Agent, error) {
	a := &Agent{stale: make(chan struct{}, 1)}
	c, err := client.Connect(ctx, to, client.Name("agent", "1.0.0"), client.FormOnly(),
		client.OnElicit(func(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
			form, err := client.ParseForm(q.Schema)
			if err != nil {
				return nil, err
			}
			said, err := person(ctx, q.Message, form)
			if errors.Is(err, errNo) {
				return &client.ElicitAnswer{Action: "decline"}, nil
			}
			return &client.ElicitAnswer{Action: "accept", Content: said}, err
		}),
		client.OnNotification(func(_ context.Context, n protocol.Notification) {
			if n.Method == protocol.NotificationToolsChanged {
				select {
				case a.stale <- struct{}{}:
				default: // it has not been looked at yet
				}
			}
		}))
	if err != nil {
		return nil, err
	}
	a.client = c
	if err := a.begin(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return a, nil
}

func (a *Agent) begin(ctx context.Context) error {
	if a.client.Capabilities().ToolsListChanged {
		_, err := a.client.Listen(context.WithoutCancel(ctx), protocol.SubscriptionFilter{Tools: true}) // until Close
		if err != nil {
			return err
		}
	}
	return a.list(ctx)
}

func (a *Agent) list(ctx context.Context) error {
	var tools []protocol.Tool
	for tool, err := range a.client.Tools(ctx) {
		if err != nil {
			return err
		}
		tools = append(tools, tool)
	}
	a.tools = tools
	return nil
}

// Tools are for the model: name, description and input schema of each.
func (a *Agent) Tools(ctx context.Context) ([]protocol.Tool, error) {
	select {
	case <-a.stale:
		if err := a.list(ctx); err != nil {
			return nil, err
		}
	default:
	}
	return a.tools, nil
}

// Use does what the model wants. A failure that a model can learn from is a result with
// IsError; the error is for the program: the connection is lost, or ctx has ended.
func (a *Agent) Use(ctx context.Context, use protocol.ToolUse) (protocol.ToolResult, error) {
	r, err := a.client.CallTool(ctx, use.Name, use.Input)
	switch {
	case refused(err):
		said := []protocol.Block{protocol.Text{Text: err.Error()}}
		return protocol.ToolResult{ToolUseID: use.ID, Content: said, IsError: true}, nil
	case err != nil:
		return protocol.ToolResult{}, err
	}
	return protocol.ToolResult{ToolUseID: use.ID, Content: r.Content, Structured: r.Structured, IsError: r.IsError}, nil
}

// refused says that the server has answered with an error: there is no such tool, or, before
// 2025-11-25, the arguments are wrong.
func refused(err error) bool {
	_, known := errors.AsType[*protocol.Fault](err)
	_, other := errors.AsType[*protocol.Error](err)
	return known || other
}

// Forecast is what a program wants of a tool that it knows.
type Forecast struct {
	Days []string `json:"days"`
}

// Days calls that tool.
func (a *Agent) Days(ctx context.Context, city string) ([]string, error) {
	f, err := client.Call[Forecast](ctx, a.client, "forecast", map[string]any{"city": city})
	if failed, ok := errors.AsType[*client.ToolError](err); ok {
		return nil, fmt.Errorf("no forecast: %w", failed)
	}
	return f.Days, err
}

// Close ends the session, and the process of a server on stdio.
func (a *Agent) Close() error { return a.client.Close() }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	a, err := Connect(context.Background(), client.HTTP(os.Args[1]), func(context.Context, string, *client.Form) (map[string]any, error) { return nil, errNo })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, tool := range a.tools {
		_, _ = fmt.Fprintln(os.Stdout, tool.Name, tool.Description)
	}
	_ = a.Close()
}
