// Package loopback knows which hosts are this machine only. What carriers let in and
// where they listen depends on it, so that they must agree.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether host, a name or an IP address without port and brackets, is this
// machine only. Names are not resolved: "localhost" is the only one.
func Is(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
