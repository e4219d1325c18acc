package boltstore

import "bytes"

// upgradeEvents sorts the streams of an older file into size classes. Before format 4, all sizes
// were in one order.
func upgradeEvents(t *txn) {
	x := eventsIn(t, nil)
	t.empty(keptName)
	x.kept, x.sums = t.bucket(keptName), sums{}
	c := x.streams.b.Cursor()
	for key, _ := c.First(); key != nil; key, _ = c.Next() {
		if s := findStream(x.streams, key); !s.emptied {
			x.kept.put(s.keptKey(), bytes.Clone(key))
			x.sums[s.size()] += s.cost()
		}
	}
	x.save()
}
