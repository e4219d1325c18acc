package streamable

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Proxies are proxies that are trusted to report the address of a client.
type Proxies struct {
	Header   string // "X-Forwarded-For", or another field that they set
	Networks []netip.Prefix
}

// client returns the address of the client of a request from remote, as host:port. If remote is not
// a trusted proxy, or its field has no address, client returns remote.
//
// Each proxy appends the address of its own client. The last address that is not a trusted proxy is
// the client's. The client may have forged the addresses before it.
func (p *Proxies) client(remote string, f transport.Fields) string {
	if p.Header == "" {
		return remote
	}
	from, err := netip.ParseAddrPort(remote)
	if err != nil || !p.trusts(from.Addr()) {
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
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(addr.Unmap().WithZone("")) })
}

// addressIn parses an address, with or without a port.
func addressIn(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

// addressKey returns the key of an address, given as host:port. An IPv6 client has a whole /64, so
// its key is the network. Middleware of the program may have replaced the address by one without a
// port.
func addressKey(remote string) string {
	if host, port, _ := strings.Cut(remote, ":"); strings.IndexByte(port, ':') < 0 { // IPv4
		return host
	}
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil, addr.Is4():
		return host
	case addr.Is4In6():
		return addr.Unmap().String()
	}
	network, _ := addr.WithZone("").Prefix(64) // never fails for an IPv6 address
	return network.String()
}
