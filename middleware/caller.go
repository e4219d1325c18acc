package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
)

// caller identifies the party whose calls are counted together. It is a map key of several fields
// instead of one string, so that an accepted call does not allocate. Different callers also cannot
// have the same text.
type caller struct {
	kind byte // 'p' principal, 's' session, 'a' address, 'b' Rate.By; upper case for completions
	a, b string
}

// callerOf returns the principal. Without a principal, or if the principal has no Subject, it returns the
// session. Without a session, it returns the address.
func callerOf(b *framework.CallInfoLite) caller {
	switch p := b.Principal; {
	case p != nil && p.Subject != "":
		return caller{'p', p.Issuer, p.Subject}
	case b.Session != "":
		return caller{kind: 's', a: b.Session}
	}
	return caller{kind: 'a', a: network(b.RemoteAddr)}
}

// network returns the address without the port, because a client has many ports. For an IPv6
// address it returns the prefix of 64 bits, because the client chooses the rest. Middleware of the
// program may have replaced the address by one without a port.
func network(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		ip, err := netip.ParseAddr(addr)
		if err != nil {
			return addr // not an IP address
		}
		at = netip.AddrPortFrom(ip, 0)
		addr = at.String()
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

// host returns the host of addr. It does not allocate if the address is in canonical form.
func host(addr string, ip netip.Addr) string {
	if colon := strings.LastIndexByte(addr, ':'); colon > 0 && addr[0] != '[' {
		return addr[:colon]
	}
	return ip.String()
}

// digest returns a short hash of a text that must not be written to a log, or that may have any
// length. The ID of a session must not be written, because anyone who has it can use the session.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// maxName bounds a URI, which a client has chosen. The names of tools and prompts come from the
// server and need no bound.
const maxName = 256
