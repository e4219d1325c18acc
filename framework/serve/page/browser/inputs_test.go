package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
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

// TestEmptyGroups: a required object without required members is sent, and so are an empty map and an
// optional constant, if the user wants it.
func TestEmptyGroups(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "set", `{"type":"object","required":["opts","labels"],"properties":{"opts":{"type":"object","properties":{"verbose":{"type":"boolean"}}},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},"confirm":{"const":true}}}`)))
	b.click(".rail a", "set")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"opts":{}}`)
	b.click("[aria-labelledby=f_labels-l] button", "Send an empty object")
	b.click(".field button", "Send it")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"opts":{},"labels":{},"confirm":true}`)
	b.click("[aria-labelledby=f_labels-l] button", "Leave out")
	b.click(".field button", "Leave out")
	b.click("[data-call]", "Call")
	b.sees(".calls ol li:nth-child(3)", `{"opts":{}}`)
	b.sees(".calls ol li:first-child", `{"opts":{}}`)
}

// TestNoDate: a value that is no date is shown as it is sent.
func TestNoDate(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "pick_day", `{"type":"object","properties":{"day":{"type":"string","format":"date"}}}`)))
	b.click(".rail a", "pick_day")
	for typed, want := range map[string]string{"tomorrow": "text tomorrow", "2026-01-05": "date 2026-01-05"} {
		b.click(".side [role=tab]", "JSON")
		b.fill("#json", `{"day":"`+typed+`"}`)
		b.click(".side [role=tab]", "Form")
		shown := func() string {
			return b.eval("(e => e ? e.type + ' ' + e.value : '')(document.querySelector('#f_day'))")
		}
		b.until(func() bool { return shown() == want }, func() string { return "the field shows " + shown() + ", want " + want })
	}
}

// TestDraftIsNotKept: a number that was not typed to its end is not sent as a text after a reload.
func TestDraftIsNotKept(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "count", `{"type":"object","properties":{"n":{"type":"integer"},"all":{"type":"array","items":{"type":"integer"}}}}`)))
	b.click(".rail a", "count")
	b.click("[aria-labelledby=f_all-l] button", "+ Add")
	b.fill("#f_all_0", "2e")
	b.fill("#f_n", "1e")
	b.run(chromedp.Reload())
	b.sees("h1", "count")
	b.click("[data-call]", "Call")
	b.sees(".calls", "{")
	if sent := b.text(".calls ol"); strings.Contains(sent, "e\"") {
		t.Errorf("sent %s", sent)
	}
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
	b.keys(kb.Enter, input.ModifierCtrl)
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
	b.open(serve(t, taker(t, "paint", `{"type":"object","properties":{"colors":{"type":"array","items":{"enum":["red","green"]},"default":["green"]},"wet":{"type":"boolean","default":false}}}`)))
	b.click(".rail a", "paint")
	b.sees(".side", "the default")
	if weight := b.eval("getComputedStyle(document.querySelector('#f_wet').parentNode).fontWeight"); weight != "400" {
		t.Errorf("the words beside a box have the weight %s", weight)
	}
	checked := func() string {
		return b.eval("[...document.querySelectorAll('.side .opt input')].map(e => e.checked).join()")
	}
	if got := checked(); got != "false,true,false" {
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
	b.run(chromedp.Reload())
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

// value returns what the field of a selector has.
func (b *tab) value(selector string) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf("document.querySelector(%q)?.value ?? 'no field'", selector))
}

// json fills the JSON view, and goes back to the form.
func (b *tab) json(text string) {
	b.t.Helper()
	b.click(".side [role=tab]", "JSON")
	b.fill("#json", text)
	b.click(".side [role=tab]", "Form")
}

// paste pastes a text into a field.
func (b *tab) paste(selector, text string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(selector, chromedp.ByQuery))
	b.eval(fmt.Sprintf(`(() => { const data = new DataTransfer(); data.setData('text/plain', %q);
		document.querySelector(%q).dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()`, text, selector))
}

// TestLongSecret: a secret is masked, however long it may be.
func TestLongSecret(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "enter", `{"type":"object","properties":{"key":{"type":"string","format":"password","maxLength":256},"api_token":{"type":"string","maxLength":256}}}`)))
	b.click(".rail a", "enter")
	b.sees(".side", "api_token")
	if types := b.eval("document.querySelector('#f_key').type + document.querySelector('#f_api-5ftoken').type"); types != "passwordpassword" {
		t.Errorf("the types are %s", types)
	}
}

