package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework"
)

// caller is by whom calls are counted. It is a map key without being one text, so that
// a call that is let through allocates nothing for it, and that no two callers can be
// spelled alike.
type caller struct {
	kind byte // 'p', 's', 'a' or 'b'; upper case: of completions
	a, b string
}

// callerOf is the principal, else the session, else the address.
func callerOf(b *framework.Brief) caller {
	switch p := b.Principal; {
	case p != nil:
		return caller{'p', p.Issuer, p.Subject}
	case b.Session != "":
		return caller{kind: 's', a: b.Session}
	}
	return caller{kind: 'a', a: network(b.RemoteAddr)}
}

// network is the address without the port, of which a client has many. Of IPv6 it is
// the first 64 bits: the rest is the client's to choose.
func network(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr // of no network, or a name
	}
	ip := at.Addr().Unmap()
	if ip.Is4() {
		return host(addr, ip)
	}
	prefix, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.String()
}

// host saves the allocation where the address is written as usual.
func host(addr string, ip netip.Addr) string {
	if colon := strings.LastIndexByte(addr, ':'); colon > 0 && addr[0] != '[' {
		return addr[:colon]
	}
	return ip.String()
}

// digest stands for what must not be written down, or may be of any length: a session's
// id lets in whoever knows it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// bounded cuts a text of a client's at most bytes.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// maxName bounds a URI that a client has chosen: the names of tools and prompts are
// those of the server.
const maxName = 256
