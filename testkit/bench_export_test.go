package testkit

import "time"

// Percentile of durations, as Bench finds it.
func Percentile(all []time.Duration, share float64) time.Duration {
	var seen latencies
	for _, d := range all {
		seen.add(d)
	}
	return seen.at(share)
}
