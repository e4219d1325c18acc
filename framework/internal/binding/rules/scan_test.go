package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
)

// TestScansAgreeWithValidator checks, for every text over a small alphabet, that the verdict is the same as
// the verdict of validator's own function.
func TestScansAgreeWithValidator(t *testing.T) {
	t.Parallel()
	const classes = "aZ@[`{ 0/:é٣\x00\x7f\n\xff"
	for _, tt := range []struct {
		tags     string
		before   string
		alphabet string
		longest  int
	}{
		{"alpha alphaspace alphanum alphanumspace alphaunicode alphanumunicode ascii printascii multibyte", "", classes, 3},
		{"hexadecimal", "", "0xXfG", 6},
		{"base32", "", "A=", 17},
		{"base32", "", "AZa1278=\n", 4},
		{"base64 base64url base64rawurl", "", "A=", 13},
		{"base64 base64url base64rawurl", "", "z9+/-_=\n", 5},
		{"datauri", "", "da,:", 7},
		{"datauri", "data:text/plain", ";,A=", 7},
		{"jwt", "", "A.-_+", 7},
		{"html", "", "</a>\n", 8},
		{"html_encoded", "", "&#x4Fg", 6},
		{"html_encoded", "&", "gltquoamp;", 4},
		{"html_encoded", "&quo", "&t;", 4},
		{"url_encoded", "", "%4Fg\n", 7},
	} {
		own, theirs := judges(t)
		for tag := range strings.FieldsSeq(tt.tags) {
			for s := range texts(tt.alphabet, tt.longest) {
				s = tt.before + s
				if got, want := own.Var(s, tag) == nil, theirs.Var(s, tag) == nil; got != want {
					t.Fatalf("%s of %q: got %v, want %v", tag, s, got, want)
				}
			}
		}
	}
}

// TestScansAgreeOnEveryByteAndRune checks each byte and rune alone, and at both ends of a text.
func TestScansAgreeOnEveryByteAndRune(t *testing.T) {
	t.Parallel()
	own, theirs := judges(t)
	check := func(tag, s string) {
		if got, want := own.Var(s, tag) == nil, theirs.Var(s, tag) == nil; got != want {
			t.Errorf("%s of %q: got %v, want %v", tag, s, got, want)
		}
	}
	for tag := range strings.FieldsSeq("alpha alphaspace alphanum alphanumspace ascii printascii multibyte hexadecimal base32 base64 base64url base64rawurl jwt html html_encoded url_encoded") {
		for c := range 256 {
			b := string([]byte{byte(c)})
			for _, s := range []string{b, b + "AAAAAAA", "AAAAAAA" + b, b + "AAA", "AAA" + b, "A." + b + ".A", "<" + b + ">", "&" + b, "&#" + b + "4", "&#4" + b, "%" + b + "4", "%4" + b, "0" + b + "1"} {
				check(tag, s)
			}
		}
	}
	for c := range rune(0x32400) {
		check("alphaunicode", string(c))
		check("alphanumunicode", string(c))
	}
}

// TestFormatsAreReadOnce checks that each format has a bound or a function, unless validator itself reads the
// text once.
func TestFormatsAreReadOnce(t *testing.T) {
	t.Parallel()
	const byValidator = "url uri http_url https_url urn_rfc2141 urn_rfc8141 json duration lowercase uppercase isdefault iscolor country_code eu_country_code"
	for _, tag := range slices.Concat(rules.Formats(), slices.Collect(maps.Keys(rules.Sentences()))) {
		if !rules.ReadOnce(tag) && !slices.Contains(strings.Fields(byValidator), tag) {
			t.Errorf("%s has no bound, and validator's expression judges it", tag)
		}
	}
}

// judges returns the validator of the package, and an unchanged validator.
func judges(t *testing.T) (own, theirs *validator.Validate) {
	t.Helper()
	return rules.NewValidator(nil, nil), validator.New(validator.WithRequiredStructEnabled())
}

// texts yields all texts of up to longest characters of alphabet.
func texts(alphabet string, longest int) func(func(string) bool) {
	var extend func(text string, rest int, yield func(string) bool) bool
	extend = func(text string, rest int, yield func(string) bool) bool {
		if !yield(text) {
			return false
		}
		if rest == 0 {
			return true
		}
		for rest, i := rest-1, 0; i < len(alphabet); i++ {
			if !extend(text+alphabet[i:i+1], rest, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(string) bool) { extend("", longest, yield) }
}
