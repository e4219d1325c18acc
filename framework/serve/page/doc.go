// Package page shows an MCP server in the browser: what it offers, a form for each tool, the
// answers, the questions that it asks during a call, and every frame on the wire.
//
//	p, err := page.New(page.Options{URL: "http://127.0.0.1:8080/mcp"})
//	if err != nil { ... }
//	err = p.Serve(ctx, "127.0.0.1:0", func(address string) { fmt.Fprintln(os.Stderr, address) })
//
// A server program has the page behind the flag --page of package serve, and "kagami page"
// shows any server. The page is a client like any other: it speaks package client's protocol,
// and the server sees no difference.
//
// Guarantees. Serve listens on a loopback address only. The printed address holds a key that is
// good for one use within ten minutes; the browser gets a cookie for it and a second secret that
// scripts of other origins cannot read. Requests with another Host, another Origin, or from
// another site are refused. Texts of the server are shown as text, never as markup. Bearer
// tokens and header fields that carry credentials stay in this process. A call runs because a
// user pressed a button; no call is repeated automatically, and no question is answered
// automatically.
//
// Memory is bounded: 10,000 frames or 32 MB, 200 calls, 64 MB of arguments and results, and 4,096 events or 8 MB. The
// oldest go first. Nothing is written to disk. Without a browser that looks, and without a running call, there is no
// connection to the server after five minutes.
package page
