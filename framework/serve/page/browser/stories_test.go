package browser_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestForecastWithoutMouse is stories 1 and 2: the address, once, and a call by keys alone.
func TestForecastWithoutMouse(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.sees(".cat", "forecast")
	b.keys("k", input.ModifierCtrl)
	b.sees(".pal", "forecast")
	b.keys("fore" + kb.Enter)
	b.sees("h1", "forecast")
	b.keys("e")
	b.keys("Kyoto")
	b.keys(kb.Enter, input.ModifierCtrl)
	b.sees("table.data", "summary")
	if rows := b.eval("document.querySelectorAll('table.data tbody tr').length"); rows != "3" {
		t.Errorf("the table has %s rows, want 3", rows)
	}
}

// TestTryThis is stories 3 and 4: an error at its field, the correction, and earlier calls.
func TestTryThis(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".cat a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.fill("#f_days", "15")
	b.click("[data-call]", "Call")
	b.sees(".teach", "/days")
	b.sees("#f_days-e", "Want a whole number from 1 to 14.")
	b.click(".try button", "Try this")
	if at := b.eval("document.querySelector('#f_days').value"); at != "14" {
		t.Errorf("the field has %s, want 14", at)
	}
	b.until(func() bool { return b.eval("document.activeElement.hasAttribute('data-call')") == "true" }, func() string { return "the focus is not on Call" })
	b.keys(kb.Enter)
	b.sees("table.data", "summary")
	if rows := b.eval("document.querySelectorAll('table.data tbody tr').length"); rows != "14" {
		t.Errorf("the table has %s rows, want 14", rows)
	}
	b.fill("#f_city", "Kioto")
	b.click("[data-call]", "Call")
	b.sees(".teach", "Kyoto")
	if n := b.eval("document.querySelectorAll('.calls li').length"); n != "3" {
		t.Errorf("%s earlier calls, want 3", n)
	}
	b.eval("[...document.querySelectorAll('.calls li')].at(-1).querySelector('.acc').click()")
	b.sees(".teach", "/days")
	b.until(func() bool { return b.eval("document.querySelectorAll('.calls li').length") == "4" }, func() string { return "Again did not call" })
}

// TestForm is stories 5 and 6: what is filled in arrives exactly, through form and JSON.
func TestForm(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".cat a", "send_parcel")
	b.fill("#f_to_street", "Nishiki 1")
	b.fill("#f_to_city", "Kyoto")
	b.click("[aria-labelledby=f_lines-l] button", "+ Add")
	b.fill("#f_lines_0_item", "tea")
	b.fill("#f_lines_0_count", "2")
	b.fill("#f_weight", "9007199254740993")
	b.fill("[aria-labelledby=f_labels-l] input", "care")
	b.keys(kb.Enter)
	b.fill("#f_labels_care", "fragile")
	b.click(".side [role=tab]", "JSON")
	b.until(func() bool {
		return strings.Contains(b.eval("document.querySelector('#json').value"), "9007199254740993")
	}, func() string { return "the JSON lacks the number" })
	b.click(".side [role=tab]", "Form")
	b.click("[data-call]", "Call")
	b.sees(".stat", "Result")
	want := `{"to":{"street":"Nishiki 1","city":"Kyoto"},"lines":[{"item":"tea","count":2}],"weight":9007199254740993,"labels":{"care":"fragile"}}`
	b.sees(".calls", want)
	b.sees("[aria-label='What the server says']", "9007199254740993")
	b.run(chromedp.Reload())
	b.until(func() bool { return b.eval("document.querySelector('#f_to_city')?.value ?? ''") == "Kyoto" }, func() string { return "the form did not survive a reload" })
	b.sees(".calls", want)
}

// TestQuestion is stories 10 to 12: the question comes, and each answer ends as the tool says.
func TestQuestion(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	for _, rev := range []string{"2026-07-28", "2025-06-18"} {
		b.click(".rail a", "Overview")
		b.click(".revs button", rev)
		b.sees(".live", "connected")
		b.sees(".revs .on", rev)
		b.click(".rail a", "order")
		b.fill("#f_item", "tea")
		for answer, want := range map[string]string{"Answer": "Ordered tea.", "Decline": "declined", "Give no answer": "dismissed"} {
			b.click("[data-call]", "Call")
			b.sees(".asks", "Order tea for €58.00?")
			if answer == "Answer" {
				b.click(".asks .opt", "yes")
			}
			b.click(".asks .go button", answer)
			b.sees("[aria-label='What the server says']", want)
			b.until(func() bool { return b.eval("document.querySelector('.asks') === null") == "true" }, func() string { return "the question stays" })
		}
	}
}

