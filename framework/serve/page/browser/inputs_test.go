package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// taker is a server with one tool, which returns the arguments that it gets. They have this schema.
func taker(t *testing.T, name, schema string) page.Options {
	t.Helper()
	server, err := framework.New(name, "1.0").Add(framework.Tool(name, func(_ context.Context, in json.RawMessage) (string, error) { return string(in), nil },
		framework.Describe("Returns its arguments."), framework.ReadOnly(), framework.InputSchema(json.RawMessage(schema)))).Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./" + name}
}

// asker is a server with one tool, which asks.
func asker(t *testing.T, name string, ask func(context.Context, none) (string, error)) page.Options {
	t.Helper()
	server, err := framework.New(name, "1.0").Add(framework.Tool(name, ask, framework.Describe("Asks."), framework.ReadOnly())).Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./" + name}
}

// TestRowsKeepTheirType: rows that were pasted or emptied have the type of the schema.
func TestRowsKeepTheirType(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "grid", `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
		"heads":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}},
		"counts":{"type":"array","items":{"type":"integer"}}}}`)))
	b.click(".rail a", "grid")
	b.click("[aria-labelledby=f_rows-l] button", "+ Add")
	b.click("[aria-labelledby=f_rows_0-l] button", "+ Add")
	b.click("[aria-labelledby=f_rows_0-l] button[aria-label='Remove item 1']", "×")
	b.fill("[aria-labelledby=f_heads-l] input", "accept")
	b.keys(kb.Enter)
	b.click("[aria-labelledby=f_counts-l] button", "+ Add")
	b.until(func() bool { return b.eval("!!document.querySelector('#f_counts_0')") == "true" }, func() string { return "no row" })
	b.eval(`(() => { const data = new DataTransfer(); data.setData('text/plain', '3\n4');
		document.querySelector('#f_counts_0').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()`)
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"rows":[[]],"heads":{"accept":[]},"counts":[3,4]}`)
}

// TestHiddenCharactersInForms: a form shows what cannot be seen in the description of an argument.
func TestHiddenCharactersInForms(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "find", `{"type":"object","properties":{"q":{"type":"string","description":"Text\u202e to find"}}}`)))
	b.click(".rail a", "find")
	b.sees(".side .hint", "Text⟨U+202E⟩ to find")
}

// TestConstantOfShape: a shape is sent with the constant that names it, also if the schema does not require it.
func TestConstantOfShape(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "keep", `{"type":"object","required":["pet"],"properties":{"pet":{"oneOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]}},"$defs":{
		"Cat":{"type":"object","properties":{"kind":{"type":"string","const":"cat","default":"cat"},"lives":{"type":"integer"}},"required":["lives"]},
		"Dog":{"type":"object","properties":{"kind":{"type":"string","const":"dog","default":"dog"},"name":{"type":"string"}},"required":["name"]}}}`)))
	b.click(".rail a", "keep")
	b.sees("#f_pet", "cat")
	b.eval("(e => { e.value = '0'; e.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('#f_pet'))")
	b.fill("#f_pet_lives", "9")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"pet":{"kind":"cat","lives":9}}`)
}

