package legacysse

import "testing"

// TestCredentialFieldsAreNotStored checks that header fields with credentials stay on the node that received them, and
// are not in the store.
func TestCredentialFieldsAreNotStored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true, "Dpop": true, "X-Amz-Security-Token": true,
		"X-Client-Secret": true, "X-PASSWORD": true, "X-Jwt-Assertion": true, "Signature-Input": true, "X-Credential": true,
		"X-Session-Id": true, "X-Forwarded-Client-Cert": true,
		"Content-Type": false, "Accept": false, "Traceparent": false, "X-Tenant": false, "User-Agent": false,
	} {
		if proves(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
