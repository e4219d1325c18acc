package binding_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestWordsOfRules checks that the words for a value express everything in its schema, because the value may violate
// any of the rules, and that a value is found that satisfies all of them.
func TestWordsOfRules(t *testing.T) {
	t.Parallel()
	text, number := reflect.TypeFor[string](), reflect.TypeFor[int]()
	for _, tt := range []struct {
		typ   reflect.Type
		rules string
		value string
		want  string
	}{
		{number, "ne=3", `3`, `a whole number other than 3`},
		{number, "min=1,max=9,ne=3,noneof=5 6", `5`, `a whole number from 1 to 9 other than 3 and other than 5, 6`},
		{reflect.TypeFor[float64](), "ne=0.5", `0.5`, `a number other than 0.5`},
		{number, "eq=1|eq=3", `2`, `a whole number equal to 1 or equal to 3`},
		{number, "max=1|min=9", `5`, `a whole number of at most 1 or of at least 9`},
		{reflect.TypeFor[*int](), "ne=3", `3`, `a whole number other than 3`},
		{reflect.TypeFor[bool](), "ne=true", `true`, `true or false other than true`},
		{text, "ne=a,ne=b", `"b"`, `text other than "a" and other than "b"`},
		{text, "oneof=a b,ne=a", `"a"`, `one of "a", "b" other than "a"`},
		{text, "oneof=a b,oneof=b c", `"a"`, `one of "a", "b" that is one of "b", "c"`},
		{text, "startswith=SKU-", `"x"`, `text that begins with "SKU-"`},
		{text, "endswith=.go,startswith=a/", `"x.go"`, `text that ends with ".go" and that begins with "a/"`},
		{text, "contains=^", `"x"`, `text that contains "^"`},
		{text, "containsany=!?", `"x"`, `text that matches [!\?]`},
		{text, "startsnotwith=https://", `"https://x"`, `text that does not begin with "https://"`},
		{text, "endsnotwith=a", `"a"`, `text that does not end with "a"`},
		{text, "excludes=zz", `"azz"`, `text that does not contain "zz"`},
		{text, "excludesall=!?", `"?"`, `text that does not match [!\?]`},
		{text, "min=3,contains=@,excludes=!", `"a@!"`, `text of at least 3 characters that contains "@" and that does not contain "!"`},
		{text, "startswith=a|startswith=b", `"c"`, `text that begins with "a" or that begins with "b"`},
		{text, "email|uuid", `"c"`, `text that is an email address or that is a UUID`},
		{text, "ipv4|hexcolor", `"c"`, `text that is an IPv4 address or that is a color such as #ff8800`},
		{text, "ip", `"c"`, `an IP address`},
		{text, "https_url", `"http://c"`, `an https URL`},
		{text, "http_url", `"ftp://c"`, `an http or https URL`},
		{text, "fqdn", `"c d"`, `a full host name such as www.example.com`},
		{text, "min=3|eq=x", `"y"`, `text of at least 3 characters or equal to "x"`},
		{text, "email,endswith=@a.org", `"a@b.org"`, `an email address that ends with "@a.org"`},
		{reflect.TypeFor[[]string](), "dive,startswith=a,endswith=b", `["ax"]`, `text that begins with "a" and that ends with "b"`},
	} {
		t.Run(tt.rules, func(t *testing.T) {
			t.Parallel()
			typ := structWith(tt.typ, quoteTag("validate", tt.rules))
			p := mustCompile(t, typ, binding.Input, binding.Options{})
			_, err := p.Decode(t.Context(), []byte(`{"v":`+tt.value+`}`), reflect.New(typ).Elem())
			if err == nil || !strings.Contains(err.Error(), " Want "+tt.want+".") {
				t.Errorf("want %q in: %v", tt.want, err)
			}
			if err != nil && !strings.Contains(err.Error(), "\nTry: {") {
				t.Errorf("no call that passes: %v", err)
			}
		})
	}
}
