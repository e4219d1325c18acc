package authserver

import (
	"sync"
	"time"
)

// maxVisits is the maximum number of visits that a process keeps at a time. A visit has at most some
// 8 KB, so visits take at most a quarter of the default store.
const maxVisits = 1 << 13

// openVisits lists the visits of this process by the address that began them. Anybody can begin a
// visit, so without a bound a flood of them would fill the store, which also has the grants. It does
// not refuse new visits, because that would lock out everybody else. It drops the oldest visit of the
// address that has the most. A person with one visit is thus safe as long as an attacker has two per
// address. add changes the lists; mu guards them.
type openVisits struct {
	mu    sync.Mutex // guards all below
	by    map[string][]openVisit
	total int
}

// openVisit is a visit in the list of an address. The lists are in the order of their beginning.
type openVisit struct {
	id    string
	until time.Time
}

// add lists a new visit. If there are too many, it removes one from the lists and returns its ID, so
// that the caller deletes the record.
func (o *openVisits) add(who, id string, until, now time.Time) (dropped string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string][]openVisit{}
	}
	if o.total >= maxVisits {
		o.expire(now)
	}
	if o.total >= maxVisits {
		most := o.most()
		dropped = o.by[most][0].id
		o.shorten(most, 1)
	}
	o.by[who] = append(o.by[who], openVisit{id, until})
	o.total++
	return dropped
}

// expire removes visits that the store has forgotten.
func (o *openVisits) expire(now time.Time) {
	for who, list := range o.by {
		n := 0
		for n < len(list) && !now.Before(list[n].until) {
			n++
		}
		o.shorten(who, n)
	}
}

// most returns the address with the most visits. Of several, it is the one whose first visit is the
// oldest.
func (o *openVisits) most() (most string) {
	var top []openVisit
	for who, list := range o.by {
		if len(list) > len(top) || len(list) == len(top) && list[0].until.Before(top[0].until) {
			most, top = who, list
		}
	}
	return most
}

// shorten removes the first n visits of an address.
func (o *openVisits) shorten(who string, n int) {
	o.total -= n
	if o.by[who] = o.by[who][n:]; len(o.by[who]) == 0 {
		delete(o.by, who)
	}
}
