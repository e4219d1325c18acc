package secretname_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/secretname"
)

// TestIs checks the usual names of secrets, in any spelling.
func TestIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "db_passwd": true, "PASS-PHRASE": true, "clientSecret": true, "access_token": true, "Proxy-Authorization": true,
		"x-api-key": true, "api.key": true, "Set-Cookie": true, "awsCredentials": true, "private_key": true, "PrivateKey": true,
		"": false, "key": false, "user": false, "pass": false, "author": false, "publicKey": false, "cook": false,
	} {
		if secretname.Is(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
