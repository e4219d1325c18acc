package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// keyLife is how long a key can be used.
const keyLife = 10 * time.Minute

// maxKeys is the maximum number of unused keys.
const maxKeys = 16

// secretHeader is the header with the second secret. A link, form or frame cannot send it.
const secretHeader = "Kagami-Page"

// guard decides which requests are allowed. A key is used once, in exchange for both secrets. The
// secrets do not change.
type guard struct {
	cookie string // secret in the browser's cookie
	secret string // secret in the script

	mu   sync.Mutex           // guards keys
	keys map[string]time.Time // end of each key's life
}

func newGuard() *guard {
	return &guard{cookie: rand.Text(), secret: rand.Text(), keys: map[string]time.Time{}}
}

// key returns a new key for one use.
func (g *guard) key() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	oldest := ""
	for key, until := range g.keys {
		if now.After(until) {
			delete(g.keys, key)
		} else if oldest == "" || until.Before(g.keys[oldest]) {
			oldest = key
		}
	}
	if len(g.keys) >= maxKeys {
		delete(g.keys, oldest)
	}
	key := rand.Text()
	g.keys[key] = now.Add(keyLife)
	return key
}

// use reports whether the key is valid, and removes it. All keys are compared, each in constant
// time.
func (g *guard) use(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := ""
	for known, until := range g.keys {
		if same(known, key) && time.Now().Before(until) {
			found = known
		}
	}
	delete(g.keys, found)
	return found != ""
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// policy holds the header fields of every response.
var policy = map[string]string{
	"Content-Security-Policy": "default-src 'self'; img-src 'self' blob:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// outside checks the origin of a request, before any secret. It returns 0 if the request is
// allowed, and an HTTP status otherwise.
//
// Host must be a name of this machine. Therefore a page that rebinds its DNS name gets nothing. If
// the page is behind the program's own login, the program checks the host.
func outside(r *http.Request, own bool) int {
	if own && !loopbackHost(r.Host) {
		return http.StatusMisdirectedRequest
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
		return http.StatusForbidden
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return 0
	case "none": // the user typed the address
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
			return 0
		}
	default: // a link in another page, such as a terminal in the browser, may lead to the page itself
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.URL.Path == "/" {
			return 0
		}
	}
	return http.StatusForbidden
}

// loopbackHost reports whether a Host field has a port and names this machine.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}

// sameOrigin reports whether a page of origin was loaded from this host.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == host && (u.Scheme == "http" || u.Scheme == "https")
}

// cookieName returns the name of the cookie. The name contains the port, because browsers share
// cookies between ports.
func cookieName(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(addr.String()); err == nil {
			return "kagami_page_" + port
		}
	}
	return "kagami_page"
}

// knows reports whether the request has both secrets.
func (g *guard) knows(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName(r))
	return err == nil && same(cookie.Value, g.cookie) && same(r.Header.Get(secretHeader), g.secret)
}
