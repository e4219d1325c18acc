package browser_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
)

// atStart runs a script in each document of the tab from now on, before the scripts of the page.
func (b *tab) atStart(script string) {
	b.t.Helper()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// TestQuestionDuringReload: a question that comes while the page reads its state is shown once, although
// the state and the events both have it.
func TestQuestionDuringReload(t *testing.T) {
	b := newTab(t)
	b.atStart(`const plain = window.plain = window.fetch;
		window.fetch = async (address, ...rest) => {
			const response = await plain(address, ...rest);
			if (address === 'api/server' && !window.go) await new Promise(go => { window.go = go; });
			return response;
		}`)
	b.open(serve(t, specimen(t)))
	b.until(func() bool { return b.eval("typeof window.go") == "function" }, func() string { return "the page does not read its state" })
	asks := `(async (method, path, body) => (await plain('api/' + path, { method, body, headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } })).text())`
	b.eval(asks + `('POST', 'calls', '{"method":"tools/call","name":"order","arguments":{"item":"tea"}}')`)
	b.until(func() bool { return b.eval(asks+`('GET', 'questions')`) != "[]\n" }, func() string { return "the server asks nothing" })
	b.eval("window.go(), location.hash = '#/tools/order'")
	b.sees(".asks", "Order tea for")
	b.eval(asks + `('POST', 'calls', '{"method":"ping"}').then(text => { location.hash = '#/compare/' + JSON.parse(text).call; })`)
	b.sees("body", "at two revisions") // a later event has come
	b.eval("location.hash = '#/tools/order'")
	b.sees(".asks", "Order tea for")
	if n := b.eval("document.querySelectorAll('.asks .answer').length"); n != "1" {
		t.Errorf("the question is shown %s times", n)
	}
}

// TestAnswerIsNotKept: a page that does not keep the answer of an earlier call any more says so.
func TestAnswerIsNotKept(t *testing.T) {
	b := newTab(t)
	b.atStart(`const plain = window.fetch, gone = '{"error":"this call is not kept any more"}';
		window.fetch = (address, ...rest) => /^api\/calls\/\w+$/.test(address) && !window.kept ? Promise.resolve(new Response(gone, { status: 404 })) : plain(address, ...rest)`)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "this call is not kept any more")
	b.eval("window.kept = true, location.hash = '#/'")
	b.sees(".cat", "forecast")
	b.click(".cat a", "forecast") // opening it asks again
	b.sees("table.data", "summary")
}

// TestReloadOfTemplate checks that the values in the form of a template survive a reload, as in the
// form of a tool.
func TestReloadOfTemplate(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "week")
	b.fill("#v-city", "Kyoto")
	b.sees("main", "weather://Kyoto")
	b.run(chromedp.Reload())
	b.sees("main", "weather://Kyoto")
	b.keys("e")
	b.keys(kb.Enter, input.ModifierCtrl)
	b.sees("h1", "weather://Kyoto")
}

// TestStateBeforeFirstFrame: a page that has read the whole state before the browser draws its first frame
// shows the state. Effects wait for a frame or a timer, and both may be late on a slow machine.
func TestStateBeforeFirstFrame(t *testing.T) {
	b := newTab(t)
	b.atStart(`window.requestAnimationFrame = () => 0;
		const plain = window.setTimeout;
		window.setTimeout = (done, ms = 0) => plain(done, Math.max(ms, 1000));`)
	b.open(serve(t, taker(t, "pick", `{"type":"object","properties":{"a":{"type":"string"}}}`)))
	b.sees(".live", "connected in memory")
	b.sees(".rail", "pick")
}

// TestReloadOfComparison: a comparison survives a reload, without another call.
func TestReloadOfComparison(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys(kb.Enter)
	b.sees("table.data", "summary")
	b.click(".side a", "Compare revisions")
	b.choose(".head .row label:nth-of-type(1) select", "2025-06-18")
	b.click("[data-call]", "Compare")
	b.sees("main", "The answers are equal")
	b.atStart("window.sent = []; const plain = window.fetch; window.fetch = (path, ...rest) => { sent.push(path); return plain(path, ...rest); }")
	b.run(chromedp.Reload())
	b.sees("main", "The answers are equal")
	b.sees("table.cmp th", "2025-06-18")
	if left := b.eval("document.querySelector('.head select').value"); left != "2025-06-18" {
		t.Errorf("the left revision is %s", left)
	}
	if sent := b.eval("sent.join()"); strings.Contains(sent, "compare") {
		t.Errorf("the reload asks for %s", sent)
	}
}

// TestLargeComparison: a comparison of large answers is shown, and does not take the room in which the tab keeps
// the fields of forms.
func TestLargeComparison(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "library", framework.Tool("book", func(context.Context, none) (string, error) { return strings.Repeat("word ", 1<<17), nil },
		framework.Describe("Returns a long text."), framework.ReadOnly()))))
	b.click(".rail a", "book")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "word word")
	b.click(".side a", "Compare revisions")
	b.click("[data-call]", "Compare")
	b.sees("main", "The answers are equal")
	if kept := b.eval("sessionStorage.getItem('kagami-compare' + location.pathname).length"); kept != "0" {
		t.Errorf("the tab keeps %s characters", kept)
	}
}

// TestReloadOfTask: the choice "As a task" survives a reload.
func TestReloadOfTask(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "errand")
	b.sees("h1", "errand")
	for _, want := range []string{"true", "false"} {
		b.click(".side form > .opt input", "")
		b.run(chromedp.Reload())
		checked := func() string { return b.eval("document.querySelector('.side form > .opt input')?.checked") }
		b.until(func() bool { return checked() == want }, func() string { return "after a reload: " + checked() + ", want " + want })
	}
}

// TestReloadOfLargeFile: a file that the tab cannot keep does not take the other fields with it.
func TestReloadOfLargeFile(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "send_parcel")
	b.fill("#f_to_city", "Kyoto")
	b.eval(`(e => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array(4e6)], 'letter.bin')); e.files = data.files; e.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('#f_letter'))`)
	b.sees("form", "letter.bin, 4000000 bytes")
	b.run(chromedp.Reload())
	b.until(func() bool { return b.value("#f_to_city") == "Kyoto" }, func() string { return "after a reload the field has " + b.value("#f_to_city") })
}
