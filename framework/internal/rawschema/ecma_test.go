package rawschema_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
)

// ecmaPatterns are such whose text means something else in Go, or nothing.
var ecmaPatterns = []string{
	`^\s$`, `^\S$`, `^[\s]$`, `^[^\s]$`, `^[\S]$`, `^[a\S]$`, `^[\s\S]$`, `^\d$`, `^\D$`, `^\w$`, `^\W$`, `^[\w-]$`, `^[\d\-x]$`, `\bfoo\b`, `\Boo`, `^[\b]$`,
	`^.$`, `^a.b$`, `^a$`, `^(?:a|b)$`, `^(?<year>\d{4})$`, `^(?<a_1>x)(?<b>y)$`, `^\u0041$`, `^\u{1F600}$`, `^\uD83D\uDE00$`, `^[\u00e0-\u00ff]$`, `^\x41$`, `^\cA$`, `^\0$`,
	`^[]$`, `^[^]$`, `^[^a-z]$`, `^[a\]b]$`, `^[[]$`, `^[a^]$`, `^\/$`, `^\$$`, `^\.$`, `^[.]$`, `^\t$`, `^\v$`, `^\f$`, `^\n$`, `^\r$`, `^é$`, `^[é]$`, `^😀$`,
	`^\p{L}+$`, `^\p{Lu}$`, `^\P{L}$`, `^\p{Script=Greek}$`, `^\p{sc=Cyrillic}$`, `^\p{General_Category=Nd}$`, `^[\p{L}\d]$`, `^a{2,3}$`, `^a+?$`, `^(a)(b)?$`, `^[:a]$`,
}

var ecmaTexts = []string{
	"", " ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\u0085", "\u180e", "\u200b",
	"a", "b", "A", "z", "x", "-", "_", "5", "٣", "é", "à", "ÿ", "Ω", "я", "日", "😀", "/", "$", ".", "]", "[", "^", ":", "\x00", "\x01", "\x08", "\\",
	"foo", "foo bar", "xfoo", "oo", "a\nb", "a\u2028b", "axb", "a\n", "2026", "xy", "aa", "aaa", "aaaa", "ab", "abc",
}

// TestPatternsAreOfECMA compares the patterns with the engine of Node, which knows ECMA-262.
func TestPatternsAreOfECMA(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node to compare with")
	}
	in, _ := json.Marshal(map[string]any{"patterns": ecmaPatterns, "texts": ecmaTexts}) //nolint:errchkjson // texts
	cmd := exec.CommandContext(t.Context(), node, "-e", `
		const {patterns, texts} = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(JSON.stringify(patterns.map(p => { const re = new RegExp(p, "u"); return texts.map(x => re.test(x)); })));`)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want [][]bool
	if err := json.Unmarshal(out, &want); err != nil || len(want) != len(ecmaPatterns) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, pattern := range ecmaPatterns {
		quoted, _ := json.Marshal(pattern) //nolint:errchkjson // a text
		schema, err := rawschema.Compile([]byte(`{"pattern":` + string(quoted) + `}`))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for j, text := range ecmaTexts {
			value, _ := json.Marshal(text) //nolint:errchkjson // a text
			if _, faults := schema.Check(value, 1); (faults == 0) != want[i][j] {
				t.Errorf("%s on %q: %t, want %t", pattern, text, faults == 0, want[i][j])
			}
		}
	}
}

// TestPatternsThatCannotBe: what Go cannot do, or ECMA-262 has not, does not compile, with the reason.
func TestPatternsThatCannotBe(t *testing.T) {
	t.Parallel()
	for pattern, reason := range map[string]string{
		`^(?=a)`: "looks ahead or behind", `(?!a)`: "looks ahead or behind", `(?<=a)b`: "looks ahead or behind", `(?<!a)b`: "looks ahead or behind",
		`(a)\1`: `refers back to a group`, `(?<x>a)\k<x>`: "refers back to a group", `\Aa`: `no escape \A`, `a\z`: `no escape \z`, `\Qa\E`: `no escape \Q`, `\a`: `no escape \a`,
		`\pL`: "in braces", `(?i)a`: "no group that begins with (?i", `(?P<x>a)`: "no group that begins with (?P", `\uD83D`: "half a pair", `\u12`: "lacks digits", `\x1`: "lacks digits",
		`[a`: "does not end", `a\`: "nothing follows", `\c1`: "no letter", `\p{Nothing}`: "Nothing", `a**`: "invalid nested repetition", `\01`: "refers back",
	} {
		quoted, _ := json.Marshal(pattern) //nolint:errchkjson // a text
		if _, err := rawschema.Compile([]byte(`{"pattern":` + string(quoted) + `}`)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %s", pattern, err, reason)
		}
	}
}
