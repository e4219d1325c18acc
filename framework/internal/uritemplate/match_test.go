package uritemplate_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/internal/uritemplate"
)

type vars = map[string]string

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		template, uri string
		want          vars // nil: no match
	}{
		{"a://b", "a://b", vars{}},
		{"a://b", "a://bc", nil},
		{"a://b", "A://b", nil},
		{"a://b.c", "a://bxc", nil}, // literals are no patterns
		{"", "", vars{}},

		// {x}: one or more characters of one segment
		{"o://{user}/{year}", "o://ann/2026", vars{"user": "ann", "year": "2026"}},
		{"o://{user}/{year}", "o://ann/", nil},
		{"o://{user}/{year}", "o:///2026", nil},
		{"o://{user}/{year}", "o://ann/2026/x", nil},
		{"o://{user}/{year}", "o://ann/2026?x=1", nil},
		{"o://{user}/{year}", "o://ann/2026#x", nil},
		{"o://{x}", "o://a%20b%C3%A9", vars{"x": "a bé"}},
		{"o://{x}", "o://é", vars{"x": "é"}},
		{"o://{x}", "o://a,b", vars{"x": "a,b"}},
		{"o://{x}", "o://%252e%252e%252f", vars{"x": "%2e%2e%2f"}}, // decoded once
		{"o://{x}", "o://a%252Fb", vars{"x": "a%2Fb"}},
		{"o://{x}", "o://a%255Cb", vars{"x": "a%5Cb"}},
		{"o://{x}", "o://a+b", vars{"x": "a+b"}},
		{"o://{x,y}", "o://1,2", vars{"x": "1", "y": "2"}},
		{"o://{x,y}", "o://1,2,3", nil},
		{"o://{x,y}", "o://1", nil},
		{"o://{x}-{y}", "o://a-b-c", vars{"x": "a-b", "y": "c"}},

		// escapes of the template, which clients normalize
		{"o://{x}/%7Ehome/{y}", "o://1/~home/2", vars{"x": "1", "y": "2"}},
		{"o://{x}/%7Ehome/{y}", "o://1/%7ehome/2", vars{"x": "1", "y": "2"}},
		{"o://%2E{x}", "o://.1", vars{"x": "1"}},
		{"o://%2E{x}", "o://a1", nil},
		{"o://{x}/a%2Fb", "o://1/a%2fb", vars{"x": "1"}},
		{"o://{x}/a%2Fb", "o://1/a/b", nil},

		// the same name twice, and prefixes
		{"o://{x}/{x}", "o://a/a", vars{"x": "a"}},
		{"o://{x}/{x}", "o://a/b", nil},
		{"o://{x:1}/{x}", "o://a/ann", vars{"x": "ann"}},
		{"o://{x}/{x:1}", "o://ann/a", vars{"x": "ann"}},
		{"o://{x:1}/{x}", "o://b/ann", nil},
		{"o://{x:1}/{x:3}", "o://a/ann", vars{"x": "ann"}},
		{"o://{x:3}/{x:1}", "o://ann/a", vars{"x": "ann"}},
		{"o://{x:1}/{x:3}", "o://b/ann", nil},
		{"o://{x:2}", "o://%E6%97%A5%E6%9C%AC", vars{"x": "日本"}},
		{"o://{x:2}", "o://abc", nil},

		// {+x} and {#x}: reserved characters too
		{"f:///{+path}", "f:///a/b%20c/d", vars{"path": "a/b c/d"}},
		{"f:///{+path}", "f:///", nil},
		{"f:///{+path}", "f:///a?b#c", vars{"path": "a?b#c"}},
		{"f:///{+path}", "f:///a%2Fb", vars{"path": "a/b"}},
		{"f:///{+path}", "f:///a%252F..%252Fb", vars{"path": "a%2F..%2Fb"}}, // decoded once
		{"f:///{+path}", `f:///a\b`, vars{"path": `a\b`}},
		{"f:///{+path}", "f:///a..b/...", vars{"path": "a..b/..."}},
		{"f:///{+path}", "f:///.git/a:b/cd:/e", vars{"path": ".git/a:b/cd:/e"}},
		{"f:///{x}", "f:///a:b", vars{"x": "a:b"}},
		{"f:///{+path}{?v}", "f:///a/b?v=1", vars{"path": "a/b", "v": "1"}},
		{"f:///{+path}{#at}", "f:///a?b#c", vars{"path": "a?b", "at": "c"}},
		{"f:///{+path}?raw", "f:///a/b?raw", vars{"path": "a/b"}},
		{"f:///{+path}#raw", "f:///a/b#raw", vars{"path": "a/b"}},
		{"f:///{+path}.md", "f:///a/b.md", vars{"path": "a/b"}},
		{"f:///{+a,b}", "f:///x/y,z/w", vars{"a": "x/y", "b": "z/w"}},
		{"x{#a,b}", "x#1/2,3", vars{"a": "1/2", "b": "3"}},
		{"x{#a}", "x", nil},

		// {/x}, {.x}, {;x}
		{"r:{/a,b}", "r:/1/2", vars{"a": "1", "b": "2"}},
		{"r:{/a}", "r:/1/2", nil},
		{"r:{/a*}", "r:/1/2/3", vars{"a": "1/2/3"}},
		{"r:{/a*}", "r:/1", vars{"a": "1"}},
		{"r:{/a*}", "r:/1//2", nil},
		{"r:{/a*}", "r:/1/", nil},
		{"r:{/a*}/end", "r:/1/2/end", vars{"a": "1/2"}},
		{"f{.ext}", "f.tar.gz", vars{"ext": "tar.gz"}},
		{"f{.a,b}", "f.tar.gz", vars{"a": "tar", "b": "gz"}},
		{"f{.ext}", "f", nil},
		{"m{;x,y}", "m;x=1;y=2", vars{"x": "1", "y": "2"}},
		{"m{;x,y}", "m;y=2;x=1", nil},
		{"m{;x,y}", "m;x;y=", vars{"x": "", "y": ""}},
		{"m{;x}", "m;xy=1", nil},

		// queries: any order, all optional
		{"q{?a,b}", "q?a=1&b=2", vars{"a": "1", "b": "2"}},
		{"q{?a,b}", "q?b=2&a=1", vars{"a": "1", "b": "2"}},
		{"q{?a,b}", "q?b=2", vars{"b": "2"}},
		{"q{?a,b}", "q", vars{}},
		{"q{?a,b}", "q?", vars{}},
		{"q{?a,b}", "q?a=", vars{"a": ""}},
		{"q{?a,b}", "q?a", vars{"a": ""}},
		{"q{?a,b}", "q?a=x=y", vars{"a": "x=y"}},
		{"q{?a,b}", "q?a=%26%3D", vars{"a": "&="}},
		{"q{?a,b}", "q?a=and%2For", vars{"a": "and/or"}}, // data
		{"q{?a,b}", "q?a=https://x.example/../b%3Fc%23d", vars{"a": "https://x.example/../b?c#d"}},
		{"q{?a,b}", `q?a=%2Fetc&b=..%5Cb\c`, vars{"a": "/etc", "b": `..\b\c`}},
		{"q{?a}", "q?a=one%0D%0Atwo", vars{"a": "one\r\ntwo"}},
		{"q{?a,b}", "q?c=1", nil},
		{"q{?a,b}", "q?a=1&c=1", nil},
		{"q{?a,b}", "q?a=1&a=2", nil},
		{"q{?a,b}", "q?a=1&a=1", vars{"a": "1"}},
		{"q{?a,b}", "q?a=1&&b=2", nil},
		{"q{?a,b}", "q?a=1#f", nil},
		{"q{?a:2}", "q?a=123", nil},
		{"q?f=1{&a,b}", "q?f=1&b=2", vars{"b": "2"}},
		{"q?f=1{&a,b}", "q?f=1", vars{}},
		{"q?f=1{&a,b}", "q?f=2", nil},
		{"q{?a}{&b}", "q?b=2&a=1", vars{"a": "1", "b": "2"}},
		{"q{?a}{#b}", "q?a=1#z", vars{"a": "1", "b": "z"}},

		// literals stand for their encoded form
		{"é://{x}", "%c3%A9://1", vars{"x": "1"}},
		{"é://{x}", "é://1", vars{"x": "1"}},
		{"a%2fb/{x}", "a%2Fb/1", vars{"x": "1"}},
	}
	for _, tt := range tests {
		got, ok, err := mustParse(t, tt.template).Match(tt.uri)
		if err != nil || ok != (tt.want != nil) || !maps.Equal(got, tt.want) {
			t.Errorf("%s with %s: got %q, %v, %v, want %q", tt.template, tt.uri, got, ok, err, tt.want)
		}
	}
}

func TestMatchRefusesUnsafeValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ template, uri, reason string }{
		{"f:///{+path}", "f:///..", `".." as a path segment`},
		{"f:///{+path}", "f:///../etc/passwd", `".." as a path segment`},
		{"f:///{+path}", "f:///a/../../etc", `".." as a path segment`},
		{"f:///{+path}", "f:///a/%2e%2E/b", `".." as a path segment`},
		{"f:///{+path}", "f:///a%2F..%2Fb", `".." as a path segment`},
		{"f:///{+path}", `f:///a\..\b`, `".." as a path segment`},
		{"f:///{+path}", `f:///a%5C..`, `".." as a path segment`},
		{"f:///{x}", `f:///..`, `".." as a path segment`},
		{"f:///{x}", `f:///%2e%2e`, `".." as a path segment`},
		{"f:///{x}", `f:///a\..`, `".." as a path segment`},
		{"r:{/x*}", "r:/a/../b", `".." as a path segment`},
		{"f:///{+path}", "f:///./a", `"." as a path segment`},
		{"f:///{+path}", "f:///a/%2E/b", `"." as a path segment`},
		{"f:///{x}", "f:///.", `"." as a path segment`},
		{"f:///{+path}", "f:///C:/x", "begins with a drive"},
		{"f:///{+path}", `f:///c:\x`, "begins with a drive"},
		{"f:///{+path}", "f:///c%3A", "begins with a drive"},
		{"f:////etc{+path}", "f:////etcC:/x", "begins with a drive"},
		{"f:///{+path}", "f:////etc/passwd", "begins with a slash or backslash"},
		{"f:///{+path}", "f:///%2Fetc", "begins with a slash or backslash"},
		{"f:///{+path}", `f:///\\host\share`, "begins with a slash or backslash"},
		{"f:///{x}", `f:///\etc`, "begins with a slash or backslash"},
		{"f:///{x}", "f:///a%2Fb", "escaped slash or backslash"},
		{"f:///{x}", "f:///a%2fb", "escaped slash or backslash"},
		{"f:///{x}", "f:///a%5cb", "escaped slash or backslash"},
		{"r:{/x*}", "r:/a%2Fb", "escaped slash or backslash"},
		{"f:///{x}", `f:///a\b`, "backslash"}, // a separator on Windows
		{"f:///{x}", `f:///a\`, "backslash"},
		{"f:///{x,y}", `f:///a,b\c`, "backslash"},
		{"f{.x}", `f.a\b`, "backslash"},
		{"m{;x}", `m;x=a\b`, "backslash"},
		{"r:{/x*}", `r:/a/b\c`, "backslash"},
		{"f:///{x}", "f:///" + strings.Repeat("a", 64<<10), "URI of more than 64 KiB"},
		{"f:///{+x}", "f:///" + strings.Repeat("a/", 32<<10), "URI of more than 64 KiB"},
		{"f:///{x}", "f:///a%00", "control character"},
		{"q{?a}", "q?a=a%00", "control character"},
		{"q{?a}", "q?a=a%ff", "not valid UTF-8"},
		{"f:///{x}", "f:///a\x00", "control character"},
		{"f:///{x}", "f:///a%0d%0a", "control character"},
		{"f:///{x}", "f:///a\n", "control character"},
		{"f:///{x}", "f:///a%7F", "control character"},
		{"f:///{x}", "f:///a%C2%85", "control character"},
		{"f:///{+x}", "f:///a%00", "control character"},
		{"f:///{x}", "f:///a%", "broken percent escape"},
		{"f:///{x}", "f:///a%4", "broken percent escape"},
		{"f:///{x}", "f:///a%g0", "broken percent escape"},
		{"f:///{x}", "f:///a%FF", "not valid UTF-8"},
		{"f:///{x}", "f:///a\xff", "not valid UTF-8"},
		{"f:///{x}", "f:///%C0%AE%C0%AE", "not valid UTF-8"}, // overlong ".."
		{"f:///{x}", "f:///%ED%A0%80", "not valid UTF-8"},    // a surrogate
	}
	for _, tt := range tests {
		got, ok, err := mustParse(t, tt.template).Match(tt.uri)
		if !errors.Is(err, uritemplate.ErrUnsafe) || !strings.HasSuffix(err.Error(), tt.reason) {
			t.Errorf("%s with %q: error %v, want %s", tt.template, tt.uri, err, tt.reason)
		}
		if ok || got != nil {
			t.Errorf("%s with %q: got %q, %v beside the error", tt.template, tt.uri, got, ok)
		}
	}
}