// TestAnyArguments: a tool that takes any arguments does not seem to take none.
func TestAnyArguments(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "any", `{"type":"object","additionalProperties":true}`)))
	b.click(".rail a", "any")
	b.sees("main", "+ Add")
	b.eval(`(e => { e.focus(); e.value = 'größe'; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.querySelector("[aria-label='Name of a new member']"))`)
	b.keys(kb.Enter)
	b.fill("[id='f_größe']", "7")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"größe":7}`)
}

// TestDefaultsOfAQuestion: the answer to a question has the defaults that its form shows.
func TestDefaultsOfAQuestion(t *testing.T) {
	type stay struct {
		Nights int  `json:"nights"`
		Late   bool `json:"late"`
	}
	b := newTab(t)
	b.open(serve(t, asker(t, "stay", func(ctx context.Context, _ none) (string, error) {
		said, err := framework.Elicit[stay](ctx, "How long?", framework.Prefill(stay{Nights: 2}))
		return fmt.Sprintf("%d nights, late %t.", said.Nights, said.Late), err
	})))
	b.click(".rail a", "stay")
	b.click("[data-call]", "Call")
	b.sees(".asks", "How long?")
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "2 nights, late false.")
}

// TestLongQuestion: a button that shows more of a long question does not answer it.
func TestLongQuestion(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "summary", func(ctx context.Context, _ none) (string, error) {
		said, err := framework.Generate(ctx, "Sum up: "+strings.Repeat("mirror ", 2000))
		return said.Text(), err
	})))
	b.click(".rail a", "summary")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Sum up: mirror")
	b.click(".asks button", "Show more of")
	b.fill("[id^=sample]", "Mirrors.")
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "Mirrors.")
}

// TestFullStorage: a form takes input although the browser cannot keep it.
func TestFullStorage(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.eval(`(() => { for (let n = 1 << 22, i = 0; n > 0; i++) try { sessionStorage.setItem('fill' + i, 'x'.repeat(n)); } catch { n >>= 1; } })()`)
	b.fill("#f_city", "Kyoto")
	b.click("[data-call]", "Call")
	b.sees("table.data", "summary")
	b.click("[role=tab]", "What a model reads")
	b.sees("[aria-label='What the server says'] pre", "Kyoto")
}

// TestNamesOfEveryObject: a variable has the name of a member that every JavaScript object has.
func TestNamesOfEveryObject(t *testing.T) {
	type in struct {
		Name string `uri:"constructor"`
	}
	server, err := framework.New("f1", "1.0").Add(framework.ResourceTemplate("f1://{constructor}",
		func(_ context.Context, in in) (string, error) { return "The car of " + in.Name + ".", nil },
		framework.Name("car"), framework.Describe("A car."),
		framework.Complete("constructor", func(context.Context, string, map[string]string) ([]string, error) { return []string{"Lotus"}, nil }))).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "./f1"}))
	b.click(".rail a", "car")
	b.sees("main", "Fill in the variables")
	b.fill("#v-constructor", "Lo")
	b.until(func() bool {
		return strings.Contains(b.eval("document.querySelector('#c-constructor').innerHTML"), "Lotus")
	}, func() string { return "no completion" })
	b.fill("#v-constructor", "Lotus")
	b.keys(kb.Enter)
	b.sees("[aria-label='What the server says']", "The car of Lotus.")
}

// TestSimilarNames: fields with similar names have labels, hints and faults of their own.
func TestSimilarNames(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "both", `{"type":"object","properties":{
		"user":{"type":"object","properties":{"active":{"type":"integer","description":"member"}},"required":["active"]},
		"user_active":{"type":"integer","description":"low line"},"user/active":{"type":"integer","description":"slash"},
		"w":{"enum":["a","b"]},"w1":{"type":"string"}},"required":["user"]}`)))
	b.click(".rail a", "both")
	b.sees("h1", "both")
	for _, name := range []string{"member", "low line", "slash"} {
		b.sees(".side", name)
	}
	if twice := b.eval("(ids => ids.filter((id, i) => ids.indexOf(id) !== i).join())([...document.querySelectorAll('[id]')].map(e => e.id))"); twice != "" {
		t.Errorf("these ids are there twice: %s", twice)
	}
	b.fill("#f_user-7e1active", "x")
	b.click("[data-call]", "Call")
	b.until(func() bool { return b.eval("document.querySelectorAll('.side .err').length") == "1" }, func() string { return "not one fault" })
	if at := b.eval("document.querySelector('.side .err').closest('.field').querySelector('.hint').textContent"); at != "slash" {
		t.Errorf("the fault is at %s", at)
	}
}

// TestSeveralChoices: choices of a list show the default, and none of them can be chosen, too.
func TestSeveralChoices(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "paint", `{"type":"object","properties":{"colors":{"type":"array","items":{"enum":["red","green"]},"default":["green"]}}}`)))
	b.click(".rail a", "paint")
	b.sees(".side", "the default")
	checked := func() string {
		return b.eval("[...document.querySelectorAll('.side .opt input')].map(e => e.checked).join()")
	}
	if got := checked(); got != "false,true" {
		t.Errorf("checked at the start: %s", got)
	}
	b.click(".side .opt", "green")
	b.sees(".side", "sent as an empty list")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"colors":[]}`)
	b.click(".side button", "Leave out")
	b.click("[data-call]", "Call")
	b.sees(".calls li:first-child", `{}`)
	b.click(".side .opt", "red")
	b.click("[data-call]", "Call")
	b.sees(".calls li:first-child", `{"colors":["green","red"]}`)
}

