package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// ownOnly lets callers subscribe to the URIs that end with their name.
func ownOnly(ctx context.Context, uri string) error {
	switch name := transport.PrincipalFrom(ctx).Subject; {
	case strings.HasSuffix(uri, "/broken"):
		panic("the database is away")
	case !strings.HasSuffix(uri, "/"+name):
		return framework.NotFoundf("nothing of %s there", name)
	case framework.ServerFrom(ctx) == nil:
		return fmt.Errorf("the context is not that of a handler")
	}
	return nil
}

func drawers(t *testing.T) *framework.Server {
	t.Helper()
	type key struct {
		Owner string `uri:"owner"`
	}
	return build(t, quiet().Add(
		framework.Resource("drawer://all", text),
		framework.Resource("drawer://all/of/bob", text, framework.MaySubscribe(ownOnly)),
		framework.ResourceTemplate("drawer://all/{owner}", func(context.Context, key) (string, error) { return "", nil }, framework.MaySubscribe(ownOnly)),
	))
}

// TestMaySubscribe: who is not let in hears nothing of a resource, also not of its name
// through one above it.
func TestMaySubscribe(t *testing.T) {
	t.Parallel()
	for _, rev := range []protocol.Revision{protocol.Rev20241105, protocol.Rev20251125, protocol.Rev20260728} {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := drawers(t)
				told := make(map[string][]string)
				peers := make(map[string]*peer)
				for _, who := range []string{"alice", "bob"} {
					p := dial(t, s, rev, as(&framework.Principal{Subject: who}))
					uris := []string{"drawer://all", "drawer://all/" + who}
					if !p.handshake() {
						uris = append(uris, "drawer://all/of/bob", "drawer://all/bob", "drawer://all/broken")
					}
					p.watchResources(uris...)
					peers[who] = p
				}
				synctest.Wait()
				for _, uri := range []string{"drawer://all/alice", "drawer://all/bob", "drawer://all/of/bob"} {
					s.ResourceUpdated(t.Context(), uri)
					synctest.Wait()
				}
				for who, p := range peers {
					for _, n := range p.notifications(protocol.NotificationResourceUpdated) {
						var params struct{ URI string }
						_ = json.Unmarshal(n, &params)
						told[who] = append(told[who], strings.TrimPrefix(params.URI, "drawer://"))
					}
				}
				want := "map[alice:[all/alice all all] bob:[all all/bob all]]"
				if !peers["bob"].handshake() {
					want = "map[alice:[all/alice all all] bob:[all all/bob all/of/bob]]"
				}
				if got := fmt.Sprint(told); got != want {
					t.Errorf("told of %s, want %s", got, want)
				}
			})
		})
	}
}

// TestMaySubscribeRefuses as a read of the resource would be.
func TestMaySubscribeRefuses(t *testing.T) {
	t.Parallel()
	p := dial(t, drawers(t), protocol.Rev20251125, as(&framework.Principal{Subject: "alice"}))
	if refused := p.subscribe("drawer://all/bob").code(-32002).mentions("nothing of alice there"); !strings.Contains(string(refused.Error.Data), `"drawer://all/bob"`) {
		t.Errorf("the data of the refusal: %s", refused.Error.Data)
	}
	p.subscribe("drawer://all/broken").code(-32603).omits("database")
	p.subscribe("drawer://all/alice").ok()
	p.read("drawer://all/bob").ok() // that is for the handler to say
}

