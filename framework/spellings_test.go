package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestSpellingsOfAURI: a resource is found under each spelling of its URI, the answer has the
// spelling that was asked for, and a client that watches one hears of changes by it.
func TestSpellingsOfAURI(t *testing.T) {
	t.Parallel()
	app := framework.New("notes", "1")
	app.Add(
		framework.Resource("notes://menü/été", func(context.Context) (string, error) { return "menu", nil }),
		framework.Resource("https://example.com", func(context.Context) (string, error) { return "site", nil }),
		framework.Resource("notes://plain", func(context.Context) (string, error) { return "plain", nil }),
		framework.Resource("notes://PLAIN/%7Ea", func(context.Context) (string, error) { return "tilde", nil }),
	)
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range protocol.Revisions() {
		c, err := client.Connect(t.Context(), client.InMemory(s), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		for uri, want := range map[string]string{
			"notes://menü/été": "menu", "notes://men%C3%BC/%C3%A9t%C3%A9": "menu", "notes://men%c3%bc/été": "menu",
			"https://example.com": "site", "https://example.com/": "site", "HTTPS://EXAMPLE.com:443/": "site",
			"notes://plain": "plain", "notes://pl%61in": "plain", "NOTES://PLAIN/~a": "tilde",
		} {
			raw, err := c.Request(t.Context(), "resources/read", json.RawMessage(`{"uri":"`+uri+`"}`))
			if err != nil || !strings.Contains(string(raw), want) || !strings.Contains(string(raw), `"uri":"`+uri+`"`) {
				t.Errorf("%s: %s: %s %v", rev, uri, raw, err)
			}
			hears(t, c, s, uri)
		}
		for _, uri := range []string{"notes://plain/", "notes://Plain", "notes://plain/~a", "http://example.com", "notes://menu/ete", "notes://plain%2F"} {
			if raw, err := c.Request(t.Context(), "resources/read", json.RawMessage(`{"uri":"`+uri+`"}`)); err == nil {
				t.Errorf("%s: %s: %s", rev, uri, raw)
			}
		}
		_ = c.Close()
	}
}

// hears watches a resource and has the program change it, under its own spelling.
func hears(t *testing.T, c *client.Client, s *framework.Server, uri string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	changes, err := c.Subscribe(ctx, uri)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	for _, own := range []string{"notes://menü/été", "https://example.com", "notes://plain", "notes://PLAIN/%7Ea"} {
		if protocol.NormalURI(own) == protocol.NormalURI(uri) {
			s.ResourceUpdated(ctx, own)
		}
	}
	for changed := range changes {
		if changed != uri {
			t.Errorf("watching %s: told of %s", uri, changed)
		}
		return
	}
	t.Errorf("watching %s: not told", uri)
}

// TestUnsubscribeSpellings: a subscription ends in any spelling of its URI, and the same spelling is
// preferred.
func TestUnsubscribeSpellings(t *testing.T) {
	t.Parallel()
	const own, escaped = "notes://menü/été", "notes://men%C3%BC/%C3%A9t%C3%A9"
	for _, tt := range []struct {
		subscribed []string
		ended      string
		left       []string
	}{
		{[]string{own}, escaped, nil},
		{[]string{escaped}, own, nil},
		{[]string{escaped}, "NOTES://men%c3%bc/été", nil},
		{[]string{own, escaped}, own, []string{escaped}},
		{[]string{own, escaped}, "NOTES://menü/été", nil},
		{[]string{own}, "notes://menü", []string{own}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := build(t, quiet().Add(framework.Resource(own, text)))
			p := dial(t, s, protocol.Rev20251125)
			p.watchResources(tt.subscribed...)
			p.call("resources/unsubscribe", fmt.Sprintf(`{"uri":%q}`, tt.ended)).ok()
			s.ResourceUpdated(t.Context(), own)
			synctest.Wait()
			var got []string
			for _, n := range p.notifications(protocol.NotificationResourceUpdated) {
				var params struct{ URI string }
				_ = json.Unmarshal(n, &params)
				got = append(got, params.URI)
			}
			if !slices.Equal(got, tt.left) {
				t.Errorf("subscribed to %q, ended %q: notified of %q, want %q", tt.subscribed, tt.ended, got, tt.left)
			}
		})
	}
}

