package main

import (
	"slices"
	"testing"
)

// TestTurns: each target has one turn a round, and follows each other one equally often.
func TestTurns(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 7; n++ {
		rounds := n
		if n%2 == 1 {
			rounds = 2 * n
		}
		followed := map[[2]int]int{}
		for round := range rounds {
			turns := turnsOf(round, n)
			for i := range turns[1:] {
				followed[[2]int{turns[i], turns[i+1]}]++
			}
			slices.Sort(turns)
			for i, target := range turns {
				if i != target {
					t.Fatalf("round %d of %d targets: %v", round, n, turns)
				}
			}
		}
		if len(followed) != n*(n-1) {
			t.Errorf("%d targets: only %d of %d pairs", n, len(followed), n*(n-1))
		}
		for pair, times := range followed {
			if times != rounds/n {
				t.Errorf("%d targets: %v follow each other %d times in %d rounds", n, pair, times, rounds)
			}
		}
	}
}