// TestRounds: each round says what ran, and what came from the journal.
func TestRounds(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "charge")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Send a receipt?")
	b.sees(".rounds", "Round 1 asked a question")
	b.click(".asks .opt", "yes")
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "Paid 58, and sent a receipt.")
	b.sees(".rounds li:first-child", "card ran")
	b.sees(".rounds li:nth-child(2)", "Round 2 gave the answer")
	b.sees(".rounds li:nth-child(2)", "card from the journal, did not run again")
	b.sees(".rounds li:nth-child(2)", "receipt ran")
	for row, want := range map[string]string{"1": "limits", "2": "tenant", "3": "handler"} {
		b.sees(".rounds li:nth-child(2) .steps tbody tr:nth-child("+row+") th", want)
	}
}

// TestSeveralQuestions: the questions of a round are one form, with one answer.
func TestSeveralQuestions(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	for _, rev := range []string{"2026-07-28", "2025-06-18"} {
		b.click(".rail a", "Overview")
		b.click(".revs button", rev)
		b.sees(".revs .on", rev)
		b.click(".rail a", "book")
		b.click("[data-call]", "Call")
		b.sees(".asks", "The server asks 2 questions")
		b.sees(".asks", "Which table?")
		if got := b.eval("[...document.querySelectorAll('.asks .ask')].map(e => e.textContent).join()"); !strings.Contains(got, "Which day?,Which table?") {
			t.Errorf("%s: the questions stand as %s", rev, got)
		}
		b.fill(".asks [id$=_day]", "Monday")
		b.fill(".asks [id$=_table]", "x")
		b.click(".asks .go button", "Answer all")
		b.sees(".asks .err", "number")
		b.fill(".asks [id$=_table]", "7")
		b.click(".asks .go button", "Answer all")
		b.sees("[aria-label='What the server says']", "Table 7 on Monday.")
	}
}

// TestOtherTasks: a task of an earlier connection is listed, and its result can be read.
func TestOtherTasks(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, elsewhere(t)))
	b.click(".revs button", "2025-11-25")
	b.sees(".revs .on", "2025-11-25")
	b.click(".rail a", "Tasks")
	b.sees("main", "Other tasks of the server")
	b.sees("main table", "completed")
	b.click("main table button", "Result")
	b.sees("main table", "done")
	b.judge(source, "the result of a task")
	if *pictures != "" {
		b.picture(filepath.Join(*pictures, "other-tasks.png"))
	}
}

// TestClients: the overview and a screen of its own say what clients do not take.
func TestClients(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".cat", "! refused by claude-code, openai, chatgpt")
	b.sees("main", "the APIs of Anthropic and OpenAI refuse its name") // a warning of Build
	b.click(".rail a", "Clients")
	b.sees("main", "names of tools have 1 to 64 letters")
	b.sees("main", "github.com/openai/codex issue 8174, 2026-03")
	b.sees("main", "✓ takes everything")
	b.click("main table a", "dotted.name")
	b.sees("h1", "dotted.name")
}

// TestSampling is story 13: a user plays the model.
func TestSampling(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "haiku")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Write a haiku about mirrors.")
	b.sees(".asks .messages", "You are a poet.")
	b.fill("[id^=sample]", "Still water, a moon")
	b.click(".asks button", "Answer")
	b.sees("[aria-label='What the server says']", "Still water, a moon")
}

// TestProgressAndStop: progress is shown, and esc stops the call.
func TestProgressAndStop(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "slow")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "of 100 at")
	if mark := b.eval("document.querySelector('.calls li.sel [aria-label=sent]')?.className"); mark != "" {
		t.Errorf("the mark of a call that runs has the class %s", mark)
	}
	b.keys(kb.Escape)
	b.sees("[aria-label='What the server says']", "Stopped")
}

