package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

func TestShop(t *testing.T) {
	testkit.BothEras(t, NewApp, func(t *testing.T, s *testkit.Session) {
		out, err := testkit.CallAs[FindOut](s, "orders_find", map[string]any{"limit": 2})
		if err != nil || len(out.Orders) != 2 || !out.More {
			t.Fatalf("orders_find: %+v, %v", out, err)
		}
		s.CallRaw("orders_find", `{"limit":"many"}`).IsError().Mentions("/limit", "1 to 100")
		s.CallRaw("orders_ship", `{"id":"zz"}`).IsError().Mentions("there is no order")
		s.CallRaw("orders_ship", `{"id":"c3"}`).IsError().Mentions("/id", "shipped already")
		s.CallRaw("orders_ship", `{"id":"a1"}`).OK()
		s.CallRaw("orders_pack", `{}`).OK().Mentions("packed 3 orders")
		s.CallRaw("add", `{"a":2,"b":40}`).OK().Mentions("42")
	})
}