func TestMatchLongURI(t *testing.T) {
	t.Parallel()
	parsed := mustParse(t, "f:///{x}")
	longest := strings.Repeat("a", 64<<10-len("f:///"))
	if got, ok, err := parsed.Match("f:///" + longest); err != nil || !ok || got["x"] != longest {
		t.Errorf("64 KiB: got %v, %v", ok, err)
	}
	if got, ok, err := parsed.Match("g:///" + longest + "aa"); err != nil || ok || got != nil {
		t.Errorf("of another template: got %v, %v", ok, err)
	}
}

func TestUnsafeErrorNamesVariableNotValue(t *testing.T) {
	t.Parallel()
	_, _, err := mustParse(t, "f:///{+path}").Match("f:///../secret")
	want := `matching URI template "f:///{+path}": variable path: unsafe value: ".." as a path segment`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// roundTrips are templates whose expansions match again for every safe value.
var roundTrips = []string{
	"a://{x}/{y}", "a://{x,y}", "a:{/x,y}", "a:{/x*}?{y}", "a{;x,y}", "a{?x,y}", "a?f=1{&x,y}", "a://{x}{?y}", "é%2f{x}/{y}{?x}",
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("ann", "2026")
	f.Add("日本語", "a b,c;d=e&f")
	f.Add("100%", "%2e%2e")
	f.Add("..", "/")
	f.Fuzz(func(t *testing.T, x, y string) {
		for _, template := range roundTrips {
			checkRoundTrip(t, mustParse(t, template), vars{"x": x, "y": y})
		}
		if !strings.ContainsAny(x, "%") {
			checkRoundTrip(t, mustParse(t, "a://{+x}"), vars{"x": x})
			checkRoundTrip(t, mustParse(t, "a{#x}"), vars{"x": x})
		}
	})
}

func checkRoundTrip(t *testing.T, template *uritemplate.Template, values vars) {
	t.Helper()
	uri, err := template.Expand(values)
	if err != nil {
		if utf8.ValidString(values["x"]) && utf8.ValidString(values["y"]) {
			t.Fatalf("%s: %v", template, err)
		}
		return
	}
	got, ok, err := template.Match(uri)
	if err != nil && !errors.Is(err, uritemplate.ErrUnsafe) {
		t.Fatalf("%s: error %v is not ErrUnsafe", template, err)
	}
	switch {
	case len(uri) > 64<<10:
		if err == nil {
			t.Fatalf("%s: %d bytes were let through", template, len(uri))
		}
	case each(values, harmless):
		if err != nil || !ok || !maps.Equal(got, values) {
			t.Fatalf("%s: %q became %q, which became %q, %v, %v", template, values, uri, got, ok, err)
		}
	case !ok && err == nil: // only what has an empty part has no way back
		if each(values, wellFormed) && !strings.Contains(template.String(), "{/x*}") {
			t.Fatalf("%s: %q became %q, which does not match", template, values, uri)
		}
	case ok: // whatever is let through is what went in
		for name, value := range got {
			if value != values[name] {
				t.Fatalf("%s: %s was %q, became %q by %q", template, name, values[name], value, uri)
			}
		}
	}
}

func each(values vars, is func(string) bool) bool {
	for _, value := range values {
		if !is(value) {
			return false
		}
	}
	return true
}

func wellFormed(s string) bool { return s != "" && utf8.ValidString(s) }

// harmless is a stricter notion of safe than the package's own, written without
// a look at it: printable, not empty, no slashes, no pair of dots, not a dot alone, no drive.
func harmless(s string) bool {
	if !wellFormed(s) || strings.ContainsAny(s, `/\`) || strings.Contains(s, "..") || s == "." || strings.Index(s, ":") == 1 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || 0x7f <= r && r < 0xa0 })
}

func FuzzMatch(f *testing.F) {
	f.Add("a://{x}{/y*}{?z}", "a://1/2/3?z=4")
	f.Add("{+x:3}{;x}{.x*}{#x}", "abc;x=abc.abc#abc")
	f.Add("{x", "%")
	f.Add("{?x,y}", `?x=1024\768`) // data, in a query
	for _, tt := range expansions {
		f.Add(tt.template, tt.want)
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		parsed, err := uritemplate.Parse(template)
		if err != nil {
			checkParseError(t, template, err)
			return
		}
		got, ok, err := parsed.Match(uri)
		if ok == (got == nil) || ok && err != nil {
			t.Fatalf("inconsistent answer: %q, %v, %v", got, ok, err)
		}
		known := parsed.Variables()
		query := strings.Contains(template, "{?") || strings.Contains(template, "{&") // whose values are data
		for name, value := range got {
			if !slices.Contains(known, name) {
				t.Fatalf("%q is not a variable of %q", name, template)
			}
			if query {
				continue
			}
			if strings.HasPrefix(value, "/") || strings.Contains("/"+strings.ReplaceAll(value, `\`, "/")+"/", "/../") {
				t.Fatalf("%q lets %q through as %q", template, uri, value)
			}
			if !strings.Contains(template, "{+") && !strings.Contains(template, "{#") && strings.Contains(value, `\`) {
				t.Fatalf("%q lets the backslash of %q through", template, uri)
			}
		}
	})
}

func checkParseError(t *testing.T, template string, err error) {
	t.Helper()
	var fault *uritemplate.ParseError
	if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(template) || fault.Reason == "" {
		t.Fatalf("error %v of %q", err, template)
	}
}

func BenchmarkMatch(b *testing.B) {
	parsed := mustParse(b, "repo://{owner}/{name}/contents{/path*}{?ref}")
	const uri = "repo://kagami-mcp/kagami/contents/framework/app.go?ref=main"
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := parsed.Match(uri); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkMatchOther(b *testing.B) {
	parsed := mustParse(b, "repo://{owner}/{name}/contents{/path*}{?ref}")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, _ := parsed.Match("orders://ann/2026"); ok {
			b.Fatal("matched")
		}
	}
}

// TestBuildRefuses checks that no URI is built with a value that a read would refuse, or change.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	takes := func(parsed *uritemplate.Template, value string) bool {
		values := map[string]string{}
		for _, name := range parsed.Variables() {
			values[name] = "1"
		}
		values["x"] = value
		_, err := parsed.Build(values)
		return err == nil
	}
	tests := []struct {
		template      string
		takes, refuse []string
	}{
		{"f://{x}", []string{"a", "a b", "é", "a..b", "a%2Fb"}, []string{"", "a/b", "..", `a\b`, "a\x00", "a\n", "http://h/p?q#f", "a\xff"}},
		{"f://{y}/{x}", []string{"a"}, []string{"a/b"}},
		{"f://{x:3}", []string{"abc"}, []string{"abcd"}},
		{"f://{y}-{x}", []string{"a"}, []string{"a-b"}},
		{"f:///{+x}", []string{"a/b", `a\b`}, []string{"/a", "../a", "a/.."}},
		{"f://h{/x*}", []string{"a/b"}, []string{"/a", "a//b", "a/.."}},
		{"f://h{?y,x}", []string{"a/b", "/a", "..", "a\n", "", "http://h/p?q#f"}, []string{"a\x00"}},
	}
	for _, tt := range tests {
		parsed := mustParse(t, tt.template)
		for _, value := range tt.takes {
			if !takes(parsed, value) {
				t.Errorf("%s refuses %q", tt.template, value)
			}
		}
		for _, value := range tt.refuse {
			if takes(parsed, value) {
				t.Errorf("%s takes %q", tt.template, value)
			}
		}
	}
	if !takes(mustParse(t, "f://{x}").AllowSlashes("x"), "a/b") {
		t.Error("a variable with slashes refuses a/b")
	}
}
