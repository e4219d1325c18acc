package oauth

import "net/netip"

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

// Reach is 0 for an address that is never dialed, and grows up to 3 for public ones.
func Reach(a netip.Addr) int { return int(reachOf(a)) }
