package streamable

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPlaces: whatever clients come and go, no one has more than it may, none is forgotten while it has
// one, and those that have none do not pile up.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const most = 3
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for security
	p := places{taken: make(map[string]*int)}
	held := make(map[string][]*int)
	for i := range 100_000 {
		client := fmt.Sprint(random.IntN(2000 * (1 + i/20_000)))
		if has := held[client]; len(has) > 0 && random.IntN(2) == 0 {
			p.leave(has[0])
			if held[client] = has[1:]; len(has) == 1 {
				delete(held, client)
			}
			continue
		}
		n := p.enter(client, most)
		if (n == nil) != (len(held[client]) == most) {
			t.Fatalf("client %s has %d places: entered %v", client, len(held[client]), n != nil)
		}
		if n != nil {
			held[client] = append(held[client], n)
		}
		if limit := 2*len(held) + remembered; len(p.taken) > limit {
			t.Fatalf("%d clients are kept, of whom %d have a place", len(p.taken), len(held))
		}
	}
	for client, has := range held {
		if n := p.taken[client]; n == nil || *n != len(has) {
			t.Errorf("client %s has %d places, and %v are counted", client, len(has), n)
		}
	}
}
