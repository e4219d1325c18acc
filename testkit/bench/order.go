package main

// turnsOf is the order in which n targets have their turns in a round. Over n rounds (two
// times n, if it is odd) each follows each other one equally often, so that what one leaves
// behind, in caches or on the heap of a peer that still collects, is no other's alone.
// E. J. Williams, "Experimental designs balanced for the estimation of residual effects
// of treatments", 1949.
func turnsOf(round, n int) []int {
	turns := make([]int, n)
	for i := range turns {
		from := (i + 1) / 2 // 0, 1, n-1, 2, n-2, …: each step is of another length
		if i%2 == 0 {
			from = n - from
		}
		at := i
		if n%2 == 1 && round/n%2 == 1 {
			at = n - 1 - i
		}
		turns[at] = (from + round) % n
	}
	return turns
}