// TestCaseOfURIs: what stands in the place of a host may be a value with its own case, which an equivalent
// spelling does not change, and which no other resource takes.
func TestCaseOfURIs(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Resource("notes://index", text), ofMap("notes://{x}").component, ofMap("notes://{x}/~info").component))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for uri, x := range map[string]string{
			"notes://Milk/~info": "Milk", "notes://Milk/%7Einfo": "Milk", "NOTES://Milk": "Milk", "notes://M%69lk": "Milk",
			"notes://Index": "Index", "notes://MENÜ": "MENÜ", "NOTES://MEN%C3%9C": "MENÜ",
		} {
			if got, want := p.read(uri).ok().field("contents.0.text"), `{"x":"`+x+`"}`; got != want {
				t.Errorf("%s: got %v, want %s", uri, got, want)
			}
		}
		for _, uri := range []string{"notes://%zz", "NOTES://%zz", "NOTES://%2%35"} {
			p.read(uri).code(notFoundCode(rev))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := build(t, quiet().Add(ofMap("notes://{x}").component))
		p := dial(t, s, protocol.Rev20251125)
		p.watchResources("notes://Milk")
		s.ResourceUpdated(t.Context(), "notes://milk")
		synctest.Wait()
		if got := p.notifications(protocol.NotificationResourceUpdated); got != nil {
			t.Errorf("a watcher of notes://Milk is notified: %s", got)
		}
	})
}

// TestNormalPrefixes: the literal text that a template begins with is found in normal form, and keeps the
// case that its normal form has.
func TestNormalPrefixes(t *testing.T) {
	t.Parallel()
	for template, uri := range map[string]string{
		"urn:Books:{x}":     "URN:Books:1",
		"file:/Docs/{x}":    "FILE:/Docs/1",
		"https://User@{x}/": "HTTPS://User@1/",
		"Notes://Milk-{x}":  "notes://Milk-1",
		"https://H{x}/":     "https://h1/",
		"https://h:{x}/":    "HTTPS://H:1/",
		"notes://{x}/%7Ea":  "notes://1/~a",
	} {
		p := dial(t, build(t, quiet().Add(ofMap(template).component)), protocol.Rev20251125)
		for _, uri := range []string{uri, strings.NewReplacer("{x}", "1").Replace(template)} {
			if got := p.read(uri).ok().field("contents.0.text"); got != `{"x":"1"}` {
				t.Errorf("%s of %s: got %v", uri, template, got)
			}
		}
	}
}

// TestCompletionOfNothing: a reference without a name is not taken for a prompt.
func TestCompletionOfNothing(t *testing.T) {
	t.Parallel()
	p := dial(t, build(t, quiet().Add(ofMap("notes://{x}").component)), protocol.Rev20251125)
	for _, ref := range []string{`{"type":"ref/resource","uri":""}`, `{"type":"ref/prompt","name":""}`} {
		p.call("completion/complete", `{"ref":`+ref+`,"argument":{"name":"x","value":""}}`).code(-32602).mentions("neither a prompt nor a resource template")
	}
}

// TestSpellingsOfOneTemplate checks that the most specific template serves a URI in every spelling,
// and that its steps see one name.
func TestSpellingsOfOneTemplate(t *testing.T) {
	t.Parallel()
	type ref struct {
		Path string `uri:"path"`
	}
	var names []string
	step := framework.OnRead("names", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error) {
		names = append(names, call.Name)
		return next(ctx, call)
	})
	read := func(by string) func(context.Context, ref) (string, error) {
		return func(_ context.Context, r ref) (string, error) { return by + " " + r.Path, nil }
	}
	app := quiet().Use(step).Add(
		framework.ResourceTemplate("files://{+path}", read("wide")),
		framework.ResourceTemplate("files://secret/{+path}", read("guarded")),
		framework.Resource("files://plan", func(context.Context) (string, error) { return "plan", nil }),
	)
	s := build(t, app)
	for _, rev := range protocol.Revisions() {
		p := dial(t, s, rev)
		for uri, want := range map[string][2]string{ // text and name
			"files://secret/a":     {"guarded a", "files://secret/a"},
			"files://%73ecret/a":   {"guarded a", "files://secret/a"},
			"files://secre%74/%61": {"guarded a", "files://secret/a"},
			"FILES://secret/a":     {"guarded a", "files://secret/a"},
			"files://secret/a%2Cb": {"guarded a,b", "files://secret/a,b"},
			"files://secret/a,b":   {"guarded a,b", "files://secret/a,b"},
			"files://open/m%C3%BC": {"wide open/mü", "files://open/m%C3%BC"},
			"files://open/mü":      {"wide open/mü", "files://open/m%C3%BC"},
			"files://plan":         {"plan", "files://plan"},
			"FILES://pl%61n":       {"plan", "files://plan"},
		} {
			names = nil
			r := p.read(uri).ok()
			if got := r.field("contents.0.text"); got != want[0] || !slices.Equal(names, []string{want[1]}) {
				t.Errorf("%s: %s: got %v under the names %q, want %q", rev, uri, got, names, want)
			}
			if got := r.field("contents.0.uri"); got != uri {
				t.Errorf("%s: %s: the answer has the URI %v", rev, uri, got)
			}
		}
		for _, uri := range []string{"files://./secret/a", "files://secret/./a", "files://%2E/secret/a", "files://open/../secret/a"} {
			p.read(uri).code(notFoundCode(rev))
		}
	}
}

