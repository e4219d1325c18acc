package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// subsets are all of them, the empty one first.
func subsets(of []string) [][]string {
	all := [][]string{{}}
	for _, each := range of {
		for _, one := range slices.Clone(all) {
			all = append(all, append(slices.Clone(one), each))
		}
	}
	return all
}

// guardedKind makes components of one kind, and uses them.
type guardedKind struct {
	component func(id string, opts ...framework.Option) framework.Component
	list      [3]string // method, member and key; empty: it is in no list
	listed    func(id string) string
	use       []func(p *peer, id string) reply // all ways to reach it
}

func guardedKinds() map[string]guardedKind {
	type key struct {
		X string `uri:"x"`
	}
	same := func(prefix string) func(string) string { return func(id string) string { return prefix + id } }
	return map[string]guardedKind{
		"tool": {
			func(id string, opts ...framework.Option) framework.Component {
				return framework.Tool(id, none, opts...)
			},
			[3]string{"tools/list", "tools", "name"},
			same(""),
			[]func(*peer, string) reply{func(p *peer, id string) reply { return p.tool(id, "{}") }},
		},
		"resource": {
			func(id string, opts ...framework.Option) framework.Component {
				return framework.Resource("r://"+id, text, opts...)
			},
			[3]string{"resources/list", "resources", "uri"},
			same("r://"),
			[]func(*peer, string) reply{
				func(p *peer, id string) reply { return p.read("r://" + id) },
				func(p *peer, id string) reply { return p.subscribe("r://" + id) },
			},
		},
		"template": {
			func(id string, opts ...framework.Option) framework.Component {
				return framework.ResourceTemplate("t-"+id+"://{x}", func(context.Context, key) (string, error) { return "", nil }, opts...)
			},
			[3]string{"resources/templates/list", "resourceTemplates", "uriTemplate"},
			func(id string) string { return "t-" + id + "://{x}" },
			[]func(*peer, string) reply{
				func(p *peer, id string) reply { return p.read("t-" + id + "://1") },
				func(p *peer, id string) reply { return p.subscribe("t-" + id + "://1") },
				func(p *peer, id string) reply {
					return completions(p, `{"type":"ref/resource","uri":"t-`+id+`://{x}"}`, "x", "", "")
				},
			},
		},
		"prompt": {
			func(id string, opts ...framework.Option) framework.Component {
				return framework.Prompt(id, func(context.Context, struct {
					X string `json:"x,omitempty"`
				},
				) (framework.Messages, error) {
					return nil, nil
				}, opts...)
			},
			[3]string{"prompts/list", "prompts", "name"},
			same(""),
			[]func(*peer, string) reply{
				func(p *peer, id string) reply { return p.call("prompts/get", fmt.Sprintf(`{"name":%q}`, id)) },
				func(p *peer, id string) reply {
					return completions(p, `{"type":"ref/prompt","name":"`+id+`"}`, "x", "", "")
				},
			},
		},
		"method": {
			func(id string, opts ...framework.Option) framework.Component {
				return framework.Method("example.com/"+id, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }, opts...)
			},
			[3]string{},
			same("example.com/"),
			[]func(*peer, string) reply{func(p *peer, id string) reply { return p.call("example.com/"+id, "") }},
		},
	}
}

// subscribe asks for changes of a resource, where the revision has that as a call.
func (p *peer) subscribe(uri string) reply {
	p.t.Helper()
	if !p.handshake() {
		return p.read(uri)
	}
	return p.call("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
}

// all pages of a list.
func (p *peer) all(method, member, key string) []string {
	p.t.Helper()
	var names []string
	for params := ""; ; {
		r := p.call(method, params).ok()
		names = append(names, r.names(member, key)...)
		next, more := r.field("nextCursor").(string)
		if !more {
			return names
		}
		params = fmt.Sprintf(`{"cursor":%q}`, next)
	}
}

// Lists and calls agree, for every role and every kind of component: what is listed
// can be used, and what is not is answered like what is not there, without a word of
// what else is hidden.
func TestListsAndCallsAgree(t *testing.T) {
	t.Parallel()
	scopes := []string{"alpha", "beta", "gamma"}
	kinds := guardedKinds()
	app := quiet(framework.WithPageSize(3))
	need := map[string][]string{} // by id
	for _, set := range subsets(scopes) {
		id := strings.Join(append([]string{"needs"}, set...), "-")
		need[id] = set
		for _, k := range kinds {
			app.Add(k.component(id, framework.Scopes(set...)))
		}
	}
	// Scopes of the group and its members accumulate.
	need["grouped"] = []string{"alpha", "gamma"}
	for name, k := range kinds {
		if name == "tool" || name == "prompt" { // whose names a group would change
			app.Add(k.component("grouped", framework.Scopes("gamma"), framework.Scopes("alpha")))
			continue
		}
		app.Add(framework.Group("", k.component("grouped", framework.Scopes("gamma"))).With(framework.Scopes("alpha")))
	}
	s := build(t, app)
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		for _, has := range append(subsets(scopes), nil) {
			var opts []peerOption
			if has != nil {
				opts = append(opts, as(&framework.Principal{Subject: "u", Scopes: has}))
			}
			p := dial(t, s, rev, opts...)
			for name, k := range kinds {
				agree(t, p, fmt.Sprintf("%s for %v", name, has), k, need, has)
			}
		}
	})
}

