package streamable

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// TestPlaces: whatever clients come and go, no one has more than it may, none is forgotten while it has
// one, and those that have none do not pile up.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const most = 3
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for security
	p := new(streamQuotas)
	held := make(map[string][]*streamQuota)
	busy, peak := 0, 0 // clients that have a place
	for i := range 100_000 {
		client := fmt.Sprint(random.IntN(2000 * (1 + i/20_000)))
		has := held[client]
		if len(has) > 0 && random.IntN(2) == 0 {
			has[0].leave(1)
			if held[client] = has[1:]; len(has) == 1 {
				busy--
			}
			continue
		}
		at := p.enter(client, 1, most)
		if (at == nil) != (len(has) == most) {
			t.Fatalf("client %s has %d places: entered %v", client, len(has), at != nil)
		}
		if at == nil {
			continue
		}
		if held[client] = append(has, at); len(has) == 0 {
			busy++
			peak = max(peak, busy)
		}
		if p.count > max(remembered, 2*peak) {
			t.Fatalf("%d clients are known, of whom at most %d had a place at once", p.count, peak)
		}
	}
	known := 0
	for range p.known.Range {
		known++
	}
	if known != p.count {
		t.Errorf("%d clients are known, and %d are counted", known, p.count)
	}
	for client, has := range held {
		if n := p.enter(client, 1, most+1).open.Load(); n != int64(len(has))+1 {
			t.Errorf("client %s has %d places, and %d are counted", client, len(has), n-1)
		}
	}
}

// TestPlacesAtOnce: the same holds for requests that come at the same time, while clients are forgotten.
func TestPlacesAtOnce(t *testing.T) {
	t.Parallel()
	const most = 4
	p := new(streamQuotas)
	var open [3]atomic.Int64
	var all sync.WaitGroup
	for i := range 3 * 2 * most {
		all.Go(func() {
			for j := range 2000 {
				if at := p.enter(fmt.Sprint("passing ", i, j), 1, most); at == nil {
					t.Error("a client without a stream was refused")
				} else {
					at.leave(1)
				}
				at := p.enter(fmt.Sprint("staying ", i%len(open)), 1, most)
				if at == nil {
					continue
				}
				if n := open[i%len(open)].Add(1); n > most {
					t.Errorf("a client has %d places", n)
				}
				open[i%len(open)].Add(-1)
				at.leave(1)
			}
		})
	}
	all.Wait()
	for i := range open {
		for range most {
			if p.enter(fmt.Sprint("staying ", i), 1, most) == nil {
				t.Error("a place is counted that nobody has")
			}
		}
	}
}
