// Package secretname knows names that speak of secrets.
package secretname

import "strings"

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// Is reports whether a member of this name holds a secret, in any case and with any separators.
func Is(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	for _, word := range [...]string{"password", "passwd", "passphrase", "secret", "token", "authorization", "apikey", "cookie", "credential", "privatekey"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
