package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// racers is the number of goroutines that want the same.
const racers = 64

// race runs all goroutines at once and waits for them.
func race(run func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		all.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	all.Wait()
}

// oneWins checks that exactly one of many concurrent claims succeeds, and that the others receive
// the value of the winner.
func (c claims) oneWins(key string) {
	c.t.Helper()
	var (
		held [racers]string
		mine [racers]bool
	)
	race(func(i int) { held[i], mine[i] = c.claim(key, fmt.Sprint("value ", i), long) })
	winner := slices.Index(mine[:], true)
	if winner < 0 {
		c.t.Errorf("%s: no node has the claim", key)
		return
	}
	want := fmt.Sprint("value ", winner)
	c.want(key, want)
	for i := range racers {
		switch {
		case i == winner:
		case mine[i]:
			c.t.Errorf("%s: %d and %d have the claim", key, winner, i)
		case held[i] != want:
			c.t.Errorf("%s: %d has the claim, %d saw %q", key, winner, i, held[i])
		}
	}
}

func claimsRace(_ *testing.T, c claims) {
	for round := range 20 {
		c.oneWins(fmt.Sprint("key ", round))
	}
}

func claimsSwapRace(t *testing.T, c claims) {
	c.take("k", "begin")
	old := "begin"
	for round := range 20 {
		var swapped [racers]bool
		race(func(i int) { swapped[i] = c.swap("k", old, fmt.Sprint(round, " by ", i), long) })
		winner := slices.Index(swapped[:], true)
		if winner < 0 || slices.Contains(swapped[winner+1:], true) {
			t.Fatalf("round %d: not one swap but %v", round, swapped)
		}
		old = fmt.Sprint(round, " by ", winner)
		c.want("k", old)
	}
}

func claimsAddRace(t *testing.T, c claims) {
	const each = 10
	var sums [racers][each]int64
	race(func(i int) {
		for n := range each {
			sums[i][n] = c.add("k", 1, long)
		}
	})
	var seen [racers*each + 1]bool
	for i := range sums {
		for _, sum := range sums[i] {
			if sum < 1 || sum > racers*each || seen[sum] {
				t.Fatalf("a sum of %d, or twice", sum)
			}
			seen[sum] = true
		}
		if !slices.IsSorted(sums[i][:]) {
			t.Errorf("the sums that one saw: %d", sums[i])
		}
	}
	c.wantSum("k", 0, racers*each)
}

// claimsExclusion: a claim is a lock if its holder deletes it.
func claimsExclusion(t *testing.T, c claims) {
	const workers, sections = 4, 25
	var (
		inside atomic.Int64
		all    sync.WaitGroup
	)
	begun := time.Now()
	for w := range workers {
		all.Go(func() {
			for done := 0; done < sections && !t.Failed(); {
				if c.section(fmt.Sprint("worker ", w), &inside) {
					done++
				} else if time.Since(begun) > late {
					t.Errorf("%d of %d claims within %v", done, sections, late)
				}
			}
		})
	}
	all.Wait()
	c.wantNothing("k")
}

// claimsLeaving: a claim succeeds, or returns the value of the holder, which is deleted at the same time.
func claimsLeaving(_ *testing.T, c claims) {
	for i := range 100 {
		key := fmt.Sprint("k", i)
		c.claim(key, "holder", long)
		var leaving sync.WaitGroup
		leaving.Go(func() { c.removeIf(key, "holder") })
		held, mine := c.claim(key, "next", long)
		leaving.Wait()
		if !mine && held != "holder" {
			c.t.Fatalf("Claim is not mine, and held is %q, want the value of the holder", held)
		}
	}
}

// section enters and leaves the section that the claim of "k" guards, unless another worker is inside.
func (c claims) section(me string, inside *atomic.Int64) bool {
	c.t.Helper()
	if _, mine := c.claim("k", me, long); !mine {
		c.removeIf("k", "nobody")
		time.Sleep(100 * time.Microsecond) // yield the processor to the holder
		return false
	}
	if n := inside.Add(1); n != 1 {
		c.t.Errorf("%d inside", n)
	}
	if !c.swap("k", me, me, long) {
		c.t.Error("the holder cannot renew")
	}
	inside.Add(-1)
	c.removeIf("k", me)
	if held, _ := c.get("k"); held == me {
		c.t.Error("it is still there after Delete")
	}
	return true
}
