package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type (
	slashed struct {
		X string `uri:"x,slashes"`
	}
	slashedAndNot struct {
		X string `uri:"x,slashes"`
		Y string `uri:"y"`
	}
)

// built is a template with a handle whose type does not matter.
type built struct {
	component framework.Component
	uri       func(vars map[string]string) string
}

func ofMap(template string) built {
	h := framework.ResourceTemplate(template, func(_ context.Context, vars map[string]string) (map[string]string, error) { return vars, nil })
	return built{h, h.URI}
}

func ofSlashed(template string) built {
	h := framework.ResourceTemplate(template, func(_ context.Context, v slashed) (map[string]string, error) { return map[string]string{"x": v.X}, nil })
	return built{h, func(vars map[string]string) string { return h.URI(slashed{vars["x"]}) }}
}

func ofSlashedAndNot(template string) built {
	h := framework.ResourceTemplate(template, func(_ context.Context, v slashedAndNot) (map[string]string, error) {
		return map[string]string{"x": v.X, "y": v.Y}, nil
	})
	return built{h, func(vars map[string]string) string { return h.URI(slashedAndNot{vars["x"], vars["y"]}) }}
}

var uriWords = []string{
	"a", "b c", "/", "//", "..", ".", `\`, "\n", "\r\n", "\x00", "%", "%2F", "%41", "é", "日本", "?", "#", "&", "=", ",", ";", "+", "-",
	"https://x.example/y?z=1#f", "feature/login", "C:", "",
}

func uriValue(random *rand.Rand) string {
	var s strings.Builder
	for range random.IntN(4) {
		s.WriteString(uriWords[random.IntN(len(uriWords))])
	}
	return s.String()
}

// TestBuiltURIsAreRead: for every operator of templates, a URI that a handle builds is read by the same
// server, as the values that it was built of.
func TestBuiltURIsAreRead(t *testing.T) {
	t.Parallel()
	const whole = true // every text without NUL can be carried
	for _, c := range []struct {
		template string
		of       func(string) built
		names    string
		whole    bool
	}{
		{"s://{x}", ofMap, "x", false},
		{"s://{x}/{y}", ofMap, "xy", false},
		{"s://{x,y}", ofMap, "xy", false},
		{"s://{x}-{y}", ofMap, "xy", false},
		{"s://a{.x,y}", ofMap, "xy", false},
		{"s://a{/x,y}", ofMap, "xy", false},
		{"s://a{/x*}", ofMap, "x", false},
		{"s://a{;x,y}", ofMap, "xy", false},
		{"s://{x}", ofSlashed, "x", false},
		{"s://{x}/{y}", ofSlashedAndNot, "xy", false},
		{"s://a{/x,y}", ofSlashedAndNot, "xy", false},
		{"s://a{;x,y}", ofSlashedAndNot, "xy", false},
		{"s://a{.x}", ofSlashed, "x", false},
		{"s://a{?x,y}", ofMap, "xy", whole},
		{"s://a?k=1{&x,y}", ofMap, "xy", whole},
		{"s://a{?x}{&y}", ofMap, "xy", whole},
		{"s://{+x}", ofMap, "x", false},
		{"s://a{#x}", ofMap, "x", false},
		{"s://{+x}{?y}", ofMap, "xy", false},
		{"s://{+x}/{+y}", ofMap, "xy", false},
		{"s://{+x,y}", ofMap, "xy", false},
		{"s://{+x}{#y}", ofMap, "xy", false},
		{"s://{x:3}-{y:3}", ofMap, "xy", false},
		{"https://{x}/{y}", ofMap, "xy", false},
		{"https://{x}.example.com/{y}", ofSlashedAndNot, "xy", false},
		{"http://{+x}/{y}", ofMap, "xy", false},
		{"WSS://a:{x}/{y}", ofMap, "xy", false},
		{"https://{x}", ofMap, "x", false},
		{"https://{x}{?y}", ofMap, "xy", false},
	} {
		b := c.of(c.template)
		s := build(t, quiet().Add(b.component))
		p := dial(t, s, protocol.Rev20251125)
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // values of a test
		carried := 0
		for range 500 {
			vars := map[string]string{}
			for _, name := range c.names {
				vars[string(name)] = uriValue(random)
			}
			uri := b.uri(vars)
			all := strings.Join([]string{vars["x"], vars["y"]}, "|")
			if uri == "" {
				if c.whole && !strings.Contains(all, "\x00") {
					t.Fatalf("%s builds nothing of %q", c.template, vars)
				}
				continue
			}
			carried++
			var read map[string]string
			r := p.read(uri).ok()
			text, _ := r.field("contents.0.text").(string)
			if err := json.Unmarshal([]byte(text), &read); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(read, vars) {
				t.Fatalf("%s: %q of %q is read as %q", c.template, uri, vars, read)
			}
		}
		if carried < 20 {
			t.Errorf("%s carried %d of 500 values", c.template, carried)
		}
	}
}

// TestSlashesInURIs are values that handles could not build, or that clients could not read.
func TestSlashesInURIs(t *testing.T) {
	t.Parallel()
	search, branch := ofMap("search://items{?q}"), ofSlashed("repo://branches/{x}/head")
	s := build(t, quiet().Add(search.component, branch.component))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for _, q := range []string{"and/or", "https://example.com/a/../b", "one\ntwo", "/etc", `C:\a`, "../x"} {
			if got := p.read(search.uri(map[string]string{"q": q})).ok().field("contents.0.text"); !strings.Contains(fmt.Sprint(got), `"q"`) {
				t.Errorf("%q: %s", q, got)
			}
		}
		for x, uri := range map[string]string{
			"main": "repo://branches/main/head", "feature/login": "repo://branches/feature%2Flogin/head", "a/b/c": "repo://branches/a%2Fb%2Fc/head",
			"a/../b": "", "..": "", "/etc": "", "a\x00": "", "a\nb": "",
		} {
			if got := branch.uri(map[string]string{"x": x}); got != uri {
				t.Errorf("%q: %q, want %q", x, got, uri)
			}
			if uri != "" {
				p.read(uri).ok()
			}
		}
		for _, uri := range []string{"repo://branches/a%2F..%2Fb/head", "repo://branches/%2Fetc/head", "repo://branches/a%5C..%5Cb/head", "repo://branches/a%00/head"} {
			p.read(uri).code(notFoundCode(rev))
		}
	})
}

// TestTemplatesInNormalForm: clients normalize a URI before they send it. The answer has the URI that
// was asked for.
func TestTemplatesInNormalForm(t *testing.T) {
	t.Parallel()
	var app []framework.Component
	for _, template := range []string{"notes://menü/{x}", "https://Example.com/p/{x}", "HTTP://b.example/~u/{x}", "https://{x}/h", "https://c.example:443/{x}", "https://root.example{?x}", "https://segments.example{/x}", "https://Host.{x}/"} {
		app = append(app, ofMap(template).component)
	}
	s := build(t, quiet().Add(app...))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for uri, x := range map[string]string{
			"notes://men%C3%BC/1": "1", "NOTES://men%c3%bc/1": "1",
			"https://example.com/p/1": "1", "HTTPS://EXAMPLE.COM:443/%70/A%2eb": "A.b",
			"http://b.example/%7Eu/1": "1", "http://b.example:80/~u/1": "1",
			"HTTPS://d.example/h":       "d.example",
			"https://c.example/1":       "1",
			"https://root.example/?x=1": "1", "https://segments.example/1": "1", "HTTPS://Segments.example/1": "1",
			"https://host.example/": "example",
		} {
			r := p.read(uri).ok()
			if got := fmt.Sprint(r.field("contents.0.text")); got != `{"x":"`+x+`"}` || r.field("contents.0.uri") != uri {
				t.Errorf("%s: got %s of %v", uri, got, r.field("contents.0.uri"))
			}
		}
		for _, uri := range []string{"https://EXAMPLE.com/p/%2e%2e", "https://EXAMPLE.com/p/a%2fb", "https://EXAMPLE.com/q/1", "https://example.com.evil/p/1"} {
			p.read(uri).mentions("not found")
		}
	})
}

// TestURIsNotReadBack are values that the server would read as others, or refuse.
func TestURIsNotReadBack(t *testing.T) {
	t.Parallel()
	type (
		number struct {
			X int    `uri:"x"`
			Y string `uri:"y"`
		}
		long struct {
			X string `uri:"x" validate:"min=5"`
		}
		defaulted struct {
			X int `uri:"x" json:",omitempty" default:"10"`
		}
		tea struct {
			X string `uri:"x" json:",omitempty" default:"tea"`
		}
		flag struct {
			X *bool `uri:"x" json:",omitempty" default:"true"`
		}
	)
	no := false
	for _, tt := range []struct{ got, want string }{
		{handleOf[number]("s://a/{+x}/{+y}").URI(number{1, "2/z"}), ""},
		{handleOf[number]("s://a/{+x}/{+y}").URI(number{1, "z"}), "s://a/1/z"},
		{handleOf[long]("s://a/{x:3}").URI(long{"abcdef"}), ""},
		{handleOf[long]("s://a/{x:9}").URI(long{"abcdef"}), "s://a/abcdef"},
		{handleOf[long]("s://a/{+x}").URI(long{"%41%42"}), ""},
		{handleOf[long]("s://a/{+x}").URI(long{"a/b%c"}), "s://a/a/b%25c"},
		{handleOf[defaulted]("s://a{?x}").URI(defaulted{}), ""},
		{handleOf[defaulted]("s://a{?x}").URI(defaulted{10}), "s://a?x=10"},
		{handleOf[tea]("s://a{?x}").URI(tea{}), ""},
		{handleOf[flag]("s://a{?x}").URI(flag{}), ""},
		{handleOf[flag]("s://a{?x}").URI(flag{&no}), "s://a?x=false"},
		{ofMap("https://{x}/a").uri(map[string]string{"x": "Milk"}), ""}, // is read as milk
		{ofMap("https://{x}/a").uri(map[string]string{"x": "milk"}), "https://milk/a"},
		{ofMap("https://a/{x}").uri(map[string]string{"x": "Milk"}), "https://a/Milk"},
		{ofMap("s://{x}/a").uri(map[string]string{"x": "Milk"}), "s://Milk/a"},
		{ofMap("https://{x}").uri(map[string]string{"x": "milk"}), "https://milk"},
		{ofMap("https://{x}{?y}").uri(map[string]string{"x": "milk", "y": "1"}), "https://milk?y=1"},
		{ofMap("https://{+x}").uri(map[string]string{"x": "milk"}), ""}, // is read as milk/
		{ofMap("s://a/{x}").uri(map[string]string{"x": "1", "typo": "2"}), ""},
		{ofMap("s://a/{x}").uri(map[string]string{"x": "1"}), "s://a/1"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func handleOf[P any](template string) *framework.TemplateOf[P, string] {
	return framework.ResourceTemplate(template, func(context.Context, P) (string, error) { return "", nil })
}

// TestCompletionsAreReadable: a client that puts a completed value into the template can read the URI.
func TestCompletionsAreReadable(t *testing.T) {
	t.Parallel()
	type strict struct {
		X string `uri:"x" validate:"omitempty,oneof=main feature/login"`
	}
	type open struct {
		X string `json:"x" uri:"x,slashes"`
	}
	offered := []string{"main", "feature/login", "../etc", "a b"}
	hosts := framework.Complete("x", func(context.Context, string, map[string]string) ([]string, error) {
		return []string{"Main", "main"}, nil
	})
	fn := framework.Complete("x", func(context.Context, string, map[string]string) ([]string, error) { return offered, nil })
	s := build(t, quiet().Add(
		framework.ResourceTemplate("own://{x}", func(context.Context, strict) (string, error) { return "", nil }, fn),
		framework.ResourceTemplate("type://{x}", func(context.Context, strict) (string, error) { return "", nil }),
		framework.ResourceTemplate("open://{x}", func(context.Context, open) (string, error) { return "", nil }, fn),
		framework.ResourceTemplate("query://q{?x}", func(context.Context, open) (string, error) { return "", nil }, fn),
		framework.ResourceTemplate("https://{x}/", func(context.Context, open) (string, error) { return "", nil }, hosts),
		framework.ResourceTemplate("wss://{x}", func(context.Context, open) (string, error) { return "", nil }, hosts),
		framework.ResourceTemplate("map://{x}", func(context.Context, map[string]string) (string, error) { return "", nil }),
		framework.Prompt("p", func(context.Context, open) (framework.Messages, error) { return nil, nil }, fn)))
	p := dial(t, s, protocol.Rev20251125)
	for ref, want := range map[string]string{
		`{"type":"ref/resource","uri":"own://{x}"}`:     "[main a b]",
		`{"type":"ref/resource","uri":"type://{x}"}`:    "[main]",
		`{"type":"ref/resource","uri":"open://{x}"}`:    "[main feature/login a b]",
		`{"type":"ref/resource","uri":"query://q{?x}"}`: "[main feature/login ../etc a b]",
		`{"type":"ref/resource","uri":"https://{x}/"}`:  "[main]",
		`{"type":"ref/resource","uri":"wss://{x}"}`:     "[Main main]",
		`{"type":"ref/prompt","name":"p"}`:              "[main feature/login ../etc a b]",
	} {
		if got := fmt.Sprint(completions(p, ref, "x", "", "").field("completion.values")); got != want {
			t.Errorf("%s: got %s, want %s", ref, got, want)
		}
	}
	if !slices.Equal(offered, []string{"main", "feature/login", "../etc", "a b"}) {
		t.Errorf("the function's slice is changed: %q", offered)
	}
}
