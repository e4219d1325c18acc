package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

const (
	uiExtension = "io.modelcontextprotocol/ui"
	uiType      = "text/html;profile=mcp-app"
	boardURI    = "ui://shop/board"
)

// boardHTML communicates with the host that shows it; see the documentation of MCP Apps.
const boardHTML = `<!DOCTYPE html><html><head><title>Orders</title></head><body><main id="orders"></main></body></html>`

// Board returns the page. The _meta of its content lists the hosts that the page may connect to.
func Board(context.Context) (framework.Contents, error) {
	return framework.Contents{Text: boardHTML, Meta: protocol.Meta{"ui": map[string]any{
		"csp":           map[string]any{"connectDomains": []string{"https://api.example.com"}},
		"prefersBorder": true,
	}}}, nil
}

// showsPages reports whether the client of this call shows pages.
func showsPages(ctx context.Context) bool {
	var settings struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	_ = json.Unmarshal(framework.Caller(ctx).Capabilities.Extensions[uiExtension], &settings) // if absent, the client shows no pages
	return slices.Contains(settings.MIMETypes, uiType)
}

// hidePageTools hides tools that only pages may call from clients that show no pages. Such clients
// would offer the tools to their models.
var hidePageTools = framework.OnList("page tools", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
	list, err := next(ctx, call)
	if err != nil || showsPages(ctx) {
		return list, err
	}
	return slices.DeleteFunc(list, func(c framework.ComponentInfo) bool {
		ui, _ := c.Meta["ui"].(map[string]any)
		visible, limited := ui["visibility"].([]string)
		return limited && !slices.Contains(visible, "model")
	}), nil
})

// NewBoard returns a server with a page.
func NewBoard() *framework.App {
	shop := &Shop{orders: map[string]Order{"a1": {ID: "a1", Cents: 1999, Status: "open"}}}
	return framework.New("board", "1.0.0", framework.WithExtension(uiExtension, nil)).Use(hidePageTools).Add(
		framework.Resource(boardURI, Board,
			framework.Describe("A page that shows the orders."), framework.MIME(uiType)),
		framework.Tool("show_orders", shop.Find,
			framework.Describe("Show the orders to the user."), framework.ReadOnly(),
			framework.Meta("ui", map[string]any{"resourceUri": boardURI})),
		framework.Tool("ship_order", shop.Ship,
			framework.Describe("Ship the order that the user has chosen."),
			framework.Meta("ui", map[string]any{"resourceUri": boardURI, "visibility": []string{"app"}})),
	)
}
