package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestShop(t *testing.T) {
	testkit.BothEras(t, NewApp, func(t *testing.T, s *testkit.Session) {
		out, err := testkit.CallAs[FindOut](s, "orders_find", map[string]any{"limit": 2})
		if err != nil || len(out.Orders) != 2 || !out.More {
			t.Fatalf("orders_find: %+v, %v", out, err)
		}
		s.CallRaw("orders_find", `{"limit":"many"}`).IsError().Mentions("/limit", "1 to 100")
		s.CallRaw("orders_ship", `{"id":"zz"}`).IsError().Mentions("there is no order", "orders_find")
		s.CallRaw("orders_ship", `{"id":"c3"}`).IsError().Mentions("/id", "shipped already")
		s.CallRaw("orders_ship", `{"id":"a1"}`).OK()
		s.CallRaw("orders_pack", `{}`).OK().Mentions("packed 3 orders")
		s.CallRaw("add", `{"a":2,"b":40}`).OK().Mentions("42")
		s.CallRaw("till_take_cash", `{"cents":500}`).OK().Mentions("500")
		s.CallRaw("till_take_cash", `{"cents":0}`).IsError().Mentions("/cents", "at least 1")
		s.CallRaw("till_sales_tax", `{"cents":119}`).OK().Mentions("19")
		s.CallRaw("till_sales_tax", `{"cents":1000001}`).IsError().Mentions("bookkeeper")
	})
}

// Handlers run concurrently: the race detector checks them.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	shop := &Shop{orders: map[string]Order{"a1": {ID: "a1", Status: "open"}}}
	var shipped atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := shop.Find(t.Context(), FindIn{Limit: 1}); err != nil {
				t.Error(err)
			}
			if _, err := shop.Ship(t.Context(), ShipIn{ID: "a1"}); err == nil {
				shipped.Add(1)
			}
		})
	}
	all.Wait()
	if n := shipped.Load(); n != 1 {
		t.Errorf("shipped %d times", n)
	}
}

func TestTypesOfOtherPackages(t *testing.T) {
	watch := framework.Tool("watch", Watch, framework.Describe("Watch the log."))
	s := testkit.New(t, framework.New("log", "1.0.0", framework.WithStrict()).Add(watch))
	s.CallRaw("watch", `{"least":"WARN"}`).OK().Mentions("from WARN to ERROR")
	s.CallRaw("watch", `{"least":"WARNING"}`).IsError().Mentions("/least", `"WARN"`)
	s.CallRaw("watch", `{"least":"INFO","most":8}`).IsError().Mentions("/most", "Want text")
	testkit.Mistakes(t, watch)
}

// TestReport compares the report on the page with a real one.
func TestReport(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = framework.New("faulty", "1").Add(framework.Func("add", Add, framework.Describe("Add two numbers."))).Build()
	report, marshalErr := json.MarshalIndent(err, "", "  ")
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	line := regexp.MustCompile(`main\.go:\d+`)
	if want := line.ReplaceAllString(string(report), "main.go:N"); !strings.Contains(line.ReplaceAllString(string(page), "main.go:N"), want) {
		t.Errorf("the page does not show\n%s", report)
	}
}
