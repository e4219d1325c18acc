package framework_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
)

// hanging is a store that never returns when the outcome of a round is recorded. A database without
// timeouts does the same if the network drops packets.
type hanging struct{ *memory.Store }

func (h hanging) Claims() claim.Store { return hangingClaims{h.Store.Claims()} }

type hangingClaims struct{ claim.Store }

func (c hangingClaims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if strings.HasPrefix(key, "round/") {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return c.Store.Swap(ctx, key, old, value, life)
}

// TestStoreHangs: an answer does not wait forever for a store that hangs.
func TestStoreHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, quiet(framework.WithStore(hanging{memory.New()})).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			return answer.Name, err
		}, framework.Describe("d"))))
		p := dial(t, s, protocol.Rev20260728, withCaps(canElicit))
		state := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result).RequestState
		begun := time.Now()
		got := p.call("tools/call", fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, state, accepted)).text()
		if waited := time.Since(begun); got != "Ada" || waited > time.Minute {
			t.Errorf("%s after %v", got, waited)
		}
	})
}
