package authserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Event is something that happened, without secrets.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Subject  string
	ClientID string
	Grant    string
	Resource string
	Scopes   []string
	Remote   string // address of the browser or client, as the handler sees it
	Reason   string // of a refusal: a word of RFC 6749, or one of ours
}

// EventKind names an Event.
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

// OnEvent has fn called before the answer is sent. It must not block.
func OnEvent(fn func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) { c.told = fn })
}

// Limit bounds requests per remote address and minute, for registration, login and token endpoint;
// zero: 10, 10 and 120. The pages are bounded as the token endpoint is; introspection is not. remote says who asks, for
// programs behind a proxy; nil: the address of the connection. Of IPv6 the first 64 bits count.
func Limit(register, login, token int, remote func(*http.Request) string) Option {
	return optionFunc(func(c *config) {
		c.limits = [...]int{atRegister: register, atLogin: login, atToken: token, atPages: token}
		c.remote = remote
	})
}

// emit tells of something that a request led to.
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

// place is one of the endpoints that are limited.
type place int

const (
	atRegister place = iota
	atLogin
	atToken
	atPages
	places
)

// maxCounted bounds the addresses that are counted in a minute. If there are more, all further ones
// share one count.
const maxCounted = 1 << 16

// counter counts requests per address within a minute.
type counter struct {
	mu     sync.Mutex // guards all below
	began  time.Time
	counts map[string]int
}

// over counts a request, and says for how long there may be no other; zero: it is within the limit.
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

// remoteAddress is the address of the connection.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil || a.Unmap().Is4() {
		return host
	}
	network, _ := a.WithZone("").Prefix(64) // 64 is within the range
	return network.String()
}