// TestRemovedRowOfUnion: each row of a list is drawn by the shape of its own value.
func TestRemovedRowOfUnion(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "mixed", `{"type":"object","properties":{"xs":{"type":"array","items":{"oneOf":[
		{"title":"group","type":"object","properties":{"kind":{"const":"group"}},"required":["kind"]},{"title":"name","type":"string"},{"title":"code","type":"integer"}]}}}}`)))
	b.click(".rail a", "mixed")
	b.click("[aria-labelledby=f_xs-l] button", "+ Add")
	b.choose("#f_xs_0", "name")
	b.fill("#f_xs_0-s", "a")
	b.click("[aria-labelledby=f_xs-l] > .row button", "+ Add")
	b.choose("#f_xs_1", "code")
	b.fill("#f_xs_1-s", "7")
	b.click("[aria-label='Remove item 1']", "×")
	b.until(func() bool { return b.eval("document.querySelector('#f_xs_0').selectedOptions[0].text") == "code" }, func() string { return b.text(".side") })
	b.fill("#f_xs_0-s", "8")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"xs":[8]}`)
}

// TestNullInAList: an element of a list and a value of a map can be null.
func TestNullInAList(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "nulls", `{"type":"object","properties":{"xs":{"type":"array","items":{"type":["integer","null"]}},"m":{"type":"object","additionalProperties":true}}}`)))
	b.click(".rail a", "nulls")
	b.click("[aria-labelledby=f_xs-l] button", "+ Add")
	b.click("[aria-labelledby=f_xs-l] button", "Send null")
	b.fill("[aria-labelledby=f_m-l] input", "a")
	b.keys(kb.Enter)
	b.fill("#f_m_a", "null")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"xs":[null],"m":{"a":null}}`)
}

// TestPastedLines: a text keeps its line breaks, whether it is pasted or comes from elsewhere.
func TestPastedLines(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "run", `{"type":"object","properties":{"code":{"type":"string"},"private_key":{"type":"string"},"rows":{"type":"array","items":{"type":"string"}}}}`)))
	b.click(".rail a", "run")
	b.paste("#f_code", "a\r\nb")
	b.until(func() bool { return b.value("#f_code") == "a\nb" }, func() string { return b.value("#f_code") })
	b.until(func() bool { return b.eval("document.activeElement.id") == "f_code" }, func() string { return "the focus is lost" })
	b.paste("#f_private-5fkey", "x\ny")
	b.click("[aria-labelledby=f_rows-l] button", "+ Add")
	b.paste("#f_rows_0", "1\n2")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"code":"a\nb","private_key":"•••","rows":["1","2"]}`)
	b.json(`{"code":"c\nd"}`)
	b.until(func() bool { return b.value("#f_code") == "c\nd" }, func() string { return b.value("#f_code") })
	b.fill("#f_code", "x") // selects all before
	b.keys("y")
	if got := b.value("#f_code"); got != "xy" {
		t.Errorf("a text that lost its line break takes %q", got)
	}
}

type delivery interface{ deliver() }

type pickup struct {
	Store string `json:"store"`
}

type courier struct {
	Store string `json:"store"`
}

func (pickup) deliver()  {}
func (courier) deliver() {}

type deliverIn struct {
	Way delivery   `json:"way"`
	At  netip.Addr `json:"at,omitzero"`
}

// TestOneOf: variants have their names, and are sent with the member that names them.
func TestOneOf(t *testing.T) {
	server, err := framework.New("post", "1.0", framework.OneOf[delivery]("kind", map[string]delivery{"pickup": pickup{}, "courier": courier{}})).
		Add(framework.Tool("deliver", func(_ context.Context, in deliverIn) (string, error) { return fmt.Sprintf("%T", in.Way), nil },
			framework.Describe("Delivers."), framework.ReadOnly())).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Host: server, Where: "./post"}))
	b.click(".rail a", "deliver")
	b.sees("#f_at", "ipv4")
	b.choose("#f_way", "pickup")
	b.fill("#f_way_store", "Kyoto")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"way":{"kind":"pickup","store":"Kyoto"}}`)
	b.sees("[aria-label='What the server says']", "pickup")
	b.run(chromedp.Reload())
	b.until(func() bool {
		return b.eval("document.querySelector('#f_way')?.selectedOptions[0].text ?? ''") == "pickup"
	}, func() string { return b.text(".side") })
}

