package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestQuestionDuringReading: a question that comes while the page reads its state after a break is shown.
func TestQuestionDuringReading(t *testing.T) {
	b := newTab(t)
	b.atStart(`const plain = window.plain = window.fetch;
		window.fetch = async (address, options = {}) => {
			const abort = new AbortController();
			if (window.go && address === 'api/offers') window.readOn = true;
			const response = await plain(address, { ...options, signal: abort.signal });
			if (address.startsWith('api/events')) window.stream = abort;
			if (window.cut && address === 'api/questions') await new Promise(go => { window.go = go; });
			return response;
		}`)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "order")
	b.until(func() bool { return b.eval("typeof window.stream") == "object" }, func() string { return "no events" })
	b.eval("window.cut = true, stream.abort()")
	b.until(func() bool { return b.eval("typeof window.go") == "function" }, func() string { return "the page does not read its state" })
	asks := `(async (method, path, body) => (await plain('api/' + path, { method, body, headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } })).text())`
	b.eval(asks + `('POST', 'calls', '{"method":"tools/call","name":"order","arguments":{"item":"tea"}}')`)
	b.until(func() bool { return b.eval(asks+`('GET', 'questions')`) != "[]\n" }, func() string { return "the server asks nothing" })
	time.Sleep(200 * time.Millisecond) // the event reaches the browser
	b.eval("window.go()")
	b.until(func() bool { return b.eval("window.readOn") == "true" }, func() string { return "the page does not go on" })
	b.sees(".asks", "Order tea for")
}

// TestStatusOnWire: a request that takes long gets its HTTP status, too.
func TestStatusOnWire(t *testing.T) {
	slow := framework.Tool("slow", func(context.Context, none) (string, error) {
		time.Sleep(500 * time.Millisecond)
		return "It was slow.", nil
	}, framework.Describe("Takes long."), framework.ReadOnly())
	server, err := framework.New("slow", "1.0").Add(slow).Build()
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(nethttp.Handler(server))
	t.Cleanup(site.Close)
	b := newTab(t)
	b.open(serve(t, page.Options{URL: site.URL}))
	b.sees(".live", "connected")
	b.eval(`fetch('api/calls', { method: 'POST', body: '{"method":"tools/call","name":"slow"}', headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } }).then(() => { location.hash = '#/wire'; })`)
	b.sees(".axis", "result of tools/call")
	requests := `[...document.querySelectorAll('.say.l')].filter(e => e.innerText.includes('tools/call')).map(e => e.innerText.includes('HTTP 200')).join()`
	b.until(func() bool { return b.eval(requests) == "true" }, func() string { return "a request has no status:\n" + b.text(".axis") })
}

// TestAnswerOnWire: an answer to the server gets no HTTP status, and the page does not wait for one.
func TestAnswerOnWire(t *testing.T) {
	b := newTab(t)
	o := elsewhere(t)
	o.Revision = protocol.Rev20251125
	b.open(serve(t, o))
	b.click(".cat a", "order")
	b.fill("#f_item", "tea")
	b.click("[data-call]", "Call")
	b.click(".asks .opt", "yes")
	b.click(".asks .go button", "Answer")
	b.sees(".stat", "Result")
	b.click(".rail a", "picture")
	last := `performance.getEntriesByType('resource').filter(e => e.name.includes('frames?')).at(-1).name`
	var read []string
	for range 3 {
		b.click("[data-call]", "Call")
		b.sees(".stat", "Result")
		time.Sleep(300 * time.Millisecond) // the page reads the frames
		read = append(read, b.eval(last))
	}
	if read[0] == read[2] {
		t.Errorf("the same frames are read again and again: %s", read)
	}
}

// TestNoKeyBehindLogin: a page behind the login of a program explains why it gives no key.
func TestNoKeyBehindLogin(t *testing.T) {
	p, err := page.New(specimen(t))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/look/", http.StripPrefix("/look", p.Handler()))
	site := httptest.NewServer(mux)
	t.Cleanup(func() { _ = p.Close(); site.Close() })
	b := newTab(t)
	b.open(site.URL + "/look/")
	b.sees(".live", "connected")
	b.keys("k", input.ModifierCtrl)
	b.fill(".pal input", "another")
	b.keys(kb.Enter)
	b.sees(".toast", "this page needs no key")
	b.mu.Lock()
	b.faults = nil // the answer has status 404
	b.mu.Unlock()
}

// TestDefaultDate: a field for a date has no placeholder, so its label has the default.
func TestDefaultDate(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "plan", `{"type":"object","properties":{"day":{"type":"string","format":"date","default":"2026-07-28"}}}`)))
	b.click(".rail a", "plan")
	b.sees("[id='f_day-l']", "2026-07-28 is the default")
}

// TestNamedVariables: a template expands {;a,b} with the names of the variables (RFC 6570).
func TestNamedVariables(t *testing.T) {
	server, err := framework.New("maps", "1.0").Add(framework.ResourceTemplate("maps://tile{;x,y}",
		func(_ context.Context, in struct {
			X string `uri:"x"`
			Y string `uri:"y"`
		},
		) (string, error) {
			return "The tile at " + in.X + ", " + in.Y + ".", nil
		}, framework.Name("tile"), framework.Describe("A tile."))).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "./maps"}))
	b.click(".rail a", "tile")
	b.fill("#v-x", "1")
	b.fill("#v-y", "2")
	b.keys(kb.Enter)
	b.sees("h1", "maps://tile;x=1;y=2")
	b.sees("[aria-label='What the server says']", "The tile at 1, 2.")
}

