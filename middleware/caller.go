package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework"
)

// caller is the one whose calls are counted together. It is a map key of several fields and not
// one string, so that a call that is let through allocates nothing for it, and no two callers
// can be the same text.
type caller struct {
	kind byte // 'p' principal, 's' session, 'a' address, 'b' Rate.By; in upper case: of completions
	a, b string
}

// callerOf is the principal, else the session, else the address.
func callerOf(b *framework.CallInfoLite) caller {
	switch p := b.Principal; {
	case p != nil:
		return caller{'p', p.Issuer, p.Subject}
	case b.Session != "":
		return caller{kind: 's', a: b.Session}
	}
	return caller{kind: 'a', a: network(b.RemoteAddr)}
}

// network is the address without the port, since a client has many ports. Of an IPv6 address it
// is the first 64 bits: the client chooses the rest.
func network(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr // it is not an IP address with a port
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

// host is addr's host without an allocation if the address is in canonical form.
func host(addr string, ip netip.Addr) string {
	if colon := strings.LastIndexByte(addr, ':'); colon > 0 && addr[0] != '[' {
		return addr[:colon]
	}
	return ip.String()
}

// digest stands for a text that must not be written down, or that may have any length. The id
// of a session must not be written: whoever knows it can use the session.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// bounded cuts a text that a client sent to about most bytes, at the end of a character.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// maxName bounds a URI, which a client has chosen. The names of tools and prompts are the
// server's.
const maxName = 256
