package load

import "time"

// Round is what one round of requests came to.
type Round struct {
	Requests int // answered, rightly or not
	Wrong    int
	Err      error // the first of what was wrong
	Progress Progress
	Latency  Latency
	Took     time.Duration
}

// PerSecond is how many requests were answered a second.
func (r *Round) PerSecond() float64 { return float64(r.Requests) / r.Took.Seconds() }

// add adds what another connection did at the same time.
func (r *Round) add(other *Round) {
	r.Requests += other.Requests
	r.Wrong += other.Wrong
	r.Progress.Add(other.Progress)
	r.Latency.add(&other.Latency)
	if r.Err == nil {
		r.Err = other.Err
	}
}

func (r *Round) wrong(err error) {
	r.Wrong++
	if r.Err == nil {
		r.Err = err
	}
}
