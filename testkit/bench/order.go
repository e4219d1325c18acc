package main

// turnsOf returns the order of the n targets in a round. Over n rounds (two times n, if n is odd)
// each target follows each other one equally often. A target leaves effects behind, in caches or in
// a heap that is still being collected, and they then affect all others equally. See E. J.
// Williams, "Experimental designs balanced for the estimation of residual effects of treatments",
// 1949.
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
