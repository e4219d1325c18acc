package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// TestEscapeClosesDialogs: Escape closes each dialog, also after a click beside its controls.
func TestEscapeClosesDialogs(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys(kb.Enter)
	b.sees("table.data", "summary")
	gone := func() bool { return b.eval("document.querySelectorAll('[role=dialog]').length") == "0" }
	for _, d := range []struct{ key, beside string }{
		{"y", ".sheet h2"}, {"y", ".bar .at"}, {"?", ".pal h2"}, {"k", ".pal .pf"},
	} {
		b.eval("document.activeElement.blur()")
		if d.key == "k" {
			b.click(".bar .find", "Go to or do")
		} else {
			b.keys(d.key)
		}
		b.sees("[role=dialog]", "")
		b.until(func() bool { return b.eval("document.querySelectorAll('"+d.beside+"').length") == "1" }, func() string { return d.beside })
		b.mouse(d.beside, 1)
		b.keys(kb.Escape)
		b.until(gone, func() string { return "a click on " + d.beside + " and Escape leave the dialog open" })
	}
	b.keys("y") // the keys of the page work again
	b.sees(".sheet h2", "Copy this call")
	b.mouse(".sheet h2", 1)
	b.keys(kb.Tab)
	if inside := b.eval("document.activeElement.closest('.sheet') !== null"); inside != "true" {
		t.Error("Tab leaves the sheet")
	}
}

// TestQuestionBehindPalette: a question does not take the focus from a dialog, where the user types.
func TestQuestionBehindPalette(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "order")
	b.sees("h1", "order")
	b.keys("k", input.ModifierCtrl)
	b.sees(".pal", "order")
	b.eval(`fetch('api/calls', { method: 'POST', body: '{"method":"tools/call","name":"order","arguments":{"item":"tea"}}', headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } }).then(r => r.text())`)
	b.sees(".asks", "Order tea for")
	if inside := b.eval("document.activeElement.closest('.pal') !== null"); inside != "true" {
		t.Error("the question has the focus")
	}
}

// TestPing: the palette's ping shows how long the server took.
func TestPing(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".cat", "order")
	b.keys("k", input.ModifierCtrl)
	b.fill(".pal input", "ping")
	b.keys(kb.Enter)
	b.sees(".toast", "The server has answered after")
}