// TestAnotherUnion: the choice within one shape does not count for another shape.
func TestAnotherUnion(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "move", `{"type":"object","properties":{"to":{"oneOf":[
		{"title":"scalar","oneOf":[{"title":"name","type":"string"},{"title":"code","type":"integer"},{"title":"flag","type":"boolean"}]},
		{"title":"other","oneOf":[{"title":"list","type":"array"},{"title":"group","type":"object","properties":{"x":{"type":"string"}}}]}]}}}`)))
	b.click(".rail a", "move")
	b.choose("#f_to", "scalar")
	b.choose("#f_to-s", "flag")
	b.choose("#f_to", "other")
	b.choose("#f_to-s", "group")
}

// TestNamesOfAPattern: a tool that takes only names of a pattern does not seem to take none.
func TestNamesOfAPattern(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "headers", `{"type":"object","patternProperties":{"^X-":{"type":"integer"}},"additionalProperties":false}`)))
	b.click(".rail a", "headers")
	b.fill("[aria-label='Name of a new member']", "X-Rate")
	b.keys(kb.Enter)
	b.fill("#f_X-2dRate", "7")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"X-Rate":7}`)
}

// TestTupleOfOldDrafts: before 2020-12, a schema has the places of a tuple under items.
func TestTupleOfOldDrafts(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "point", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"at":{"type":"array","items":[{"type":"integer"},{"type":"string"}]}}}`)))
	b.click(".rail a", "point")
	b.fill("#f_at_0", "3")
	b.fill("#f_at_1", "east")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"at":[3,"east"]}`)
}

// choose chooses an option of a list by its text.
func (b *tab) choose(selector, text string) {
	b.t.Helper()
	script := fmt.Sprintf(`(() => { const list = document.querySelector(%q), one = [...list?.options ?? []].find(o => o.text === %q); if (!one) return 'none';
		list.value = one.value; list.dispatchEvent(new Event('change', { bubbles: true })); return 'done' })()`, selector, text)
	b.until(func() bool { return b.eval(script) == "done" }, func() string { return fmt.Sprintf("no %q in %s:\n%s", text, selector, b.text("body")) })
}

// TestUnionInUnion: a shape that is itself one of several shapes is chosen in two steps, and a value
// shows its shape.
func TestUnionInUnion(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "move", `{"type":"object","properties":{"to":{"oneOf":[{"title":"place","oneOf":[{"title":"name","type":"string"},{"title":"code","type":"integer"}]},{"title":"nowhere","type":"boolean"}]}}}`)))
	b.click(".rail a", "move")
	b.choose("#f_to", "place")
	b.choose("#f_to-s", "code")
	b.fill("#f_to-s-s", "7")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"to":7}`)
	b.eval("location.reload()")
	shape := func() string {
		return b.eval("[...document.querySelectorAll('.side select')].map(s => s.selectedOptions[0].text).join()")
	}
	b.until(func() bool { return shape() == "place,code" }, func() string { return "after a reload the shapes are " + shape() })
	b.click(".side [role=tab]", "JSON")
	b.fill("#json", `{"to":true}`)
	b.click(".side [role=tab]", "Form")
	b.until(func() bool { return shape() == "nowhere" }, func() string { return "for true the shapes are " + shape() })
}

// TestDirectories: the addresses of directories are valid, whatever characters the paths have.
func TestDirectories(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "dirs", func(ctx context.Context, _ none) (string, error) {
		roots, err := framework.Roots(ctx)
		var all []string
		for _, root := range roots {
			all = append(all, root.URI)
		}
		return strings.Join(all, " "), err
	})))
	b.click(".rail a", "dirs")
	b.click("[data-call]", "Call")
	b.sees(".asks", "The server asks for directories")
	b.eval(`(e => { e.value = '/srv/a b?#%\n  file:///x  \nC:\\ada'; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.querySelector('.asks textarea'))`)
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "file:///srv/a%20b%3F%23%25 file:///x file:///C:/ada")
}

// TestConfirmOnly: a question without fields only wants to be answered.
func TestConfirmOnly(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, asker(t, "wipe", func(ctx context.Context, _ none) (string, error) {
		_, err := framework.Elicit[none](ctx, "Wipe the disk?")
		return "Wiped.", err
	})))
	b.click(".rail a", "wipe")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Wipe the disk?")
	if text := b.text(".asks"); strings.Contains(text, "arguments") {
		t.Errorf("the question says %s", text)
	}
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "Wiped.")
}