// TestBlocks is story 7: text, picture and link, and the resource behind the link.
func TestBlocks(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "picture")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "A square.")
	b.until(func() bool { return b.eval("document.querySelector('.pix img')?.naturalWidth ?? 0") == "120" }, func() string { return "the picture is not shown" })
	b.click(".link a", "Read here")
	b.sees("[aria-label='What the server says']", "A note.")
}

// TestHostileTexts is the second half of story 20: markup is text, and what cannot be seen is shown.
func TestHostileTexts(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".cat", "⟨U+202E⟩")
	b.click(".rail a", "hostile")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "onerror=")
	b.sees("[aria-label='What the server says']", "⟨U+202E⟩")
	if title := b.eval("document.title"); strings.Contains(title, "owned") {
		t.Errorf("the title is %q", title)
	}
	if n := b.eval("document.querySelectorAll('main script, main img, main a[href^=javascript]').length"); n != "0" {
		t.Errorf("%s elements came from the server", n)
	}
}

// TestDestructive: a tool that may destroy is called by a second press.
func TestDestructive(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "destroy")
	b.click("[data-call]", "Call")
	b.sees("[data-call]", "may destroy")
	if calls := b.text(".calls ol"); calls != "" {
		t.Errorf("it was called by the first press: %s", calls)
	}
	b.click("[data-call]", "may destroy")
	b.sees("[aria-label='What the server says']", "gone")
}

// held sends Enter as a key that is held down sends it again and again.
func (b *tab) held() {
	b.t.Helper()
	for range 3 {
		b.run(input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode('\r').WithText("\r").WithAutoRepeat(true))
	}
}

// TestHeldKey: Enter that is held neither confirms a call that may destroy nor answers a question.
func TestHeldKey(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".rail", "destroy")
	b.eval(`(() => { window.posts = []; const own = fetch; window.fetch = (path, o) => { if (o?.method === 'POST') posts.push(path); return own(path, o); }; })()`)
	b.click(".rail a", "destroy")
	b.sees("h1", "destroy")
	b.eval("document.querySelector('[data-call]').focus()")
	b.keys(kb.Enter)
	b.sees("[data-call]", "may destroy")
	b.held()
	b.keys("r")
	b.sees("[aria-label='What the server says']", "gone")
	b.click(".rail a", "order")
	b.fill("#f_item", "tea")
	b.keys(kb.Enter)
	b.sees(".asks", "Order tea for €58.00?")
	b.held()
	b.click(".asks .opt", "yes")
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "Ordered tea.")
	if got := b.eval("posts.map(p => p.split('/')[1]).join()"); got != "calls,calls,questions" {
		t.Errorf("the page has sent %s", got)
	}
}

// TestManyTabs: the seventh tab works like the first, although a browser opens six connections to a host.
func TestManyTabs(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.sees(".cat", "forecast")
	last := b
	for range 6 {
		ctx, end := chromedp.NewContext(b.ctx)
		t.Cleanup(end)
		last = &tab{t: t, ctx: ctx}
		last.run() // so that what follows is bounded by patience
		last.open(b.eval("location.origin") + "/#/tools/forecast")
		last.sees("h1", "forecast")
	}
	last.fill("#f_city", "Kyoto")
	last.keys(kb.Enter)
	last.sees("table.data", "summary")
	b.click(".rail a", "forecast")
	b.sees(".calls", `{"city":"Kyoto"}`)
	b.fill("#f_city", "Tokyo")
	b.keys(kb.Enter)
	last.sees(".calls", `{"city":"Tokyo"}`)
}

// TestFilledByPalette: what the palette fills in can be changed, and a reload keeps the change.
func TestFilledByPalette(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.sees(".cat", "forecast")
	has := func(want string) {
		t.Helper()
		b.until(func() bool { return b.eval("document.querySelector('#f_city')?.value ?? ''") == want }, func() string { return "the field has not " + want })
	}
	for range 2 { // also if the screen is there already
		b.keys("k", input.ModifierCtrl)
		b.sees(".pal", "forecast")
		b.keys("forecast Kyoto" + kb.Enter)
		has("Kyoto")
		b.fill("#f_city", "Tokyo")
		b.run(chromedp.Reload())
		has("Tokyo")
	}
}

// TestBig: a megabyte is shown in part.
func TestBig(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "big")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "Show more of")
	if n := len(b.text("main")); n > 20_000 {
		t.Errorf("%d characters are drawn", n)
	}
}

