package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/kagami-mcp/kagami/framework"
)

// mouse clicks where the middle of an element is. count is 1, or 2 for the second click of a double
// click.
func (b *tab) mouse(selector string, count int64) {
	b.t.Helper()
	var at []float64
	b.until(func() bool { // a picture that comes in, or the page itself, may still move it
		at = nil
		b.run(chromedp.Evaluate(`(async () => { const e = [...document.querySelectorAll('`+selector+`')].find(e => e.offsetParent); if (!e) return null; e.scrollIntoView({block: 'center', behavior: 'instant'});
			const place = () => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }, before = place();
			await new Promise(done => setTimeout(done, 100)); const at = place();
			return e.contains(document.elementFromPoint(...at)) && String(at) === String(before) ? at : null; })()`, &at, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		return at != nil
	}, func() string { return selector + " does not stay in its place" })
	for _, kind := range []input.MouseType{input.MousePressed, input.MouseReleased} {
		b.run(input.DispatchMouseEvent(kind, at[0], at[1]).WithButton(input.Left).WithClickCount(count))
	}
}

// calls waits until n earlier calls are listed.
func (b *tab) calls(n string) {
	b.t.Helper()
	listed := func() string { return b.eval("document.querySelectorAll('.calls ol li').length") }
	b.until(func() bool { return listed() == n }, func() string { return listed() + " calls, want " + n })
}

// TestDoubleClick: a double click is one call, and two separate clicks are two.
func TestDoubleClick(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".rail", "destroy")
	b.eval(`(() => { window.posts = []; const own = fetch; window.fetch = (path, o) => { if (o?.method === 'POST') posts.push(path); return own(path, o); }; })()`)
	sent := func(want string) {
		t.Helper()
		b.calls(want)
		if got := b.eval("posts.length"); got != want {
			t.Fatalf("%s calls were sent, want %s", got, want)
		}
	}
	b.click(".rail a", "picture")
	b.sees("h1", "picture")
	b.mouse("[data-call]", 1)
	b.mouse("[data-call]", 2)
	sent("1")
	b.mouse(".calls .acc", 1)
	b.calls("2")
	b.mouse(".calls .acc", 2)
	b.mouse("[data-call]", 1)
	sent("3")
}

// TestDoubleClickOnDestructive: a double click is the first press; from the third call on it is one call.
func TestDoubleClickOnDestructive(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "destroy")
	b.sees("h1", "destroy")
	for _, calls := range []string{"0", "1"} {
		b.mouse("[data-call]", 1)
		b.mouse("[data-call]", 2)
		b.sees("[data-call]", "may destroy")
		b.calls(calls)
		b.mouse("[data-call]", 1)
	}
	b.calls("2")
	b.mouse("[data-call]", 1)
	b.mouse("[data-call]", 2)
	b.calls("3")
	b.mouse("[data-call]", 1)
	b.calls("4")
	b.click(".rail a", "Overview")
	b.click(".rail a", "destroy")
	b.sees("h1", "destroy")
	b.mouse("[data-call]", 1)
	b.sees("[data-call]", "may destroy") // a screen that was opened again asks again
	b.calls("4")
}

// TestDoubleClickOnAnswer: the second click of a double click does not answer the next question.
func TestDoubleClickOnAnswer(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "twice", func(ctx context.Context, _ none) (string, error) {
		for _, message := range []string{"Delete the draft?", "Delete the rest?"} {
			if _, err := framework.Elicit[none](ctx, message); err != nil {
				return "", err
			}
		}
		return "All is gone.", nil
	})))
	b.click(".rail a", "twice")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Delete the draft?")
	b.mouse(".asks [type=submit]", 1)
	b.sees(".asks", "Delete the rest?")
	for _, button := range []string{"submit", "button"} {
		b.mouse(".asks [type="+button+"]", 2)
	}
	b.eval("fetch('.').then(r => r.text())") // later than an answer would have been sent
	b.sees(".asks", "Delete the rest?")
	b.mouse(".asks [type=submit]", 1)
	b.sees("[aria-label='What the server says']", "All is gone.")
}

// TestFastJSON: a text that does not parse is not called as the text before, however fast it was typed.
func TestFastJSON(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "unlock")
	b.click(".side [role=tab]", "JSON")
	b.run(chromedp.WaitVisible("#json", chromedp.ByQuery))
	b.eval(`(e => { for (const text of ['{"door":"east"}', '{"door":"east"']) { e.value = text; e.dispatchEvent(new Event('input', { bubbles: true })); } })(document.querySelector('#json'))`)
	b.sees(".side .err", "line 1")
	b.settles()
	b.click("[data-call]", "Call")
	b.sees(".toast", "The JSON does not parse yet")
	b.click(".side [role=tab]", "Form") // it would show the text before
	b.sees(".side [aria-selected=true]", "JSON")
	if text := b.value("#json"); text != `{"door":"east"` {
		t.Errorf("the JSON view has %s", text)
	}
	b.calls("0")
}
