// Package page shows an MCP server in the browser. The page lists the server's components, and has
// a form for each tool. It shows the answers, the questions that the server asks during a call, and
// every frame on the wire.
//
//	p, err := page.New(page.Options{URL: "http://127.0.0.1:8080/mcp"})
//	if err != nil { ... }
//	err = p.Serve(ctx, "127.0.0.1:0", func(address string) { fmt.Fprintln(os.Stderr, address) })
//
// A server program has the page behind the flag --page of package serve, and "kagami page" shows
// any server. The page is an ordinary client: it uses package client, and the server sees no
// difference.
//
// # Security
//
// Serve listens on a loopback address only. The printed address contains a key that can be used
// once within ten minutes. In exchange for it, the browser gets a cookie and a second secret that
// scripts of other origins cannot read. Requests with another Host, another Origin, or from another
// site are refused.
//
// Texts of the server are shown as text, never as markup. Bearer tokens and header fields that
// contain credentials stay in this process. A call runs because a user pressed a button. No call is
// repeated automatically, and no question is answered automatically.
//
// # Bounds
//
// Memory is bounded: 10,000 frames or 32 MB, 200 calls, 64 MB of arguments and results, and 4,096
// events or 8 MB. The oldest are dropped first. Nothing is written to disk. If no browser is
// connected and no call runs for five minutes, the page closes its connection to the server.
package page