// TestTemplateInAnotherSpelling: the most specific template also serves the normal form of a URI if its own
// prefix is spelled in another way.
func TestTemplateInAnotherSpelling(t *testing.T) {
	t.Parallel()
	type ref struct {
		Path string `uri:"path,slashes"`
	}
	wide := framework.ResourceTemplate("https://{+path}", func(context.Context, ref) (string, error) { return "wide", nil })
	p := dial(t, build(t, quiet().Add(wide, ofMap("https://Example.com/{x}").component)), protocol.Rev20251125)
	for _, uri := range []string{"https://example.com/1", "https://Example.com/1", "HTTPS://EXAMPLE.com:443/%31"} {
		if got := p.read(uri).ok().field("contents.0.text"); got != `{"x":"1"}` {
			t.Errorf("%s: got %v", uri, got)
		}
	}
}

// TestDoubtfulURIs checks that Build warns of URIs that clients with the URL standard of browsers
// never send.
func TestDoubtfulURIs(t *testing.T) {
	t.Parallel()
	type p struct {
		X string `uri:"x" json:",omitempty"`
	}
	fixed := func(uri string) framework.Component {
		return framework.Resource(uri, func(context.Context) (string, error) { return "", nil }, framework.Describe("d"))
	}
	template := func(uri string) framework.Component {
		return framework.ResourceTemplate(uri, func(context.Context, p) (string, error) { return "", nil }, framework.Describe("d"))
	}
	for _, tt := range []struct {
		c    framework.Component
		want string
	}{
		{fixed("https://bücher.example/x"), "Punycode"},
		{fixed("wss://BÜCHER.example"), "Punycode"},
		{template("https://bücher.example/{x}"), "Punycode"},
		{fixed("notes://menü/été"), ""},
		{fixed("https://xn--bcher-kva.example/ü"), ""},
		{fixed("https://Example.com"), ""},
		{fixed("file://localhost/a"), "localhost"},
		{template("file://localhost/{x}"), "localhost"},
		{fixed("file://LocalHost/a"), "localhost"},
		{template("file://localhost{/x}"), "localhost"},
		{template("https://bücher.example{?x}"), "Punycode"},
		{template("notes://a/..{?x}"), ". and .."},
		{template("https://bücher{x}.example/"), ""},
		{fixed("file:///a"), ""},
		{fixed("http://localhost/a"), ""},
		{fixed("https://a/b/../c"), ". and .."},
		{fixed("notes://a/%2e%2E/c"), ". and .."},
		{fixed("notes://a/."), ". and .."},
		{template("notes://a/./{x}"), ". and .."},
		{template("notes://a/..{x}"), ""},
		{template("notes://{x}/.."), ""}, // a fault of the template
		{fixed("notes://a/..b/c..d?e=/../f#/../g"), ""},
		{fixed("urn:a/../b"), ""},
	} {
		s, err := framework.New("x", "1").Add(tt.c).Build()
		if err != nil {
			continue
		}
		warnings := s.Inspect().Warnings
		if (len(warnings) > 0) != (tt.want != "") || tt.want != "" && !strings.Contains(warnings[0].Problem, tt.want) {
			t.Errorf("%s: got %v, want %q", s.Inspect().Components[0].Name, warnings, tt.want)
		}
	}
}
