// Command client is the code of docs/client.md: what a model needs to use the tools of a server. It
// lists the tools of the server at the URL in its argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Agent works with one server. It is not safe for concurrent use.
type Agent struct {
	client *client.Client
	tools  []protocol.Tool
	stale  chan struct{} // receives a value when the server's tools have changed
}

// Person asks the user a question, for example in a window or a terminal.
type Person func(ctx context.Context, question string, form *client.Form) (map[string]any, error)

var errNo = errors.New("the user does not want to say")

// Connect returns an agent whose client can answer questions of the server.
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
				default: // the last change has not been handled yet
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
		_, err := a.client.Listen(context.WithoutCancel(ctx), protocol.SubscriptionFilter{Tools: true}) // lasts until Close
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

// Tools returns the tools for the model, each with its name, description and input schema.
func (a *Agent) Tools(ctx context.Context) ([]protocol.Tool, error) {
	select {
	case <-a.stale:
		if err := a.list(ctx); err != nil {
			select {
			case a.stale <- struct{}{}: // the next call tries again
			default:
			}
			return nil, err
		}
	default:
	}
	return a.tools, nil
}

// Use runs a tool call of the model. If the model can correct the failure, Use returns a result
// with IsError. It returns an error if the connection is lost or ctx has ended.
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

// refused reports whether the server has answered with an error. It does so if the tool does not
// exist. Before 2025-11-25 it also does so if the arguments are wrong.
func refused(err error) bool {
	_, known := errors.AsType[*protocol.Fault](err)
	_, other := errors.AsType[*protocol.Error](err)
	return known || other
}

// Forecast is the result of the tool forecast, which the program knows.
type Forecast struct {
	Days []string `json:"days"`
}

// Days calls the tool forecast.
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
