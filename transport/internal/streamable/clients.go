package streamable

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Proxies are those whose word about the address of a client counts.
type Proxies struct {
	Header   string // "X-Forwarded-For", or another that they set
	Networks []netip.Prefix
}

// client is the address of the client of a request that came from remote, as host:port; remote
// itself if that is no trusted proxy, or says nothing that is an address.
//
// Each proxy appends the address that it was called from. The last one that is no trusted proxy is
// the client; what stands before it the client may have made up.
func (p *Proxies) client(remote string, f transport.Fields) string {
	from, err := netip.ParseAddrPort(remote)
	if p.Header == "" || err != nil || !p.trusts(from.Addr()) {
		return remote
	}
	var hops []string
	for _, line := range f.Values(p.Header) {
		hops = append(hops, strings.Split(line, ",")...)
	}
	found := ""
	for _, hop := range slices.Backward(hops) {
		addr, ok := addressIn(hop)
		if !ok {
			break
		}
		if found = net.JoinHostPort(addr.String(), "0"); !p.trusts(addr) {
			break
		}
	}
	if found == "" {
		return remote
	}
	return found
}

func (p *Proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(addr.Unmap()) })
}

// addressIn reads an address, with or without a port.
func addressIn(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

// addressKey is the key of an address, as host:port: an IPv6 client has a /64 of its own, so that
// is counted, and not the addresses in it.
func addressKey(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	if !strings.Contains(host, ":") {
		return host
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Is4In6() {
		return host
	}
	network, _ := addr.WithZone("").Prefix(64) // which every such address has
	return network.String()
}