// TestMaySubscribeSpellings: another spelling of a URI gets around neither the function nor the template or
// resource that it belongs to.
func TestMaySubscribeSpellings(t *testing.T) {
	t.Parallel()
	type name struct {
		Name string `uri:"name"`
	}
	note := func(context.Context, name) (string, error) { return "", nil }
	diary := func(prefix string) framework.Option {
		return framework.MaySubscribe(func(ctx context.Context, uri string) error {
			if owner, ok := strings.CutPrefix(uri, prefix); ok && owner != transport.PrincipalFrom(ctx).Subject {
				return framework.NotFoundf("no such note")
			}
			return nil
		})
	}
	for _, tt := range []struct {
		of         string
		components []framework.Component
		changed    string
		refused    []string
	}{
		{
			"a template",
			[]framework.Component{framework.ResourceTemplate("notes://{name}", note, diary("notes://diary-"))},
			"notes://diary-alice",
			[]string{"notes://diary-alice", "notes://diary%2Dalice", "notes://d%69ary-alice", "NOTES://diary-alice", "Notes://diary%2dalice"},
		},
		{
			"a template before another",
			[]framework.Component{
				framework.ResourceTemplate("notes://diary-{name}", note, diary("notes://diary-")),
				framework.ResourceTemplate("notes://{name}", note),
			},
			"notes://diary-alice",
			[]string{"notes://diary-alice", "notes://diary%2Dalice", "NOTES://diary%2Dalice"},
		},
		{
			"a template that is not in normal form",
			[]framework.Component{framework.ResourceTemplate("https://Example.com/diary-{name}", note, diary("https://Example.com/diary-"))},
			"https://Example.com/diary-alice",
			[]string{"https://Example.com/diary-alice", "https://example.com/diary-alice", "https://example.com:443/diary-alice"},
		},
		{
			"a resource before a template",
			[]framework.Component{
				framework.Resource("notes://diär-alice", text, diary("notes://diär-")),
				framework.ResourceTemplate("notes://{name}", note),
			},
			"notes://diär-alice",
			[]string{"notes://diär-alice", "notes://di%C3%A4r-alice", "NOTES://di%C3%A4r%2Dalice"},
		},
	} {
		t.Run(tt.of, func(t *testing.T) {
			t.Parallel()
			bothEras(t, func(t *testing.T, rev protocol.Revision) {
				synctest.Test(t, func(t *testing.T) { refusesSpellings(t, rev, tt.components, tt.changed, tt.refused) })
			})
		})
	}
}

// refusesSpellings has alice and mallory subscribe to spellings of a URI of alice's.
func refusesSpellings(t *testing.T, rev protocol.Revision, app []framework.Component, changed string, spellings []string) {
	t.Helper()
	s := build(t, quiet().Add(app...))
	alice, mallory := dial(t, s, rev, as(&framework.Principal{Subject: "alice"})), dial(t, s, rev, as(&framework.Principal{Subject: "mallory"}))
	alice.watchResources(spellings...)
	if mallory.handshake() {
		for _, uri := range spellings {
			mallory.subscribe(uri)
		}
	} else {
		mallory.watchResources(spellings...)
	}
	synctest.Wait()
	s.ResourceUpdated(t.Context(), changed)
	synctest.Wait()
	for _, n := range mallory.notifications(protocol.NotificationResourceUpdated) {
		t.Errorf("mallory is notified of %s", n)
	}
	if got := alice.notifications(protocol.NotificationResourceUpdated); len(got) != len(spellings) {
		t.Errorf("alice is notified of %s, want one for each of %s", got, spellings)
	}
}

// TestMaySubscribeBelow: a URI of a template with MaySubscribe is not revealed to subscribers of its parent,
// although another template would serve it if this one did not exist.
func TestMaySubscribeBelow(t *testing.T) {
	t.Parallel()
	type key struct {
		Owner string `uri:"owner"`
	}
	drawer := func(context.Context, key) (string, error) { return "", nil }
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		synctest.Test(t, func(t *testing.T) {
			s := build(t, quiet().Add(
				framework.Resource("drawer://all", text),
				framework.ResourceTemplate("drawer://all/of-{owner}", drawer, framework.MaySubscribe(ownOnly)),
				framework.ResourceTemplate("drawer://all/{owner}", drawer),
			))
			p := dial(t, s, rev, as(&framework.Principal{Subject: "alice"}))
			p.watchResources("drawer://all")
			synctest.Wait()
			for _, uri := range []string{"drawer://all/of-bob", "drawer://all/of%2Dbob"} {
				s.ResourceUpdated(t.Context(), uri)
				synctest.Wait()
			}
			for _, n := range p.notifications(protocol.NotificationResourceUpdated) {
				if strings.Contains(string(n), "bob") {
					t.Errorf("alice is notified of %s", n)
				}
			}
		})
	})
}
