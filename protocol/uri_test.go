package protocol_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

func TestNormalURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"notes://menü/été":                "notes://men%C3%BC/%C3%A9t%C3%A9",
		"notes://men%c3%bc/%C3%A9t%c3%A9": "notes://men%C3%BC/%C3%A9t%C3%A9",
		"https://example.com":             "https://example.com/",
		"HTTPS://Example.COM:443/a%7Eb?q": "https://example.com/a~b?q",
		"http://example.com:8080?q=1":     "http://example.com:8080/?q=1",
		"notes://menu":                    "notes://menu",
		"TEA://Cups/%41%2fb":              "tea://Cups/A%2Fb",
		"a b":                             "a b",
		"":                                "",
		"urn:x:Y z":                       "urn:x:Y%20z",
		"x://a%zz":                        "x://a%zz",
		"X://%61%zz":                      "X://%61%zz", // a broken escape
		"x://%2%35":                       "x://%2%35",
		"x://u%61:p@H/":                   "x://ua:p@H/",
		"wss://u%61:P@H/":                 "wss://ua:P@h/",
		"notes://MENÜ/x":                  "notes://MEN%C3%9C/x",
		"notes://%C3%89a/b":               "notes://%C3%89a/b",
		"notes://%4Denu/x":                "notes://Menu/x",
		"http://%4Denu/x":                 "http://menu/x",
		"http://MENÜ/x":                   "http://men%C3%9C/x",
		"http://MEN%c3%9c/x":              "http://men%C3%9C/x",
		"http://\u212A/":                  "http://%E2%84%AA/", // the Kelvin sign
		"https://example.com:":            "https://example.com/",
		"https://example.com:/":           "https://example.com/",
		"urn:Books:1":                     "urn:Books:1",
		"http://[2001:DB8::1]:80":         "http://[2001:db8::1]/",
		"é://x":                           "é://x",
		"file:///C:/a b":                  "file:///C:/a%20b",
	} {
		got := protocol.NormalURI(uri)
		if got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
		if again := protocol.NormalURI(got); again != got {
			t.Errorf("%q: not stable: %q", got, again)
		}
	}
}

func TestNormalURIAllocates(t *testing.T) {
	uri := "weather://cities/kyoto?days=3"
	if n := testing.AllocsPerRun(100, func() { protocol.NormalURI(uri) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
