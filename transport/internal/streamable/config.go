package streamable

import (
	"math"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Config configures an Endpoint. In each field the zero value selects the default.
type Config struct {
	// AllowedOrigins are origins whose pages may call, besides pages of loopback hosts and of the
	// server's own host: "https://app.example.com". Case, the default port and a trailing slash do
	// not matter. These pages get CORS header fields.
	AllowedOrigins []string
	// AllowedHosts are the host names under which clients reach the server, besides loopback names.
	// A name without a port matches any port. Clients may leave out the ports 80 and 443. "*"
	// matches any host, for servers behind a proxy that checks the name.
	AllowedHosts []string

	// AllowedHeaders are header fields that pages of AllowedOrigins may send in addition to the
	// fields of the protocol.
	AllowedHeaders []string
	// LoopbackOrigins gives pages of loopback hosts, on any port, the same CORS header fields as
	// pages of AllowedOrigins. It is for development.
	LoopbackOrigins bool

	// ClientKey returns the key of a client without a principal, for the limits of sessions and
	// streams. If it is nil, or returns an empty key, the address counts; for IPv6 its /64.
	ClientKey func(remoteAddr string, fields transport.Fields) string
	// Proxies are trusted to report the address of a client.
	Proxies Proxies

	// Stateless serves each request of a handshake revision without a session, so that any process
	// can serve it. Questions to the client, the stream of GET and resumption do not work then.
	Stateless bool

	BodyLimit   int           // largest body of a POST in bytes; default 4 MiB
	Heartbeat   time.Duration // interval for streams without other frames; default 15 s
	StreamDelay time.Duration // time after which a response without an answer becomes a stream; default 25 ms
	Retry       time.Duration // time after which clients should resume; default 500 ms
	SessionIdle time.Duration // time until a session without requests and streams ends; default 30 min; at most one minute until a request after initialize has come
	MaxSessions int           // sessions on this node; default 65,536; one client may have a quarter of them; one with a large initialize counts as several
	MaxStreams  int           // open at the same time for one session, principal or else address; default 1,024
	MaxCalls    int           // running at the same time for one principal or else address, in all its sessions, even if the client does not wait for them; default 4,096
}

// kept is the number of finished streams of one session that stay resumable.
const kept = 64

func (c Config) withDefaults() Config {
	orDefault(&c.BodyLimit, 4<<20)
	orDefault(&c.Heartbeat, 15*time.Second)
	orDefault(&c.StreamDelay, 25*time.Millisecond)
	orDefault(&c.Retry, 500*time.Millisecond)
	orDefault(&c.SessionIdle, 30*time.Minute)
	orDefault(&c.MaxSessions, 65_536)
	orDefault(&c.MaxStreams, 1024)
	orDefault(&c.MaxCalls, 4096)
	c.BodyLimit = min(c.BodyLimit, math.MaxInt32-1) // carriers read one byte more
	c.SessionIdle = min(c.SessionIdle, longestIdle)
	return c
}

// longestIdle is the longest SessionIdle. Sums of it and a time do not overflow.
const longestIdle = 100 * 365 * 24 * time.Hour

func orDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
