package browser_test

import (
	"fmt"
	"strings"
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
		"to":{"type":"object","properties":{"id":{"type":"integer"},"made":{"type":"string","readOnly":true}},"additionalProperties":true,"required":["id"]}},"required":["to"],"additionalProperties":{"type":"integer"}}`)))
	b.click(".rail a", "tag")
	add := func(label, name string) {
		t.Helper()
		b.fill(label+" [aria-label='Name of a new member']", name)
		b.keys(kb.Enter)
	}
	b.fill("#f_to_id", "1")
	for _, taken := range []string{"id", "made"} { // a field has the first name, and the server alone sets the second
		add("[aria-labelledby=f_to-l]", taken)
		b.sees("[aria-labelledby=f_to-l] .err", "cannot be added")
	}
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

// TestForeignTypes checks that a form shows a value that its control cannot show, because the value came
// from the JSON view and has another type than the schema.
func TestForeignTypes(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "kinds", `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"enum":["s","m"]}},
		"at":{"type":"array","prefixItems":[{"type":"integer"}]},"env":{"type":"object","additionalProperties":{"type":"string"}},"to":{"type":"object","properties":{"id":{"type":"string"}}},
		"on":{"type":"boolean"},"off":{"type":"boolean","default":false},"name":{"type":"string"},"n":{"type":"integer"},"few":{"enum":["a","b"]},"v":{"const":1},
		"by":{"oneOf":[{"title":"name","type":"string"},{"title":"code","type":"integer"}]}}}`)))
	b.click(".rail a", "kinds")
	members := map[string]string{"tags": `"a"`, "sizes": `"s"`, "at": `7`, "env": `["x"]`, "to": `"me"`, "on": `"yes"`, "off": `1`, "name": `5`, "n": `"5"`, "few": `"c"`, "v": `2`, "by": `[true]`}
	all := []string{}
	for name, value := range members {
		all = append(all, fmt.Sprintf("%q:%s", name, value))
	}
	b.json("{" + strings.Join(all, ",") + "}")
	for name, value := range members {
		shown := func() string {
			return b.eval(fmt.Sprintf("document.querySelector('#f_%s-l')?.parentNode.querySelector('code')?.innerText", name))
		}
		b.until(func() bool { return shown() == value }, func() string { return fmt.Sprintf("%s: the form shows %s, want %s", name, shown(), value) })
	}
	b.click("[aria-labelledby=f_tags-l] button", "Fill in instead")
	b.click("[aria-labelledby=f_tags-l] button", "Send an empty list")
	b.click("[data-call]", "Call")
	b.sees(".calls", `"tags":[]`)
	b.json("[1]")
	b.sees("form code", "[1]")
}
