package reactor

import (
	"io"
	"testing"
)

// A request and its answer allocate nothing, in whichever way a connection waits. Not parallel: it counts what is
// allocated.
func TestAllocations(t *testing.T) {
	for _, m := range []mode{alone, member} {
		t.Run(string(m), func(t *testing.T) {
			c, client := pair(t, listen(t, m))
			question, answer, p := []byte("question"), []byte("answer"), make([]byte, 100)
			exchange := func() {
				if _, err := client.Write(question); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(p); err != nil {
					t.Fatal(err)
				}
				c.loop.gather(2) // so that a member puts its answer down
				if _, err := c.Write(answer); err != nil {
					t.Fatal(err)
				}
				c.loop.write()
				if _, err := io.ReadFull(client, p[:len(answer)]); err != nil {
					t.Fatal(err)
				}
			}
			exchange()
			if got := testing.AllocsPerRun(1000, exchange); got != 0 {
				t.Errorf("%v allocations", got)
			}
		})
	}
}
