package browser_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "directory for pictures of every screen")

// screen is one screen of the page.
type screen struct {
	name    string
	weather bool // else the specimen
	reach   func(b *tab)
}

// open shows the screen in a new tab.
func (s *screen) open(t *testing.T) *tab {
	t.Helper()
	b := newTab(t)
	o := weatherOptions(t)
	if !s.weather {
		o = specimen(t)
	}
	b.open(serve(t, o))
	b.sees(".cat", "Tool")
	s.reach(b)
	return b
}

// screens are the screens and states that are pictured, each with how to get there.
var screens = []screen{
	{"overview", true, func(b *tab) { b.sees(".cat", "forecast") }},
	{"overview-many", false, func(b *tab) { b.sees(".cat", "send_parcel") }},
	{"tool", true, func(b *tab) {
		b.click(".cat a", "forecast")
		b.fill("#f_city", "Kyoto")
		b.keys(kb.Enter)
		b.sees("table.data", "summary")
	}},
	{"tool-error", true, func(b *tab) {
		b.click(".cat a", "forecast")
		b.fill("#f_city", "Kyoto")
		b.fill("#f_days", "15")
		b.keys(kb.Enter)
		b.sees(".teach", "/days")
	}},
	{"form", false, func(b *tab) {
		b.click(".cat a", "send_parcel")
		b.fill("#f_to_street", "Nishiki 1")
		b.click("[aria-labelledby=f_lines-l] button", "+ Add")
		b.fill("#f_lines_0_item", "tea")
	}},
	{"question", false, func(b *tab) {
		b.click(".cat a", "order")
		b.fill("#f_item", "gyokuro")
		b.keys(kb.Enter)
		b.sees(".asks", "Order gyokuro")
	}},
	{"rounds", false, func(b *tab) {
		b.click(".cat a", "charge")
		b.click("[data-call]", "Call")
		b.sees(".asks", "Send a receipt?")
		b.click(".asks .opt", "yes")
		b.click(".asks .go button", "Answer")
		b.sees(".rounds", "Round 2")
	}},
	{"questions", false, func(b *tab) {
		b.click(".cat a", "book")
		b.click("[data-call]", "Call")
		b.sees(".asks", "Which table?")
	}},
	{"clients", false, func(b *tab) {
		b.eval("location.hash = '#/clients'")
		b.sees("main", "claude-code")
	}},
	{"content", false, func(b *tab) {
		b.click(".cat a", "picture")
		b.click("[data-call]", "Call")
		b.until(func() bool { return b.eval("document.querySelector('.pix img')?.naturalWidth ?? 0") == "120" }, func() string { return "no picture" })
	}},
	{"resource", true, func(b *tab) {
		b.click(".cat a", "weather://cities")
		b.sees("[aria-label='What the server says']", "Kyoto")
	}},
	{"prompt", true, func(b *tab) {
		b.click(".cat a", "plan_trip")
		b.fill("#f_city", "Kyoto")
		b.keys(kb.Enter)
		b.sees("[aria-label='What the server says']", "user")
	}},
	{"wire", true, func(b *tab) {
		b.click(".cat a", "forecast")
		b.fill("#f_city", "Kyoto")
		b.keys(kb.Enter)
		b.sees("table.data", "summary")
		b.eval("location.hash = '#/wire'")
		b.click(".axis button", "result of tools/call")
		b.sees(".axis pre", "structuredContent")
	}},
	{"copy", true, func(b *tab) {
		b.click(".cat a", "forecast")
		b.fill("#f_city", "Kyoto")
		b.keys(kb.Enter)
		b.sees("table.data", "summary")
		b.click(".side button", "Copy as")
		b.sees("[data-as=curl]", "curl")
	}},
	{"compare", true, func(b *tab) {
		b.click(".cat a", "forecast")
		b.fill("#f_city", "Kyoto")
		b.keys(kb.Enter)
		b.sees("table.data", "summary")
		b.click(".side a", "Compare revisions")
		b.click("[data-call]", "Compare")
		b.sees("main", "The answers are equal")
	}},
	{"tasks", true, func(b *tab) {
		b.eval("location.hash = '#/tasks'")
		b.sees("h1", "Tasks")
	}},
	{"connect", true, func(b *tab) {
		b.eval("location.hash = '#/connect'")
		b.sees("h1", "Connect")
	}},
	{"log", false, func(b *tab) {
		b.eval("location.hash = '#/log'")
		b.sees("main", "From level")
	}},
	{"palette", true, func(b *tab) {
		b.click(".find", "")
		b.sees(".pal", "forecast")
	}},
}

// TestPictures makes a picture of every screen, in light and dark, wide and narrow.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("give -pictures DIR")
	}
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			b := s.open(t)
			b.picture(filepath.Join(*pictures, s.name+".png"))
			b.dark(true)
			b.picture(filepath.Join(*pictures, s.name+"-dark.png"))
			b.dark(false)
			b.size(390, 844)
			b.picture(filepath.Join(*pictures, s.name+"-narrow.png"))
		})
	}
}
