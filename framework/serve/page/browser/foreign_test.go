package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestAlikeChoices checks that a user can distinguish choices that look alike, or look empty.
func TestAlikeChoices(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "pick", `{"type":"object","properties":{"few":{"enum":["","1",1,null]},"many":{"enum":["","1",1,"a","b","c"]},
		"text":{"type":"string","default":""},"like":{"type":"string","examples":[""]},"n":{"anyOf":[{"type":"integer","minimum":1,"maximum":9},{"type":"null"}],"default":null}}}`)))
	b.click(".rail a", "pick")
	for _, label := range []string{`""`, `"1"`, "1", "null"} {
		script := fmt.Sprintf("[...document.querySelectorAll('[aria-labelledby=f_few-l] .opt')].filter(e => e.innerText.trim() === %q).length", label)
		b.until(func() bool { return b.eval(script) == "1" }, func() string { return fmt.Sprintf("not one choice is called %s: %s", label, b.text("form")) })
	}
	b.sees("#f_many", `"1"`)
	if hint := b.eval("document.querySelector('#f_text').placeholder"); hint != `"", the default` {
		t.Errorf("the hint of an empty default is %q", hint)
	}
	if hint := b.eval("document.querySelector('#f_like').placeholder"); hint != `such as ""` {
		t.Errorf("the hint of an empty example is %q", hint)
	}
	if at := b.value(".range [type=range]"); at != "1" {
		t.Errorf("the slider of a number without a value is at %s, want 1", at)
	}
	b.choose("#f_many", `"1"`)
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"many":"1"}`)
}

// TestOtherMembers checks that an object that accepts other members has rows for them beside its
// fields.
func TestOtherMembers(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "tag", `{"type":"object","properties":{"name":{"type":"string"},
		"to":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":true,"required":["id"]}},"required":["to"],"additionalProperties":{"type":"integer"}}`)))
	b.click(".rail a", "tag")
	add := func(label, name string) {
		t.Helper()
		b.fill(label+" [aria-label='Name of a new member']", name)
		b.keys(kb.Enter)
	}
	b.fill("#f_to_id", "1")
	add("[aria-labelledby=f_to-l]", "color")
	b.fill("#f_to_color", "red")
	add("form > .field:last-of-type, form > div > .field:last-of-type", "name")
	add("form > .field:last-of-type, form > div > .field:last-of-type", "size")
	b.fill("#f_size", "7")
	b.fill("#f_name", "box")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"to":{"id":1,"color":"red"},"size":7,"name":"box"}`)
	b.click("[aria-label='Remove color']", "×")
	b.click("[aria-label='Remove size']", "×")
	b.click("[data-call]", "Call")
	b.sees(".calls li:first-child", `{"to":{"id":1},"name":"box"}`)
}
