package oauth

import (
	"fmt"
	"net/netip"
)

// For tests.
var (
	Canonical      = canonical
	Openable       = openable
	BrowserProgram = browserProgram
	SystemBrowser  = systemBrowser
	Cleaned        = cleaned
	IsLoopback     = isLoopback
	RetryWhileBusy = retryWhileBusy
)

// Lists returns the lists that options add to, as text.
func Lists(f *Flow) string {
	c := &f.config
	return fmt.Sprint(c.credentials, c.scopes, c.plain, c.assumePKCE, c.noResource)
}

// Reach is 0 for an address that is never dialed, and grows up to 3 for public ones.
func Reach(a netip.Addr) int { return int(reachOf(a)) }