func agree(t *testing.T, p *peer, what string, k guardedKind, need map[string][]string, has []string) {
	t.Helper()
	var want, hidden []string
	for id, set := range need {
		if slices.ContainsFunc(set, func(scope string) bool { return !slices.Contains(has, scope) }) {
			hidden = append(hidden, k.listed(id))
		} else {
			want = append(want, k.listed(id))
		}
	}
	if k.list[0] != "" {
		listed := p.all(k.list[0], k.list[1], k.list[2])
		slices.Sort(listed)
		if slices.Sort(want); !slices.Equal(listed, want) {
			t.Errorf("%s: listed %v, not %v", what, listed, want)
		}
	}
	for id := range need {
		for n, use := range k.use {
			got, absent := use(p, id), use(p, "absent")
			switch {
			case (got.Error == nil) != slices.Contains(want, k.listed(id)):
				t.Errorf("%s: %s, use %d: %+v", what, id, n, got.Error)
			case got.Error != nil && !sameButFor(got.Error, absent.Error, id, hidden):
				t.Errorf("%s: %s, use %d: it is %+v, but what is not there is %+v", what, id, n, got.Error, absent.Error)
			}
		}
	}
}

// sameButFor compares errors but for the name that was asked for, and for a hint at what
// is near to it: nothing hidden may be in that.
func sameButFor(got, absent *wireError, id string, hidden []string) bool {
	message, hint, _ := strings.Cut(got.Message, " Did you mean ")
	plain, _, _ := strings.Cut(absent.Message, " Did you mean ")
	for _, other := range hidden {
		if strings.Contains(hint, strconv.Quote(other)) {
			return false
		}
	}
	masked := func(text, name string) string {
		return strings.TrimSuffix(strings.ReplaceAll(text, name, "_"), ".")
	}
	return got.Code == absent.Code && masked(message, id) == masked(plain, "absent") &&
		masked(string(got.Data), id) == masked(string(absent.Data), "absent")
}

// TestUpdatesHideWhatScopesHide checks that a client that watches a resource is notified of the
// resources below it. If these need scopes, the notification does not contain their URIs, unless
// the client watches them.
func TestUpdatesHideWhatScopesHide(t *testing.T) {
	t.Parallel()
	type key struct {
		X string `uri:"x"`
	}
	below := func(context.Context, key) (string, error) { return "", nil }
	parts := []framework.Component{
		framework.Resource("r://all", text),
		framework.Resource("r://all/open", text),
		framework.Resource("r://all/secret", text, framework.Scopes("admin")),
		framework.ResourceTemplate("r://all/secrets/{x}", below, framework.Scopes("admin")),
		framework.ResourceTemplate("r://all/both/{x}", below),
		framework.Resource("r://all/both/a", text, framework.Scopes("admin")),
	}
	for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		for who, watched := range map[string][]string{"anybody": {"r://all"}, "admin": {"r://all", "r://all/secret"}} {
			t.Run(rev.String()+" "+who, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := build(t, quiet().Add(parts...))
					p := dial(t, s, rev, as(&framework.Principal{Subject: who, Scopes: []string{who}}))
					p.watchResources(watched...)
					synctest.Wait()
					var told []string
					for _, uri := range []string{"r://all/open", "r://all/secret", "r://all/secrets/x", "r://all/both/a", "r://all/none"} {
						s.ResourceUpdated(t.Context(), uri)
						synctest.Wait()
					}
					for _, n := range p.notifications(protocol.NotificationResourceUpdated) {
						var params struct{ URI string }
						_ = json.Unmarshal(n, &params)
						told = append(told, params.URI)
					}
					want := "[r://all/open r://all r://all r://all r://all/none]"
					if who == "admin" {
						want = "[r://all/open r://all/secret r://all r://all r://all/none]"
					}
					if got := fmt.Sprint(told); got != want {
						t.Errorf("told of %s, want %s", got, want)
					}
				})
			})
		}
	}
}

// watchResources subscribes, until the test ends.
func (p *peer) watchResources(uris ...string) {
	p.t.Helper()
	if p.handshake() {
		for _, uri := range uris {
			p.subscribe(uri).ok()
		}
		return
	}
	filter, _ := json.Marshal(map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}})
	go p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":%s}`, p.params("subscriptions/listen", string(filter))))
	p.t.Cleanup(func() {
		p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen"}}`)
	})
}

// TestMostSpecificTemplateDecidesScopes checks that no less specific template serves a resource to callers
// without the resource's scopes.
func TestMostSpecificTemplateDecidesScopes(t *testing.T) {
	t.Parallel()
	type key struct {
		X string `uri:"x"`
	}
	wide := func(_ context.Context, k key) (string, error) { return "wide " + k.X, nil }
	s := build(t, quiet().Add(
		framework.ResourceTemplate("r://{+x}", wide),
		framework.ResourceTemplate("r://secret/{x}", wide, framework.Scopes("admin")),
		framework.Resource("r://plan", text, framework.Scopes("admin")),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev, as(&framework.Principal{Subject: "ann", Scopes: []string{"user"}}))
		if got := p.read("r://open/a").ok().field("contents.0.text"); got != "wide open/a" {
			t.Errorf("without scopes: %v", got)
		}
		for _, uri := range []string{"r://plan", "r://secret/a", "r://pl%61n", "r://%73ecret/a"} {
			p.read(uri).code(notFoundCode(rev))
		}
		admin := dial(t, s, rev, as(&framework.Principal{Subject: "ann", Scopes: []string{"admin"}}))
		if got := admin.read("r://secret/a").ok().field("contents.0.text"); got != "wide a" {
			t.Errorf("with the scope: %v", got)
		}
	})
}
