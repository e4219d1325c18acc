// Command proxy is code of docs/porting.md: a server in front of another server. The environment
// variable PROXY_OF has the URL of the other server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Proxy returns components for the tools and templates of another server. It lists only what the
// server's capabilities declare, because some servers answer other lists with an error.
func Proxy(ctx context.Context, c *client.Client) ([]framework.Component, error) {
	var all []framework.Component
	if c.Capabilities().Tools {
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return nil, fmt.Errorf("listing the tools of the other server: %w", err)
			}
			all = append(all, proxied(c, &tool))
		}
	}
	if c.Capabilities().Resources {
		for template, err := range c.Templates(ctx) {
			if err != nil {
				return nil, fmt.Errorf("listing the templates of the other server: %w", err)
			}
			all = append(all, readable(c, &template))
		}
	}
	return all, nil
}

// readable returns a template that reads resources from the other server. Fixed resources work in
// the same way.
func readable(c *client.Client, template *protocol.ResourceTemplate) framework.Component {
	read := func(ctx context.Context, _ map[string]string) ([]framework.Contents, error) {
		r, err := c.ReadResource(ctx, framework.Caller(ctx).URI)
		if err != nil {
			return nil, err
		}
		return r.Contents, nil
	}
	return framework.ResourceTemplate(template.URITemplate, read, framework.Name(template.Name),
		framework.Describe(template.Description), framework.MIME(template.MIME))
}

// proxied returns a tool that forwards calls, and returns their progress, results and failures.
func proxied(c *client.Client, tool *protocol.Tool) framework.Component {
	call := func(ctx context.Context, arguments json.RawMessage) (framework.Rich[json.RawMessage], error) {
		r, err := c.CallTool(ctx, tool.Name, arguments, client.OnProgress(func(p protocol.Progress) {
			framework.Progress(ctx, p.Done, p.Total, p.Message)
		}))
		if err != nil {
			return framework.Rich[json.RawMessage]{}, err
		}
		return framework.Rich[json.RawMessage]{Value: r.Structured, Content: r.Content, Meta: r.Meta, IsError: r.IsError}, nil
	}
	opts := []framework.Option{framework.Title(tool.Title), framework.Describe(tool.Description), framework.InputSchema(tool.InputSchema)}
	if tool.OutputSchema != nil {
		opts = append(opts, framework.OutputSchema(tool.OutputSchema))
	}
	if tool.Annotations.ReadOnly != nil && *tool.Annotations.ReadOnly {
		opts = append(opts, framework.ReadOnly()) // do the same for the other hints
	}
	return framework.Tool(tool.Name, call, opts...)
}

// askOn asks the user of the call a question of the other server: client.OnElicit(askOn).
func askOn(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
	said, err := framework.ElicitAnswer[json.RawMessage](ctx, q.Message, framework.Form(q.Schema))
	if err != nil {
		return nil, err
	}
	answer := &client.ElicitAnswer{Action: said.Action}
	if said.Action == "accept" {
		err = json.Unmarshal(said.Value, &answer.Content)
	}
	return answer, err
}

// NewApp returns a server with the components of the other server.
func NewApp(ctx context.Context, other client.Target) (*framework.App, error) {
	c, err := client.Connect(ctx, other, client.OnElicit(askOn), client.FormOnly())
	if err != nil {
		return nil, fmt.Errorf("connecting to the other server: %w", err)
	}
	app := framework.New("proxy", "1.0.0").OnStop(func(context.Context, *framework.Server) error { return c.Close() })
	all, err := Proxy(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return app.Add(framework.Group("other", all...)), nil
}

func main() {
	app, err := NewApp(context.Background(), client.HTTP(os.Getenv("PROXY_OF")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	serve.Main(app)
}
