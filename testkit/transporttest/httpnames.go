package transporttest

import (
	"fmt"
	"testing"
)

// testNames: hosts and origins may be configured as people write them, and requests contain them as
// browsers write them.
func testNames(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{
		AllowedOrigins: []string{
			"", "https://plain.example", "HTTPS://Port.Example:443/", "http://web.example:80", "https://other.example:8443",
			"http://[2001:DB8:0:0::1]:80", "app://Desk",
		},
		AllowedHosts: []string{"", "secure.example:443", "plain.example:80", "one.example:8443", "any.example", "[2001:db8::1]"},
	})
	for _, tt := range nameCases() {
		t.Run(fmt.Sprintf("%s from %s", tt.host, tt.origin), func(t *testing.T) {
			var fields []string
			if tt.host != "" {
				fields = append(fields, "Host: "+tt.host)
			}
			if tt.origin != "" {
				fields = append(fields, "Origin: "+tt.origin)
			}
			got := dialRaw(t, site.URL).roundTrip(echoing(fields...))
			if got.StatusCode != tt.want && (tt.want == 200 || got.StatusCode != 400) { // net/http refuses some itself
				t.Errorf("%s, want %d", got.Status, tt.want)
			}
		})
	}
}

type nameCase struct {
	host, origin string
	want         int
}

func nameCases() []nameCase {
	return []nameCase{
		{"", "https://plain.example", 200},
		{"", "https://PLAIN.example", 200},
		{"", "https://plain.example:443", 200},
		{"", "http://plain.example", 403},
		{"", "https://plain.example:80", 403},
		{"", "https://plain.example.", 403},
		{"", "https://user@plain.example", 403},
		{"", "https://plain.example/page", 403},
		{"", "https://plain.example.evil.example", 403},
		{"", "https://port.example", 200},
		{"", "http://web.example", 200},
		{"", "https://other.example:8443", 200},
		{"", "https://other.example", 403},
		{"", "http://[2001:db8::1]", 200},
		{"", "http://[2001:db8::1]:8080", 403},
		{"", "app://desk", 200},
		{"", "app://other", 403},
		{"", "http://[::1]:3000", 200},
		{"", "http://localhost@evil.example", 403},
		{"", "http://127.0.0.1.evil.example", 403},

		{"secure.example", "", 200},
		{"secure.example:443", "", 200},
		{"secure.example:444", "", 403},
		{"plain.example", "", 200},
		{"one.example:8443", "", 200},
		{"one.example", "", 403},
		{"any.example:1234", "", 200},
		{"any.example.", "", 403},
		{"evil.example@any.example", "", 403},
		{"[2001:db8::1]:80", "", 200},
		{"0.0.0.0", "", 403},

		{"any.example:443", "https://any.example", 200},
		{"any.example:80", "http://any.example", 200},
		{"any.example", "http://any.example:80", 200},
		{"any.example:80", "https://any.example", 403},
		{"any.example", "https://any.example:8443", 403},
	}
}
