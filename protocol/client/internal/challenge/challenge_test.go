package challenge_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client/internal/challenge"
)

func TestC1_Challenges(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	for field, want := range map[string][]params{
		``:                                {},
		`Bearer`:                          {{}},
		`Basic realm="a, b", Bearer x=y`:  {{"realm": "a, b"}, {"x": "y"}},
		`Bearer scope="a b" , error=oops`: {{"scope": "a b", "error": "oops"}},
		`Bearer resource_metadata=https://x.example/y?z=1, scope="s"`: {{"resource_metadata": "https://x.example/y?z=1", "scope": "s"}},
		`bEARER Realm="say \"hi\"", Scope = "q"`:                      {{"realm": `say "hi"`, "scope": "q"}},
		`DPoP algs="ES256", Bearer scope="a", scope="b"`:              {{"algs": "ES256"}, {"scope": "a"}},
		`Negotiate, Bearer x="unclosed`:                               {{}, {}},
		`Bearer x="a"; y="b"`:                                         {{"x": "a"}},
		`Basic dXNlcg, Bearer x=y`:                                    {{}, {"x": "y"}},
		`Negotiate oY/+GwA==, Bearer x=y`:                             {{}, {"x": "y"}},
		`"quoted first"`:                                              {},
		strings.Repeat("Bearer,", 100):                                slices.Repeat([]params{{}}, 16),
	} {
		var got []params
		for _, c := range challenge.Parse(field) {
			got = append(got, c.Params)
		}
		if !slices.EqualFunc(got, want, maps.Equal[params, params]) {
			t.Errorf("%s: %v; want %v", field, got, want)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer scope="a \" b", error=x, DPoP algs="ES256"`)
	f.Add(`,,= "" Bearer ="`)
	f.Fuzz(func(t *testing.T, field string) {
		all := challenge.Parse(field)
		if len(all) > 16 {
			t.Errorf("%d challenges", len(all))
		}
		for _, c := range all {
			if c.Scheme == "" || strings.ContainsAny(c.Scheme, " ,\"=") {
				t.Errorf("the scheme %q", c.Scheme)
			}
		}
	})
}
