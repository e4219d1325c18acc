package load

import (
	"fmt"
	"strings"
)

// Era writes messages of one revision.
type Era struct {
	Version string
	modern  bool // _meta and headers with each request, no session
}

// Handshake is the newest revision with sessions.
func Handshake() Era { return Era{Version: "2025-11-25"} }

// Stateless is the revision without.
func Stateless() Era { return Era{Version: "2026-07-28", modern: true} }

// Sessions reports whether a client opens a session before its first request.
func (e Era) Sessions() bool { return !e.modern }

// String is the version.
func (e Era) String() string { return e.Version }

const (
	firstID  = 1_000_000_000 // ids have ten digits, so that requests have one length
	idDigits = 10
	// idMark stands for the id until the place of its digits is known.
	idMark = "##########"
)

// Message is what a client says.
type Message struct {
	era          Era
	method, name string
	body         string // idMark where the id stands
}

// Open is what a client sends to open a session.
func (e Era) Open() (initialize, initialized Message) {
	initialize = e.bare("initialize", `"protocolVersion":"`+e.Version+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}`)
	return initialize, Message{era: e, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
}

// bare is a request without the _meta of the revision.
func (e Era) bare(method, params string) Message {
	return Message{era: e, method: method, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, idMark, method, params)}
}

// request adds _meta to the members of params. progress asks for reports under the
// request's id.
func (e Era) request(method, params string, progress bool) Message {
	var meta []string
	if e.modern {
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"`+e.Version+`","io.modelcontextprotocol/clientCapabilities":{}`)
	}
	if progress {
		meta = append(meta, `"progressToken":`+idMark)
	}
	if len(meta) > 0 {
		if params != "" {
			params += ","
		}
		params += `"_meta":{` + strings.Join(meta, ",") + `}`
	}
	return e.bare(method, params)
}

// Call is a tools/call; arguments are JSON.
func (e Era) Call(tool, arguments string) Message { return e.call(tool, arguments, false) }

// Reported returns a tools/call that requests progress.
func (e Era) Reported(tool, arguments string) Message { return e.call(tool, arguments, true) }

func (e Era) call(tool, arguments string, progress bool) Message {
	m := e.request("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments), progress)
	m.name = tool
	return m
}

// Read is a resources/read.
func (e Era) Read(uri string) Message {
	m := e.request("resources/read", fmt.Sprintf(`"uri":%q`, uri), false)
	m.name = uri
	return m
}

// List is a tools/list.
func (e Era) List() Message { return e.request("tools/list", "", false) }

// Listen is a subscriptions/listen for changes of the list of tools.
func (e Era) Listen() Message {
	return e.request("subscriptions/listen", `"notifications":{"toolsListChanged":true}`, false)
}

// Line is m as a line.
func (m Message) Line() *Request { return newRequest("", m.body+"\n") }

// Site is whom a request goes to over HTTP, and how the answer may look.
type Site struct {
	Addr, Session, Accept string
}

// What a client accepts: both, as the specification demands, or the one that a
// measurement wants.
const (
	AcceptBoth = "application/json, text/event-stream"
	AcceptSSE  = "text/event-stream"
)

// POST is m as a request over HTTP.
func (m Message) POST(to Site) *Request {
	var head strings.Builder
	fmt.Fprintf(&head, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n",
		to.Addr, to.Accept, len(m.body))
	m.fields(&head, to)
	return newRequest(head.String()+"\r\n", m.body)
}

// GET opens the stream of a session.
func (e Era) GET(to Site) *Request {
	var head strings.Builder
	fmt.Fprintf(&head, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n", to.Addr)
	Message{era: e}.fields(&head, to)
	return newRequest(head.String()+"\r\n", "")
}

func (m Message) fields(head *strings.Builder, to Site) {
	if m.method != "initialize" {
		fmt.Fprintf(head, "MCP-Protocol-Version: %s\r\n", m.era.Version)
	}
	if to.Session != "" {
		fmt.Fprintf(head, "Mcp-Session-Id: %s\r\n", to.Session)
	}
	if !m.era.modern || m.method == "" {
		return
	}
	fmt.Fprintf(head, "Mcp-Method: %s\r\n", m.method)
	if m.name != "" {
		fmt.Fprintf(head, "Mcp-Name: %s\r\n", m.name)
	}
}
