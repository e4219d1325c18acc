package interop_test

import (
	"os/exec"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// carrier is a way to reach the everything server.
type carrier struct {
	name    string
	program *string // that serves it
	path    string  // of its endpoint; stdio has none
}

var carriers = []carrier{
	{name: "stdio", program: &everything},
	{name: "http", program: &everything, path: "/mcp"},
	{name: "net-http", program: &everythingNet, path: "/mcp"},
	{name: "sse", program: &everything, path: "/sse"},
}

// carries says whether the carrier has the revision. HTTP+SSE is a session, and
// 2026-07-28 has none.
func (c carrier) carries(version string) bool { return c.name != "sse" || version != modern }

const modern = "2026-07-28"

var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern}

// everywhere runs a story on each carrier at each revision, with a server of its own.
func everywhere(t *testing.T, story func(*testing.T, *site, string)) {
	t.Helper()
	for _, c := range carriers {
		for _, version := range versions {
			if !c.carries(version) {
				continue
			}
			t.Run(c.name+"/"+version, func(t *testing.T) {
				t.Parallel()
				story(t, c.start(t), version)
			})
		}
	}
}

// site is an everything server on a carrier.
type site struct {
	carrier
	addr string
	*process
	web *web // what clients of Go use for HTTP
}

// start starts the server; for stdio, that is for the client to do.
func (c carrier) start(t *testing.T) *site {
	t.Helper()
	s := &site{carrier: c}
	if c.path != "" {
		s.addr = freeAddr(t)
		s.launch(t)
	}
	// After the server, for connections that clients keep unused hold net/http up.
	s.web = newWeb(t)
	return s
}

func (s *site) launch(t *testing.T) {
	t.Helper()
	p := spawn(t, s.addr, exec.Command(*s.program, "--http", s.addr))
	t.Cleanup(func() { p.end(t) })
	s.process = p
}

// crash ends the server as a crash does, and starts it again on the same port.
func (s *site) crash(t *testing.T) {
	t.Helper()
	s.kill()
	s.launch(t)
}

func (s *site) url() string { return "http://" + s.addr + s.path }

// streamable says whether it is the HTTP of 2025-03-26 and later.
func (s *site) streamable() bool { return s.path == "/mcp" }

// node are the arguments for a script of node/.
func (s *site) node() []string {
	switch {
	case s.path == "":
		return []string{"stdio", *s.program}
	case s.streamable():
		return []string{"http", s.url()}
	}
	return []string{"sse", s.url()}
}

func (s *site) goSDK() mcp.Transport {
	switch {
	case s.path == "":
		return &mcp.CommandTransport{Command: exec.Command(*s.program)}
	case s.streamable():
		return &mcp.StreamableClientTransport{Endpoint: s.url(), HTTPClient: s.web.client()}
	}
	return &mcp.SSEClientTransport{Endpoint: s.url(), HTTPClient: s.web.client()}
}

func (s *site) mcpGo(version string) (transport.Interface, error) {
	switch {
	case s.path == "":
		return transport.NewStdio(*s.program, nil), nil
	case s.streamable() && version == modern: // to which it never gets while it listens
		return transport.NewStreamableHTTP(s.url(), transport.WithHTTPBasicClient(s.web.client()))
	case s.streamable():
		return transport.NewStreamableHTTP(s.url(), transport.WithContinuousListening(), transport.WithHTTPBasicClient(s.web.client()))
	}
	return transport.NewSSE(s.url(), transport.WithHTTPClient(s.web.client()))
}
