package engine

import "testing"

func TestLoners(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	var all []*conn
	for range 100 {
		c := &e.newSessionless().alone
		e.sessionless.add(c)
		all = append(all, c)
	}
	for i, c := range all {
		if known := e.sessionless.appendTo(nil); len(known) != len(all)-i {
			t.Fatalf("%d are known, want %d", len(known), len(all)-i)
		}
		c.remove()
	}
	if known := e.sessionless.appendTo(nil); len(known) != 0 {
		t.Errorf("%d are known that have gone", len(known))
	}
}
