package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestServerIsKilled is story 18 on stdio: the page says so, and starts the program again when asked to.
func TestServerIsKilled(t *testing.T) {
	b := newTab(t)
	o := weatherOptions(t)
	var running atomic.Pointer[exec.Cmd]
	var starts atomic.Int64
	start := o.Command
	o.Command = func(ctx context.Context) (*exec.Cmd, error) {
		cmd, err := start(ctx)
		running.Store(cmd)
		starts.Add(1)
		return cmd, err
	}
	b.open(serve(t, o))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	if err := running.Load().Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.sees(".banner", "The server has ended.")
	if city := b.eval("document.querySelector('#f_city').value"); city != "Kyoto" {
		t.Errorf("the form has %q", city)
	}
	b.click(".rail a", "cities")
	b.sees("h1", "weather://cities")
	b.settles()
	b.eval("fetch('.').then(r => r.text())") // later than a call would have been sent
	if n := starts.Load(); n != 1 {
		t.Errorf("reading a resource has started the program: %d starts", n)
	}
	b.click(".banner button", "Start again")
	b.sees(".live", "connected")
	b.sees("[aria-label='What the server says']", "Kyoto")
	b.click(".rail a", "forecast")
	b.click("[data-call]", "Call")
	b.sees("table.data", "summary")
}

// TestNoServer opens the page of an address and of a program that never answer: nothing was lost,
// and nothing has ended.
func TestNoServer(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	for want, o := range map[string]page.Options{
		"The server cannot be reached.": {URL: web.URL},
		"The server is not running.":    {Command: func(ctx context.Context) (*exec.Cmd, error) { return exec.CommandContext(ctx, "false"), nil }},
	} {
		b := newTab(t)
		b.open(serve(t, o))
		b.sees(".banner", want)
	}
}

// TestServerIsLost is story 18 over HTTP: a call in flight may or may not have been done, nothing is
// repeated, and the page finds the server again by itself.
func TestServerIsLost(t *testing.T) {
	b := newTab(t)
	var calls atomic.Int64
	begun := make(chan struct{}, 8)
	hang := framework.Tool("hang", func(ctx context.Context, _ none) (string, error) {
		calls.Add(1)
		begun <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}, framework.Describe("Never ends."), framework.ReadOnly())
	listen := func(addr string) *http.Server {
		server, err := framework.New("hanger", "1").Add(hang).Build()
		if err != nil {
			t.Fatal(err)
		}
		var config net.ListenConfig
		l, err := config.Listen(t.Context(), "tcp", addr)
		for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			l, err = config.Listen(t.Context(), "tcp", addr)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Addr: l.Addr().String(), Handler: nethttp.Handler(server), ReadHeaderTimeout: time.Second}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first := listen("127.0.0.1:0")
	b.open(serve(t, page.Options{URL: "http://" + first.Addr + "/mcp"}))
	b.click(".rail a", "hang")
	b.click("[data-call]", "Call")
	<-begun
	_ = first.Close()
	b.sees("[aria-label='What the server says']", "It may or may not have been done.")
	b.sees(".banner", "The connection is lost.")
	listen(first.Addr)
	b.sees(".live", "connected over HTTP")
	b.until(func() bool { return b.text(".banner") == "" }, func() string { return "the banner stays" })
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// TestManyTools: of a thousand tools, only the rows near the window are in the document.
func TestManyTools(t *testing.T) {
	b := newTab(t)
	app := framework.New("many", "1")
	for i := range 1000 {
		app.Add(framework.Tool(fmt.Sprintf("tool_%04d", i), func(context.Context, none) (string, error) { return "done", nil }, framework.Describe("One of many."), framework.ReadOnly()))
	}
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.open(serve(t, page.Options{Host: server}))
	b.sees(".rail", "1000")
	for _, at := range []string{"0", "12000", "1e9"} {
		b.eval("document.querySelector('.rail .list').scrollTop = " + at)
		b.until(func() bool {
			n := b.eval("document.querySelectorAll('.rail .it').length")
			return len(n) <= 2
		}, func() string {
			return b.eval("document.querySelectorAll('.rail .it').length") + " rows are in the document"
		})
	}
	b.sees(".rail", "tool_0999")
	b.fill("#filter", "0500")
	b.sees(".rail .list", "tool_0500")
	if text := b.text(".rail .list"); strings.Contains(text, "tool_0501") {
		t.Errorf("the filter leaves %s", text)
	}
	b.keys(kb.Enter) // opens the first
	b.sees("h1", "tool_0500")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "done")
}

// TestEndedDuringStart: a program that ends right after it was started has ended, although the answer to
// the start comes later.
func TestEndedDuringStart(t *testing.T) {
	b := newTab(t)
	b.atStart(`const plain = window.fetch;
		window.fetch = async (address, ...rest) => {
			const response = await plain(address, ...rest);
			if (address === 'api/connect') await new Promise(go => { window.go = go; });
			if (address === 'api/offers') window.lists = (window.lists ?? 0) + 1;
			return response;
		}`)
	o := weatherOptions(t)
	var running atomic.Pointer[exec.Cmd]
	start := o.Command
	o.Command = func(ctx context.Context) (*exec.Cmd, error) {
		cmd, err := start(ctx)
		running.Store(cmd)
		return cmd, err
	}
	kill := func(lists string) {
		t.Helper()
		b.until(func() bool { return b.eval("window.lists") == lists }, func() string { return "the lists are not read" })
		if err := running.Load().Process.Kill(); err != nil {
			t.Fatal(err)
		}
		b.sees(".banner", "The server has ended.")
	}
	b.open(serve(t, o))
	b.sees(".live", "connected")
	kill("1")
	b.click(".banner button", "Start again")
	b.sees(".live", "connected")
	b.until(func() bool { return b.eval("typeof window.go") == "function" }, func() string { return "no answer to the start" })
	kill("2")
	b.eval("window.go()")
	b.settles()
	b.sees(".banner", "The server has ended.")
}
