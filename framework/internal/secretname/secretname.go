// Package secretname knows names that speak of secrets.
package secretname

import (
	"slices"
	"strings"
)

// words are parts of names that speak of secrets, without separators.
var words = []string{"password", "passwd", "passphrase", "secret", "token", "authorization", "apikey", "cookie", "credential", "privatekey"}

// Words returns the parts of names that speak of secrets, in lower case and without separators.
func Words() []string { return slices.Clone(words) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// Is reports whether a member of this name holds a secret, in any case and with any separators.
func Is(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}