// TestResourcesAndPrompts is stories 8 and 9: a template with completion, and messages.
func TestResourcesAndPrompts(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "week")
	b.fill("#v-city", "Kyo")
	b.until(func() bool { return strings.Contains(b.eval("document.querySelector('#c-city').innerHTML"), "Kyoto") }, func() string { return "no completion" })
	b.fill("#v-city", "Kyoto")
	b.keys(kb.Enter)
	b.sees("h1", "weather://Kyoto")
	b.sees("[aria-label='What the server says']", "summary")
	b.click(".rail a", "plan_trip")
	b.fill("#f_city", "Kyoto")
	b.click("[data-call]", "Get")
	b.sees("[aria-label='What the server says']", "Kyoto")
	b.sees("[aria-label='What the server says']", "user")
}

// TestWireAndCopy: the frames of a call, and its copies.
func TestWireAndCopy(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys(kb.Enter)
	b.sees("table.data", "summary")
	b.click(".side button", "Copy as")
	b.sees("[data-as=shell]", `kagami call ./weather forecast '{"city":"Kyoto"}'`)
	b.sees("[data-as=test]", "testkit.At(protocol.Rev20260728)")
	b.keys(kb.Escape)
	b.run(chromedp.Evaluate("document.activeElement.blur()", nil))
	b.keys("w")
	b.sees(".axis .say.l", "forecast id ") // which tool
	b.click(".axis button", "result of tools/call")
	b.sees(".axis pre", "structuredContent")
	b.fill("#find", "no such text")
	b.sees("main", "No frame has this text.")
}

// TestFindNewest: the search shows the newest frames, and goes on with new ones.
func TestFindNewest(t *testing.T) {
	const calls = 520
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".cat", "order")
	for range 10 {
		b.eval(fmt.Sprintf(`Promise.all(Array.from({ length: %d }, async () => (await fetch('api/calls', { method: 'POST', headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') }, body: '{"method":"tools/call","name":"errand"}' })).text()))`, calls/10))
	}
	b.eval("location.hash = '#/wire'")
	b.fill("#find", "ERRAND")
	newest := func() string {
		return b.eval("(e => e ? e.id : '')([...document.querySelectorAll('.axis .say.l')].at(-1)) + ' of frame' + Math.max(...[...document.querySelectorAll('.axis .say.l')].map(e => Number(e.id.slice(5))))")
	}
	last := func() string {
		return b.eval(`fetch('api/frames?before=1000000000', { headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') } }).then(r => r.json()).then(all => all.filter(f => f.method === 'tools/call' && f.sent).at(-1).n)`)
	}
	for range 2 {
		b.until(func() bool { n := last(); return newest() == "frame"+n+" of frame"+n }, func() string { return "the newest that is found is " + newest() + ", want " + last() })
		b.eval("fetch('api/calls', { method: 'POST', headers: { 'Kagami-Page': localStorage.getItem('kagami-secret') }, body: '{\"method\":\"tools/call\",\"name\":\"errand\"}' }).then(r => r.text())")
	}
	b.sees(".tools", "the newest 500 of")
}

// TestAskedElsewhere: while another call is shown, the list of calls says which one asks, and leads to it.
func TestAskedElsewhere(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "order")
	b.fill("#f_item", "tea")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Order tea for €58.00?")
	b.click(".asks .go button", "Decline")
	b.sees("[aria-label='What the server says']", "declined")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Order tea for €58.00?")
	b.click(".calls li:last-child .mono", "tea")
	b.until(func() bool { return b.text(".asks") == "" }, func() string { return "the earlier call is not shown" })
	b.click(".calls li button", "asks")
	b.sees(".asks", "Order tea for €58.00?")
}

// TestNoStorage: a browser that keeps no data of the page says what it needs.
func TestNoStorage(t *testing.T) {
	b := newTab(t)
	b.atStart(`Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } })`)
	b.open(serve(t, specimen(t)))
	b.sees("h1", "This page needs its storage")
}

// TestLocked: without the key there is nothing but how to get one.
func TestLocked(t *testing.T) {
	b := newTab(t)
	address := serve(t, weatherOptions(t))
	b.open(address[:strings.IndexByte(address, '?')])
	b.sees("h1", "is locked")
	if text := b.text("body"); strings.Contains(text, "forecast") {
		t.Errorf("it shows %s", text)
	}
	b.open(address)
	b.sees(".cat", "forecast")
	if at := b.eval("location.href"); strings.Contains(at, "k=") {
		t.Errorf("the key stays in the address: %s", at)
	}
}

