package oauth

import (
	"net/http"
	"net/netip"
)

// For tests.
var (
	Canonical      = canonical
	Openable       = openable
	BrowserProgram = browserProgram
	SystemBrowser  = systemBrowser
	Cleaned        = cleaned
	RetryWhileBusy = retryWhileBusy
)

// Reach is 0 for an address that is never dialed, and grows up to 3 for public ones.
func Reach(a netip.Addr) int { return int(reachOf(a)) }

// Challenges are the schemes and parameters of a header field.
func Challenges(field string) (schemes []string, params []map[string]string) {
	for _, c := range challenges(http.Header{"Www-Authenticate": {field}}) {
		schemes, params = append(schemes, c.scheme), append(params, c.params)
	}
	return schemes, params
}
