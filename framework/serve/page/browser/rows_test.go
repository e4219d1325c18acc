package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestRemovedRow: a row shows its own value after another row was removed or has changed places, and the
// focus stays in the list.
func TestRemovedRow(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "mixed", `{"type":"object","properties":{"xs":{"type":"array","items":{}},"ns":{"type":"array","items":{"type":"integer"}}}}`)))
	b.click(".rail a", "mixed")
	for _, typed := range []string{"{broken", "[1]"} {
		b.click("[aria-labelledby=f_xs-l] > .row button", "+ Add")
		b.run(chromedp.WaitVisible("[aria-labelledby=f_xs-l] li:last-child textarea", chromedp.ByQuery), chromedp.Focus("[aria-labelledby=f_xs-l] li:last-child textarea", chromedp.ByQuery))
		b.eval(`(e => { e.value = '` + typed + `'; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.activeElement)`)
	}
	b.click("[aria-labelledby=f_xs-l] [aria-label='Remove item 1']", "×")
	b.until(func() bool { return b.value("#f_xs_0") == "[1]" }, func() string { return "the row shows " + b.value("#f_xs_0") })
	b.until(func() bool { return b.eval("document.activeElement.ariaLabel") == "Remove item 1" }, func() string { return "the focus is lost" })
	for _, n := range []string{"1", "2", "3"} {
		b.click("[aria-labelledby=f_ns-l] > .row button", "+ Add")
		b.run(chromedp.WaitVisible("[aria-labelledby=f_ns-l] li:nth-child("+n+") input", chromedp.ByQuery))
		b.fill("[aria-labelledby=f_ns-l] li:nth-child("+n+") input", n)
	}
	b.run(chromedp.Focus("#f_ns_0", chromedp.ByQuery))
	for range 2 {
		b.keys(kb.ArrowDown, input.ModifierAlt)
		b.settles()
	}
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"xs":[[1]],"ns":[2,3,1]}`)
}

// TestShapeWithOtherMembers: a shape that takes more members than it names is shown after a reload, and
// does not hide a shape that names all members.
func TestShapeWithOtherMembers(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "pick", `{"type":"object","properties":{"by":{"oneOf":[
		{"title":"tags","type":"object","properties":{"lang":{"type":"string"}},"additionalProperties":{"type":"string"}},
		{"title":"id","type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false},
		{"title":"name","type":"string"}]}}}`)))
	b.click(".rail a", "pick")
	for value, shape := range map[string]string{`{"lang":"ja","color":"red"}`: "tags", `{"id":"7"}`: "id"} {
		b.json(`{"by":` + value + `}`)
		b.run(chromedp.Reload())
		chosen := func() string { return b.eval("document.querySelector('#f_by')?.selectedOptions[0].text ?? ''") }
		b.until(func() bool { return chosen() == shape }, func() string { return value + " has the shape " + chosen() + ", want " + shape })
	}
}
