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

// TestAddressKey: limits count an IPv4 client by its address, and an IPv6 client by its /64, whatever
// the port.
func TestAddressKey(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:4711":             "192.0.2.1",
		"192.0.2.2:4711":             "192.0.2.2",
		"192.0.2.1":                  "192.0.2.1", // without a port, from middleware such as RealIP of chi
		"[::ffff:192.0.2.1]:80":      "192.0.2.1",
		"::ffff:192.0.2.1":           "192.0.2.1",
		"2001:db8:1:2:ff::9":         "2001:db8:1:2::/64",
		"[2001:db8:1:2::1]:80":       "2001:db8:1:2::/64",
		"[2001:db8:1:2:ff::9]:81":    "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:80":       "2001:db8:1:3::/64",
		"[fe80::1%eth0]:80":          "fe80::/64",
		"@":                          "@", // a Unix socket has no address
		"a host by another name:443": "a host by another name",
	} {
		if got := addressKey(remote); got != want {
			t.Errorf("%s is counted as %q, want %q", remote, got, want)
		}
	}
}

// TestStreamsOfASession: a session has as many open streams as the limit says, and a closed one makes
// room, also when they come at once.
func TestStreamsOfASession(t *testing.T) {
	t.Parallel()
	const most = 3
	var (
		a       = NewAdmitter(nil, Config{MaxStreams: most})
		s       session
		entered atomic.Int32
		all     sync.WaitGroup
	)
	for range 50 {
		all.Go(func() {
			if a.enter(&quotaOwner{session: &s}) {
				entered.Add(1)
			}
		})
	}
	all.Wait()
	one := quotaOwner{session: &s}
	if n := entered.Load(); n != most || a.enter(&one) {
		t.Errorf("%d streams entered, want %d", n, most)
	}
	one.quota.leave(1)
	if !a.enter(&one) || a.enter(&one) {
		t.Error("a closed stream makes room for one")
	}
}
