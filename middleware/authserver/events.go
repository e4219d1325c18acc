package authserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Event reports a change or refusal, without secrets.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Subject  string
	ClientID string
	Grant    string
	Resource string
	Scopes   []string
	Remote   string // address of the browser or client, as [Limit] counts it: for IPv6 the first 64 bits
	Reason   string // for a refusal: an error code of RFC 6749, or a text of this package; a panic has its stack
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds.
const (
	ClientRegistered EventKind = "client registered"
	ClientRefused    EventKind = "client refused"
	DocumentFetched  EventKind = "client document fetched"
	VisitBegun       EventKind = "visit begun"
	LoggedIn         EventKind = "logged in"
	LoginFailed      EventKind = "login failed"
	Consented        EventKind = "consented"
	Denied           EventKind = "denied"
	VisitRefused     EventKind = "visit refused" // CSRF, another browser, expired
	CodeIssued       EventKind = "code issued"
	CodeReplayed     EventKind = "code replayed"
	TokenIssued      EventKind = "token issued"
	TokenRefused     EventKind = "token refused"
	Refreshed        EventKind = "refreshed"
	RefreshReplayed  EventKind = "refresh token replayed"
	Revoked          EventKind = "revoked"
	UpstreamRenewed  EventKind = "provider session renewed"
	UpstreamEnded    EventKind = "provider session ended"
	KeyRotated       EventKind = "key rotated"
)

// OnEvent calls fn for each event, before the answer is sent. fn must not block.
func OnEvent(fn func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) { c.told = fn })
}

// Limit limits requests per remote address and minute, for registration, login and the token
// endpoint. 0 means the default: 10, 10 and 120. Pages have the same limit as the token endpoint;
// introspection has none.
//
// remote returns the client's address without a port, for programs behind a proxy. If it is nil, the
// address of the connection is used. For IPv6, only the first 64 bits count.
func Limit(register, login, token int, remote func(*http.Request) string) Option {
	return optionFunc(func(c *config) {
		c.limits = [...]int{atRegister: register, atLogin: login, atToken: token, atPages: token}
		c.remote = remote
	})
}

// emit reports an event of a request, with its remote address.
func (s *Server) emit(r *http.Request, e Event) {
	if s.told != nil {
		e.Remote = s.remote(r)
		s.tell(r.Context(), e)
	}
}

func (s *Server) tell(ctx context.Context, e Event) {
	if s.told != nil {
		e.Time = time.Now()
		s.told(ctx, e)
	}
}

// place is a limited endpoint.
type place int

const (
	atRegister place = iota
	atLogin
	atToken
	atPages
	places
)

// maxCounted is the maximum number of addresses that are counted in a minute. All further addresses
// share one count.
const maxCounted = 1 << 16

// counter counts requests per address within a minute. over changes the counts; mu guards them.
type counter struct {
	mu     sync.Mutex // guards all below
	began  time.Time
	counts map[string]int
}

// over counts a request. If the limit is exceeded, it returns how long the address must wait;
// otherwise it returns 0.
func (c *counter) over(who string, limit int, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || now.Sub(c.began) >= time.Minute {
		c.began, c.counts = now, map[string]int{}
	}
	if _, known := c.counts[who]; !known && len(c.counts) >= maxCounted {
		who = ""
	}
	c.counts[who]++
	if c.counts[who] <= limit {
		return 0
	}
	return c.began.Add(time.Minute).Sub(now)
}

// limited counts a request at a place.
func (s *Server) limited(at place, r *http.Request) time.Duration {
	return s.counters[at].over(s.remote(r), s.limits[at], time.Now())
}

// remoteAddress returns the address of the connection.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return host
}

// network returns an address, or for IPv6 its network of 64 bits. It returns other texts unchanged.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	network, _ := a.WithZone("").Prefix(64) // 64 is within the range
	return network.String()
}