// TestLogOfThisTab: messages that came before the tab was opened are not in its log, and it does not
// deny them.
func TestLogOfThisTab(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.eval("location.hash = '#/log'")
	b.sees("main", "The server has logged nothing since this tab was opened.")
}

// TestUpdateBelow: an update of what is below a watched URI is read again.
func TestUpdateBelow(t *testing.T) {
	var reads atomic.Int64
	server, err := framework.New("shelf", "1.0").Add(framework.Resource("shelf://books", func(context.Context) (string, error) {
		return fmt.Sprintf("Read %d times.", reads.Add(1)), nil
	}, framework.Name("books"), framework.Describe("Books."))).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "./shelf"}))
	b.click(".rail a", "books")
	b.sees("[aria-label='What the server says']", "Read 1 times.")
	b.click(".go button", "Watch")
	b.sees(".go", "Stop watching")
	says := func() string { return b.text("[aria-label='What the server says']") }
	b.until(func() bool { // the subscription may come later
		server.ResourceUpdated(t.Context(), "shelf://books/one")
		time.Sleep(50 * time.Millisecond)
		return !strings.Contains(says(), "Read 1 times.")
	}, says)
}

// TestLateCompletion: values for an earlier text do not take the place of those for the text that is there.
func TestLateCompletion(t *testing.T) {
	type in struct {
		City string `uri:"city"`
	}
	held := make(chan struct{})
	server, err := framework.New("late", "1.0").Add(framework.ResourceTemplate("late://{city}",
		func(_ context.Context, in in) (string, error) { return in.City, nil }, framework.Name("late"), framework.Describe("A city."),
		framework.Complete("city", func(_ context.Context, typed string, _ map[string]string) ([]string, error) {
			if typed == "K" {
				<-held
			}
			return []string{typed + "yoto"}, nil
		}))).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.atStart(`window.answers = 0;
		const plain = window.fetch;
		window.fetch = async (address, ...rest) => {
			const response = await plain(address, ...rest);
			if (address === 'api/complete') setTimeout(() => window.answers++, 50); // after the page has drawn it
			return response;
		}`)
	b.open(serve(t, page.Options{Host: server, Where: "./late"}))
	b.click(".rail a", "late")
	b.fill("#v-city", "K")
	time.Sleep(300 * time.Millisecond) // the page asks
	b.keys("o")
	values := func() string { return b.eval("document.querySelector('#c-city').innerHTML") }
	b.until(func() bool { return strings.Contains(values(), "Koyoto") }, values)
	close(held)
	b.until(func() bool { return b.eval("window.answers") == "2" }, func() string { return "no second answer" })
	if got := values(); !strings.Contains(got, "Koyoto") {
		t.Errorf("the values are %s", got)
	}
}

// TestAnswerAfterABreak: an answer that could not be read while the page had lost its program is read when
// the program is there again.
func TestAnswerAfterABreak(t *testing.T) {
	b := newTab(t)
	b.atStart(`const plain = window.fetch;
		window.fetch = async (address, options = {}) => {
			if (/^api\/calls\/\w+$/.test(address) && !window.back) return Promise.reject(new TypeError('no network'));
			const abort = new AbortController();
			const response = await plain(address, { ...options, signal: abort.signal });
			if (address.startsWith('api/events')) window.stream = abort;
			return response;
		}`)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "The page could not read this answer.")
	b.eval("window.back = true, stream.abort()")
	b.sees("table.data", "summary")
}

// TestNewProgramBehindLogin: if the program behind a login has started again, the page says that the user
// has to load it again, and speaks of no key.
func TestNewProgramBehindLogin(t *testing.T) {
	var shown atomic.Pointer[page.Page]
	start := func() *page.Page {
		p, err := page.New(specimen(t))
		if err != nil {
			t.Fatal(err)
		}
		return shown.Swap(p)
	}
	start()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { shown.Load().Handler().ServeHTTP(w, r) }))
	t.Cleanup(func() { _ = shown.Load().Close(); site.Close() })
	b := newTab(t)
	b.open(site.URL)
	b.sees(".live", "connected")
	_ = start().Close()
	b.sees("main", "load this page again")
	if text := b.text("body"); strings.Contains(text, "key") {
		t.Errorf("the page says %s", text)
	}
	b.mu.Lock()
	b.faults = nil // the answers have status 403
	b.mu.Unlock()
	b.run(chromedp.Reload())
	b.sees(".live", "connected")
}

// TestRefusedWatch: the page says why a server does not let it watch a resource.
func TestRefusedWatch(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "shelf", framework.Resource("shelf://books", func(context.Context) (string, error) { return "Books.", nil }, framework.Name("books"), framework.Describe("Books."),
		framework.MaySubscribe(func(context.Context, string) error { return framework.UserErrorf("nobody may watch the books") })))))
	for rev, why := range map[string]string{"2026-07-28": "acknowledge", "2025-11-25": "nobody may watch the books"} {
		b.choose("[aria-label='Revision to speak']", rev)
		b.sees(".live", "connected")
		b.click(".rail a", "books")
		b.click(".go button", "Watch")
		b.sees("[aria-label='What you say']", why)
	}
}
