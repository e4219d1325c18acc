package browser_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestBurst: 100,000 notifications of one call leave a document of the usual size, a heap of less than
// 60 MB, and a page that answers keys.
func TestBurst(t *testing.T) {
	const most, mostNodes = 60 << 20, 3000
	server, err := app.New().Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "everything"}))
	b.sees(".rail", "burst")
	b.run(chromedp.Reload()) // of a browser that is warm
	b.sees(".rail", "burst")
	t.Logf("first paint after %s ms", b.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime.toFixed(0)"))
	b.click(".rail a", "burst")
	b.sees("h1", "burst")
	b.fill("#f_n", "50000")
	b.click("[data-call]", "Call")
	answered := func() bool {
		return strings.Contains(b.text("[aria-label='What the server says']"), "Sent 50000 of each.")
	}
	for until := time.Now().Add(2 * time.Minute); !answered() && time.Now().Before(until); {
		time.Sleep(100 * time.Millisecond)
	}
	b.sees("[aria-label='What the server says']", "Sent 50000 of each.")
	b.eval("document.activeElement.blur()")
	b.keys("/")
	b.until(func() bool { return b.eval("String(document.activeElement.id)") == "filter" }, func() string { return "the key / does not lead to the filter" })
	b.eval("location.hash = '#/wire'")
	b.sees(".axis", "tools/call")
	var nodes int
	var used float64
	b.run(chromedp.Evaluate("document.querySelectorAll('*').length", &nodes), chromedp.ActionFunc(func(ctx context.Context) error {
		if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
			return err
		}
		var err error
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	t.Logf("%d elements, %.1f MB", nodes, used/(1<<20))
	if nodes > mostNodes || used > most {
		t.Errorf("%d elements, at most %d; %.1f MB of heap, at most %d", nodes, mostNodes, used/(1<<20), most>>20)
	}
}