// TestSliderOfMultiples: a slider gives only values that the schema allows.
func TestSliderOfMultiples(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "slide", `{"type":"object","properties":{"from1":{"type":"integer","minimum":1,"maximum":100,"multipleOf":5},"from5":{"type":"integer","minimum":5,"maximum":100,"multipleOf":5}}}`)))
	b.click(".rail a", "slide")
	b.sees(".side", "from5")
	if got := b.eval("[...document.querySelectorAll('input[type=range]')].map(e => e.getAttribute('aria-labelledby')).join()"); got != "f_from5-l" {
		t.Errorf("sliders: %s", got)
	}
}

// TestValuesOfElsewhere: a form keeps and shows what its controls cannot give.
func TestValuesOfElsewhere(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "elsewhere", `{"type":"object","properties":{"at":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"string"}},
		"c":{"type":"string","enum":["red","green","blue","black","white","grey"],"default":"red"}}}`)))
	b.click(".rail a", "elsewhere")
	b.json(`{"at":[1,"a","b"],"c":"purple"}`)
	b.sees("form code", `"purple"`)
	b.fill("#f_at_0", "2")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"at":[2,"a","b"],"c":"purple"}`)
}

// TestFaultOfAList: a fault of a group belongs to it, and its link leads there.
func TestFaultOfAList(t *testing.T) {
	type in struct {
		Tags []string `json:"tags" doc:"words" validate:"min=1"`
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "tagger", framework.Tool("tag", func(context.Context, in) (string, error) { return "", nil }, framework.Describe("Tags."), framework.ReadOnly()))))
	b.click(".rail a", "tag")
	b.click("[aria-labelledby=f_tags-l] button", "Send an empty list")
	b.click("[data-call]", "Call")
	b.click(".teach button", "/tags")
	if got := b.eval("Boolean(document.activeElement.closest('.field')?.querySelector('#f_tags-l')) + document.querySelector('[aria-labelledby=f_tags-l]').getAttribute('aria-describedby')"); got != "truef_tags-h f_tags-e" {
		t.Errorf("focus and description: %s", got)
	}
}

// TestFaultBesideASecret: faults are at their fields, also if the call has a secret. A change of the
// secret removes them.
func TestFaultBesideASecret(t *testing.T) {
	type in struct {
		Door     string `json:"door" validate:"min=3"`
		Password string `json:"password" secret:"true"`
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "doors", framework.Tool("enter", func(context.Context, in) (string, error) { return "", nil }, framework.Describe("Enters."), framework.ReadOnly()))))
	b.click(".rail a", "enter")
	b.fill("#f_door", "x")
	b.fill("#f_password", "sesame")
	b.click("[data-call]", "Call")
	b.sees(".teach", "/door")
	b.until(func() bool { return b.eval("document.querySelector('#f_door').getAttribute('aria-invalid')") == "true" }, func() string { return b.text(".side") })
	b.fill("#f_password", "open sesame")
	b.until(func() bool {
		return b.eval("String(document.querySelector('#f_door').getAttribute('aria-invalid'))") != "true"
	}, func() string { return b.text(".side") })
}

// TestNumberOfThePalette: the palette fills a field with a value of its type.
func TestNumberOfThePalette(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "wait", `{"type":"object","properties":{"unit":{"type":"string","enum":["s","h"]},"n":{"type":"integer"},"why":{"type":"string"}}}`)))
	b.sees(".cat", "wait")
	for _, one := range []struct{ typed, want string }{{"wait 5", `{"n":5}`}, {"wait for it", `{"why":"for it"}`}} {
		b.keys("k", input.ModifierCtrl)
		b.sees(".pal", "wait")
		b.keys(one.typed + kb.Enter)
		b.until(func() bool { return b.eval("location.hash") == "#/tools/wait" }, func() string { return b.eval("location.hash") })
		b.click("[data-call]", "Call")
		b.sees(".calls li:first-child", one.want)
	}
}
