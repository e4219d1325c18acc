package framework

import (
	"context"
	"strconv"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

func TestTablesAreBounded(t *testing.T) {
	t.Parallel()
	var v urlElicitations
	send := func(context.Context, protocol.Params) error { return nil }
	v.add("none", nil)
	for i := range maxVisits + 10 {
		v.add(strconv.Itoa(i), send)
		v.add(strconv.Itoa(i), send)
	}
	if len(v.known) != maxVisits || len(v.order) != maxVisits || v.take("9") != nil || v.take("10") == nil || v.take("10") != nil {
		t.Errorf("%d known, %d in order", len(v.known), len(v.order))
	}
	var r sessionRoots
	for i := range maxRootSessions + 10 {
		session := strconv.Itoa(i)
		_, ticket := r.of(session)
		r.keep(session, ticket, []protocol.Root{{URI: session}})
	}
	if len(r.known) != maxRootSessions || len(r.order) != maxRootSessions || r.known["9"] != nil || r.known["10"].roots[0].URI != "10" {
		t.Errorf("%d known, %d in order", len(r.known), len(r.order))
	}
	_, ticket := r.of("20")
	r.forget("20")
	r.keep("20", ticket, []protocol.Root{{URI: "stale"}})
	if got, _ := r.of("20"); got != nil {
		t.Errorf("kept what was said before the change: %v", got)
	}
}
