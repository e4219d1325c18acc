package uritemplate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/uritemplate"
)

func mustParse(t testing.TB, template string) *uritemplate.Template {
	t.Helper()
	parsed, err := uritemplate.Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		template string
		offset   int
		reason   string
	}{
		{"a://{x", 4, `"{" without "}" after it`},
		{"a://x}", 5, `"}" without "{" before it`},
		{"a://{}", 5, "expression names no variable"},
		{"a://{+}", 6, "variable has no name"},
		{"a://{x,}", 7, "variable has no name"},
		{"a://{x,,y}", 7, "variable has no name"},
		{"a://{=x}", 5, `operator '=' is reserved and has no meaning`},
		{"a://{|x}", 5, `operator '|' is reserved and has no meaning`},
		{"a://{x y}", 6, `character ' ' cannot stand in a variable; names take letters, digits, "_" and "."`},
		{"a://{-x}", 5, `character '-' cannot stand in a variable; names take letters, digits, "_" and "."`},
		{"a://{é}", 5, `character 'é' cannot stand in a variable; names take letters, digits, "_" and "."`},
		{"a://{x{y}}", 6, `character '{' cannot stand in a variable; names take letters, digits, "_" and "."`},
		{"a://{x.}", 6, "name ends in a dot"},
		{"a://{.}", 6, "variable has no name"},
		{"a://{x:0}", 7, "prefix length must be a number from 1 to 9999"},
		{"a://{x:}", 7, "prefix length must be a number from 1 to 9999"},
		{"a://{x:10000}", 7, "prefix length must be a number from 1 to 9999"},
		{"a://{x:3*}", 8, `character '*' cannot stand in a variable; names take letters, digits, "_" and "."`},
		{"a://b c", 5, `character ' ' is not allowed; percent-encode it`},
		{"a://b\x00", 5, `character '\x00' is not allowed; percent-encode it`},
		{"a://b\xff", 5, `character '�' is not allowed; percent-encode it`},
		{"a://%4", 4, `"%" must be followed by two hexadecimal digits`},
		{"a://%zz", 4, `"%" must be followed by two hexadecimal digits`},
	}
	for _, tt := range tests {
		_, err := uritemplate.Parse(tt.template)
		var fault *uritemplate.ParseError
		if !errors.As(err, &fault) {
			t.Errorf("%q: error %v, want a *ParseError", tt.template, err)
			continue
		}
		want := uritemplate.ParseError{Template: tt.template, Offset: tt.offset, Reason: tt.reason}
		if *fault != want {
			t.Errorf("%q: got %+v, want %+v", tt.template, *fault, want)
		}
	}
}

func TestParseErrorText(t *testing.T) {
	t.Parallel()
	_, err := uritemplate.Parse("a://{x")
	if want := `URI template "a://{x": offset 4: "{" without "}" after it`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	parsed := mustParse(t, "a://{b.c}/{a}{/b.c:3}{?z,a}{&q%41}")
	if got, want := parsed.Variables(), []string{"b.c", "a", "z", "q%41"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, optional := range map[string]bool{"b.c": false, "a": false, "z": true, "q%41": true} {
		if parsed.Optional(name) != optional {
			t.Errorf("Optional(%q) is %v", name, !optional)
		}
	}
	if got := parsed.String(); got != "a://{b.c}/{a}{/b.c:3}{?z,a}{&q%41}" {
		t.Errorf("String is %q", got)
	}
}

func TestSpecificity(t *testing.T) {
	t.Parallel()
	ordered := []string{ // from the most to the least specific
		"a://docs/latest/index",
		"a://docs/latest/{page}",
		"a://docs/latest{/page*}",
		"a://docs/latest{#page}",
		"a://docs/{version}",
		"a://docs/{+path}",
		"a://{x}",
		"a://{+x}",
		"{+x}",
	}
	for i := 1; i < len(ordered); i++ {
		more, less := mustParse(t, ordered[i-1]), mustParse(t, ordered[i])
		if more.Specificity() <= less.Specificity() {
			t.Errorf("%s (%d) is not above %s (%d)", more, more.Specificity(), less, less.Specificity())
		}
	}
}
