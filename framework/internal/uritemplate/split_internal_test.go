package uritemplate

import (
	"regexp"
	"slices"
	"testing"
)

// FuzzSplit: where a template does without its pattern, it splits as the pattern does.
func FuzzSplit(f *testing.F) {
	for _, template := range []string{
		"orders://{user}/{year}", "a{x}", "{x}", "a://{x}/b/{y}#c", "a://{x}?y=1", "plain://text", "a://{x:3}/{x}", "a://{x}{y}", "a://{x}-{y}", "ä://{x}", "a%20b/{x}",
	} {
		for _, uri := range []string{
			"orders://ann/2026", "orders://ann/", "orders://a/b/c", "a", "ab", "a://x/b/y#c", "a://x?y=1", "plain://text", "a://abc/abcd", "a://x-y", "a\xff\n", "a b/x",
		} {
			f.Add(template, uri)
		}
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		parsed, err := Parse(template)
		if err != nil || parsed.pattern != nil {
			return
		}
		pattern := regexp.MustCompile((&Template{parts: parsed.parts}).capture())
		got, want := parsed.split(uri, nil), pattern.FindStringSubmatchIndex(uri)
		if !slices.Equal(got, want) {
			t.Errorf("%q of %q: split %v, pattern %v", uri, template, got, want)
		}
	})
}

// TestDirect: the usual templates do without a pattern, those that can be split in
// several ways do not.
func TestDirect(t *testing.T) {
	t.Parallel()
	for template, direct := range map[string]bool{
		"orders://{user}/{year}": true, "a://{x}": true, "a://{x}?y=1": true, "plain://text": true, "{x}": true,
		"a://{x}{y}": false, "a://{x}-{y}": false, "a://{x,y}": false, "a://{x:3}": true, "a://{+x}": false, "a://b{/x*}": false, "a://{?x}": false,
		"a%20b/{x}": false, "ä://{x}": false,
	} {
		parsed, err := Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		if (parsed.pattern == nil) != direct {
			t.Errorf("%s: direct is %v", template, !direct)
		}
	}
}