// TestCompare is story 15: the answers are equal, and each difference is explained once.
func TestCompare(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys(kb.Enter)
	b.sees("table.data", "summary")
	b.click(".side a", "Compare revisions")
	b.click("[data-call]", "Compare")
	b.sees("main", "The answers are equal")
	b.sees(".why", "Each request describes the client")
	b.sees(".why", "Structured results")
	if text := b.text("main"); strings.Contains(text, "no words for it") {
		t.Error("a difference has no explanation")
	}
	b.choose(".head .row label:nth-of-type(1) select", "2025-06-18")
	b.click("[data-call]", "Compare")
	b.sees("table.cmp th", "2025-06-18")
}

// TestForeignServer: a server of the TypeScript SDK's authors, where npm has it.
func TestForeignServer(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, everything(t)))
	b.sees(".cat", "get-sum")
	b.sees(".asks", "The server asks for directories")
	b.click(".asks button", "Decline")
	b.click(".rail a", "get-sum")
	b.fill("#f_a", "2")
	b.fill("#f_b", "40")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "42")
	b.click(".rail a", "trigger-elicitation-request")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Please provide inputs")
	b.click(".asks .go button", "Decline")
	b.sees("[aria-label='What the server says']", "declined")
	b.click(".rail a", "get-tiny-image")
	b.click("[data-call]", "Call")
	b.until(func() bool { return b.eval("document.querySelector('.pix img')?.naturalWidth > 0") == "true" }, func() string { return "the image is not shown" })
}

// TestSecretIsNotRepeated checks that a secret argument is masked, and that Again leaves its field
// empty.
func TestSecretIsNotRepeated(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "unlock")
	b.fill("#f_door", "east")
	b.fill("#f_password", "sesame")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "door east")
	if shown := b.eval("document.querySelector('#f_password').type + Object.values(sessionStorage).some(v => v.includes('sesame'))"); shown != "passwordfalse" {
		t.Errorf("type and whether the tab keeps it: %s", shown)
	}
	b.sees(".calls", `{"door":"east","password":"•••"}`)
	b.click(".calls button", "Again")
	b.sees(".toast", "but for the secrets")
	if n := b.eval("document.querySelectorAll('.calls li').length"); n != "1" {
		t.Errorf("%s calls, want 1", n)
	}
	if kept := b.eval("JSON.stringify([document.querySelector('#f_password').value, document.querySelector('#f_door').value])"); kept != `["","east"]` {
		t.Errorf("the form has %s", kept)
	}
}

// TestResetOfBrokenJSON: Reset replaces what the JSON view shows, also if it does not parse.
func TestResetOfBrokenJSON(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.click(".side [role=tab]", "JSON")
	b.fill("#json", `{"city":`)
	b.sees(".side .err", "line 1, column 9")
	b.click(".side button", "Reset")
	shown := func() string { return b.eval("document.querySelector('#json').value") }
	b.until(func() bool { return shown() == "{}" }, func() string { return "the JSON view shows " + shown() })
}

// TestCopyOfEarlierCall: the key y copies the call that the screen shows, not the newest one.
func TestCopyOfEarlierCall(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys(kb.Enter)
	b.sees(".calls", `{"city":"Kyoto"}`)
	b.fill("#f_days", "2")
	b.keys(kb.Enter)
	b.sees(".calls", `"days":2`)
	b.click(".calls li:last-child .mono", "Kyoto")
	b.until(func() bool { return b.eval("document.querySelector('.calls li:last-child').className") == "sel" }, func() string { return "the earlier call is not shown" })
	b.eval("document.activeElement.blur()")
	b.keys("y")
	b.sees("[data-as=shell]", `forecast '{"city":"Kyoto"}'`)
}

// TestTextsOfResource: what a model reads of a resource is its text.
func TestTextsOfResource(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "note")
	b.sees("[aria-label='What the server says']", "A note.")
	b.click("[role=tab]", "What a model reads")
	b.sees("[aria-label='What the server says'] pre", "A note.")
}
