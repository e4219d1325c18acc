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
