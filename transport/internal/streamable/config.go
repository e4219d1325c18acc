package streamable

import (
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Config of an Endpoint. The zero value of each field is its default.
type Config struct {
	// AllowedOrigins may call from a browser, besides pages of loopback hosts and
	// of the server's own host: "https://app.example.com", in any case, with or without
	// its default port and a slash at the end. They get CORS headers.
	AllowedOrigins []string
	// AllowedHosts are names under which the server is reached, besides those of
	// loopback; without port any port is meant, and 80 and 443 may be left out by who
	// calls. "*" is any host: for servers behind a proxy that checks.
	AllowedHosts []string

	// AllowedHeaders may be sent by pages of AllowedOrigins besides the fields of the protocol.
	AllowedHeaders []string
	// LoopbackOrigins gives pages of loopback hosts the CORS headers that those of AllowedOrigins
	// get, whatever their port: for development.
	LoopbackOrigins bool

	// ClientKey says who a client without a principal is, for the limits of sessions and streams;
	// nil, or an empty key: its address, of IPv6 the /64.
	ClientKey func(remoteAddr string, fields transport.Fields) string
	// Proxies are trusted to say which address a client has.
	Proxies Proxies

	// Stateless keeps no sessions: each request of a handshake revision is served by
	// itself, and any process can serve it. What needs a client that is known or comes
	// back is not there: questions, the stream of GET, resumption.
	Stateless bool

	BodyLimit   int           // bytes of a POST; default 4 MiB
	Heartbeat   time.Duration // of streams on which nothing else is sent; default 15 s
	StreamDelay time.Duration // until an answer that is not there makes a stream; default 25 ms
	Retry       time.Duration // after which clients shall resume; default 500 ms
	SessionIdle time.Duration // until a session without requests and streams ends; default 30 min; one minute at most while only initialize has come
	MaxSessions int           // served here; default 65,536; a client may have a quarter of them
	MaxStreams  int           // open at once for one session, principal or else address; default 1,024
	MaxCalls    int           // in flight at once for one principal or else address, in all its sessions, whether it waits for them or not; default 4,096
}

// kept is how many finished streams of one session stay resumable.
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
	return c
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
