package streamable

import (
	"testing"
	"time"
)

// BenchmarkContention is what all requests of an endpoint share, from all processors at once (-cpu 1,2,...): no lock
// may make it dearer with each. Requests of one client share a counter still.
func BenchmarkContention(b *testing.B) {
	b.Run("places", func(b *testing.B) {
		p := new(streamQuotas)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p.enter("127.0.0.1", 1, 1<<20).leave(1)
			}
		})
	})
	b.Run("waiting", func(b *testing.B) {
		p := newResponseTimers(time.Minute)
		b.RunParallel(func(pb *testing.PB) {
			x := new(postedExchange)
			for pb.Next() {
				p.remove(p.add(x))
			}
		})
	})
}
