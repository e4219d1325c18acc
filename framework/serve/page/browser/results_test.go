package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol"
)

// offering is a server with these components.
func offering(t *testing.T, name string, components ...framework.Component) page.Options {
	t.Helper()
	server, err := framework.New(name, "1.0").Add(components...).Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./" + name}
}

// TestLargeObject: an object with very many members is drawn in parts.
func TestLargeObject(t *testing.T) {
	const members, most = 20_000, 3000
	b := newTab(t)
	b.open(serve(t, offering(t, "index", framework.Tool("index", func(context.Context, none) (map[string]string, error) {
		all := map[string]string{}
		for i := range members {
			all[fmt.Sprintf("m%05d", i)] = "x"
		}
		return all, nil
	}, framework.Describe("Returns an index."), framework.ReadOnly()))))
	b.click(".rail a", "index")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "m00000")
	var nodes int
	b.run(chromedp.Evaluate("document.querySelectorAll('*').length", &nodes))
	if nodes > most {
		t.Errorf("%d elements, at most %d", nodes, most)
	}
	b.click("[aria-label='What the server says'] button", "Show 200 of 19800 more")
	b.sees("[aria-label='What the server says']", "m00399")
}

// TestOpenedLater: what is in a closed part of a result is there when the part is opened.
func TestOpenedLater(t *testing.T) {
	type inner struct {
		C map[string]map[string]int `json:"c"`
	}
	type outer struct {
		B inner `json:"b"`
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "tree", framework.Tool("tree", func(context.Context, none) (map[string]outer, error) {
		return map[string]outer{"a": {inner{map[string]map[string]int{"d": {"leaf": 4711}}}}}, nil
	}, framework.Describe("Returns a tree."), framework.ReadOnly()))))
	b.click(".rail a", "tree")
	b.click("[data-call]", "Call")
	b.click(".deep summary", "c")
	b.click(".deep summary", "d")
	b.sees("[aria-label='What the server says']", "4711")
}

// TestResultOfLongAgo: an answer stays on the screen although newer ones take its place in the memory.
func TestResultOfLongAgo(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "unlock")
	b.fill("#f_door", "east")
	b.fill("#f_password", "sesame")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "door east")
	b.eval(`(async () => {
		window.readings = 0;
		const own = fetch;
		window.fetch = (path, o) => { if (/^api.calls.\w+$/.test(path) && o.method === 'GET') readings++; return own(path, o); };
		const headers = { 'Kagami-Page': localStorage.getItem('kagami-secret'), 'Content-Type': 'application/json' };
		for (let i = 0; i < 61; i++) await own('api/calls', { method: 'POST', headers, body: '{"method":"tools/call","name":"errand","arguments":{}}' });
	})()`)
	b.until(func() bool { return b.eval("readings > 61") == "true" }, func() string { return b.eval("readings") + " answers were read" })
	b.sees("[aria-label='What the server says']", "door east")
}

// TestTasksOf20251125: a tool becomes a task only if it says that it can, and one that has to starts so.
func TestTasksOf20251125(t *testing.T) {
	done := func(context.Context, none) (string, error) { return "done", nil }
	tool := func(name string, more ...framework.Option) framework.Component {
		return framework.Tool(name, done, append(more, framework.Describe("Is done."), framework.ReadOnly())...)
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "tasks", tool("plain"), tool("either", framework.Task(framework.TaskOptional)), tool("always", framework.Task(framework.TaskRequired)))))
	b.click(".revs button", "2025-11-25")
	b.sees(".revs .on", "2025-11-25")
	for name, want := range map[string]string{"plain": "", "either": "false", "always": "true"} {
		b.click(".rail a", name)
		b.sees("h1", name)
		checked := func() string {
			return b.eval("[...document.querySelectorAll('.side form > .opt input')].map(e => e.checked).join()")
		}
		b.until(func() bool { return checked() == want }, func() string { return fmt.Sprintf("%s: As a task is %q, want %q", name, checked(), want) })
	}
	b.click(".rail a", "always")
	b.sees("h1", "always")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "done")
	b.click(".calls button", "Again")
	b.sees(".calls li:nth-child(2)", "Again")
	b.sees(".stat", "Result")
	b.click(".rail a", "Tasks")
	b.until(func() bool { return strings.Count(b.text("main table"), "completed") == 2 }, func() string { return b.text("main") })
}

// TestTaskAtAnotherRevision: a tool that has to be a task is one also if the revision changes on its screen.
func TestTaskAtAnotherRevision(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "tasks", framework.Tool("always", func(context.Context, none) (string, error) { return "done", nil },
		framework.Describe("Is done."), framework.ReadOnly(), framework.Task(framework.TaskRequired)))))
	b.click(".rail a", "always")
	b.sees("h1", "always")
	b.choose("[aria-label='Revision to speak']", "2025-11-25")
	b.until(func() bool { return b.eval("document.querySelector('.side form > .opt input')?.checked") == "true" }, func() string { return b.text(".side") })
}

// TestHiddenCharacters: what cannot be seen is shown wherever the server's texts are.
func TestHiddenCharacters(t *testing.T) {
	const shown = "⟨U+061C⟩"
	b := newTab(t)
	b.open(serve(t, offering(t, "hidden",
		framework.Tool("typed", func(context.Context, none) (framework.Content, error) {
			return framework.Content{protocol.Image{Data: []byte("x"), MIME: "image/\u061cpng"}}, nil
		}, framework.Describe("Has a type."), framework.ReadOnly()),
		framework.Tool("colored", func(context.Context, none) (string, error) { return "\x1b[31mred\u3164\n", nil }, framework.Describe("Has colors."), framework.ReadOnly()),
		framework.Tool("rows", func(context.Context, none) ([]map[string]any, error) {
			return []map[string]any{{"a": "x"}, {"a": []string{"y\u061c"}}}, nil
		}, framework.Describe("Has rows."), framework.ReadOnly()),
		framework.Resource("hidden://note", func(context.Context) (string, error) { return "A note.", nil }, framework.Name("no\u061cte"), framework.Describe("A note."), framework.MIME("text/plain")),
	)))
	b.sees("main", "no"+shown+"te")
	b.click(".rail a", "typed")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says'] .bh", "image/"+shown+"png")
	b.click(".rail a", "colored")
	b.click("[data-call]", "Call")
	b.sees(".textblock", "⟨U+001B⟩[31mred⟨U+3164⟩")
	b.click(".rail a", "rows")
	b.click("[data-call]", "Call")
	b.sees("table.data", `["y`+shown+`"]`)
}

// TestHiddenEverywhere checks that invisible characters are shown in the title of the tab, in
// faults and in earlier calls. They include the variation selectors, because these can carry a
// hidden text.
func TestHiddenEverywhere(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "count", framework.Tool("count", func(context.Context, json.RawMessage) (string, error) {
		return "counted\u206a\ufe01\U000e0080, \u2764\ufe0f", nil
	}, framework.Describe("Counts."), framework.ReadOnly(), framework.InputSchema(json.RawMessage(`{"type":"object","additionalProperties":{"type":"integer"}}`))),
		framework.Resource("count://\u202etxt", func(context.Context) (string, error) { return "A note.", nil }, framework.Name("note"), framework.Describe("A note.")))))
	b.click(".rail a", "count")
	b.click("[data-call]", "Call")
	b.sees(".textblock", "counted⟨U+206A⟩⟨U+FE01⟩⟨U+E0080⟩, \u2764\ufe0f")
	b.click("[role=tab]", "JSON")
	b.json(`{"a\u202e":"x"}`)
	b.click("[data-call]", "Call")
	b.sees(".teach button", "/a⟨U+202E⟩")
	b.sees(".calls", `{"a⟨U+202E⟩":"x"}`)
	b.click(".rail a", "note")
	b.sees("h1", "count://⟨U+202E⟩txt")
	if title := b.eval("document.title"); !strings.HasPrefix(title, "count://⟨U+202E⟩txt") {
		t.Errorf("the title of the tab is %q", title)
	}
}

// TestListsHaveValues: what is chosen in a list is what the page uses.
func TestListsHaveValues(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	for _, screen := range []string{"#/", "#/log", "#/wire"} {
		b.eval("location.hash = '" + screen + "'")
		b.until(func() bool { return b.eval("document.querySelectorAll('main select option').length > 0") == "true" }, func() string { return screen + ":\n" + b.text("main") })
		if wrong := b.eval("[...document.querySelectorAll('select option')].filter(o => o.value !== o.text).map(o => o.text).join()"); wrong != "" {
			t.Errorf("%s: the values of %s differ", screen, wrong)
		}
	}
	b.choose("[aria-label='Kind']", "requests")
	b.until(func() bool { return b.eval("document.querySelector(\"[aria-label='Kind']\").value") == "requests" }, func() string { return b.text("main") })
}

// TestFailedWithData: of an answer that is an error, the page shows everything.
func TestFailedWithData(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "fails", framework.Tool("fail", func(context.Context, none) (framework.Rich[map[string]int], error) {
		return framework.Rich[map[string]int]{IsError: true, Value: map[string]int{"code": 4711}, Content: framework.Content{protocol.Text{Text: "no"}}}, nil
	}, framework.Describe("Fails."), framework.ReadOnly()))))
	b.click(".rail a", "fail")
	b.click("[data-call]", "Call")
	b.click("[aria-label='What the server says'] summary", "The whole answer")
	b.sees("[aria-label='What the server says']", "4711")
}

// TestDigitsOfLog: the data of a log message has all its digits.
func TestDigitsOfLog(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "logs", framework.Tool("log", func(ctx context.Context, _ none) (string, error) {
		framework.Notify(ctx, protocol.LevelError, "counted", zap.Int64("id", 9007199254740993))
		return "done", nil
	}, framework.Describe("Logs."), framework.ReadOnly()))))
	b.click(".rail a", "log")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "done")
	b.eval("location.hash = '#/log'")
	b.sees("main", "9007199254740993")
}

// TestStopReading: Escape stops the reading of a resource, and a screen reader hears only its state.
func TestStopReading(t *testing.T) {
	says := "[aria-label='What the server says']"
	b := newTab(t)
	b.open(serve(t, offering(t, "waits", framework.Resource("waits://long", func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, framework.Name("long"), framework.Describe("Never ends.")))))
	b.click(".rail a", "long")
	b.sees(says+" [aria-live]", "Running")
	if loud := b.eval("document.querySelector('.stat .num').closest('[aria-live]') !== null"); loud == "true" {
		t.Error("the time of a running call is announced")
	}
	b.keys(kb.Escape)
	b.sees(says+" .stat", "Stopped")
	b.sees(says+" [aria-live]", "Stopped")
}

// TestCutString: a text with very many quotes, which is cut within, keeps the page responsive.
func TestCutString(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "rows", framework.Tool("rows", func(context.Context, none) (string, error) {
		return "[" + strings.Repeat(`{"a":"b"},`, 100_000) + "{}]", nil
	}, framework.Describe("Returns rows as a text."), framework.ReadOnly()))))
	b.click(".rail a", "rows")
	b.click("[data-call]", "Call")
	says := "[aria-label='What the server says']"
	b.sees(says, "Show 200 of")
	b.click(says+" [role=tab]", "JSON")
	b.sees(says, "65.5 KB of 1.4 MB")
	b.click(says+" button", "Show more")
	b.sees(says, "262.1 KB of 1.4 MB")
	const most = 1000
	took := math.Inf(1) // the least of several, because a busy machine interrupts some
	for range 3 {
		var once float64
		b.run(chromedp.Evaluate(`(() => { const began = performance.now(), tabs = document.querySelectorAll("`+says+` [role=tab]"); tabs[2].click(); tabs[1].click();
			return new Promise(done => setTimeout(() => done(performance.now() - began))); })()`, &once, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		took = min(took, once)
	}
	if took > most {
		t.Errorf("drawing took %.0f ms, want at most %d", took, most)
	}
	b.sees(says+" pre", `[{\"a\":\"b\"}`)
}

// TestWideResults checks that the page draws only a part of a result with very many parts, however
// they are nested.
func TestWideResults(t *testing.T) {
	const most = 12_000
	objects := func(n, members int, name string) []map[string]int {
		all := make([]map[string]int, n)
		for i := range all {
			all[i] = map[string]int{}
			for j := range members {
				all[i][fmt.Sprintf(name, j, i)] = j
			}
		}
		return all
	}
	tool := func(name string, run func(context.Context, none) (any, error)) framework.Component {
		return framework.Tool(name, run, framework.Describe("Returns much."), framework.ReadOnly())
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "wide",
		tool("columns", func(context.Context, none) (any, error) { return objects(250, 250, "m%d_%d"), nil }),
		tool("groups", func(context.Context, none) (any, error) {
			all := map[string]any{}
			for i, one := range objects(300, 200, "m%d_%d") {
				all[fmt.Sprintf("g%03d", i)] = one
			}
			return all, nil
		}),
		framework.Tool("blocks", func(context.Context, none) (framework.Content, error) {
			all := make(framework.Content, 20_000)
			for i := range all {
				all[i] = protocol.Text{Text: "m0_0"}
			}
			return all, nil
		}, framework.Describe("Returns much."), framework.ReadOnly()),
	)))
	for _, name := range []string{"columns", "groups", "blocks"} {
		b.click(".rail a", name)
		b.sees("h1", name)
		b.click("[data-call]", "Call")
		b.sees("[aria-label='What the server says']", "more")
		var nodes int
		b.run(chromedp.Evaluate("document.querySelectorAll('*').length", &nodes))
		if nodes > most {
			t.Errorf("%s: %d elements, at most %d", name, nodes, most)
		}
	}
}

// TestWideEarlierResult checks that the groups of an earlier result are open or not by its own size, not by the size
// of the result before it on the screen.
func TestWideEarlierResult(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "wide", framework.Tool("groups", func(_ context.Context, in struct {
		Members int `json:"members"`
	},
	) (any, error) {
		all := map[string]any{}
		for i := range 200 {
			group := map[string]int{}
			for j := range in.Members {
				group[fmt.Sprintf("m%d", j)] = j
			}
			all[fmt.Sprintf("g%03d", i)] = group
		}
		return all, nil
	}, framework.Describe("Returns groups."), framework.ReadOnly()))))
	b.click(".rail a", "groups")
	for i, members := range []string{"1", "199", "1", "199"} {
		if i < 2 {
			b.fill("#f_members", members)
			b.click("[data-call]", "Call")
		} else {
			b.click(".calls button", ":"+members+"}")
		}
		b.sees(".calls .sel", ":"+members+"}")
		open := map[string]string{"1": "200 of 200", "199": "0 of 200"}[members]
		b.until(func() bool {
			return b.eval("`${document.querySelectorAll('details.deep[open]').length} of ${document.querySelectorAll('details.deep').length}`") == open
		}, func() string { return "not " + open + " groups of " + members + " are open" })
	}
}

// TestAddressOfFrame checks that the address of a frame opens it, also from another frame, and
// among many later ones.
func TestAddressOfFrame(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.sees(".cat", "send_parcel")
	opens := func(n string) {
		t.Helper()
		b.eval("location.hash = '#/wire/" + n + "'")
		b.until(func() bool {
			return b.eval("document.querySelector('#frame"+n+" > [aria-expanded=true]') !== null") == "true"
		}, func() string { return "frame " + n + " is not open:\n" + b.text("main") })
		b.comesIntoView("#frame"+n, false)
	}
	opens("3")
	opens("5")
	b.eval(`(async () => {
		const headers = { 'Kagami-Page': localStorage.getItem('kagami-secret'), 'Content-Type': 'application/json' };
		await Promise.all(Array.from({ length: 110 }, () => fetch('api/calls', { method: 'POST', headers, body: '{"method":"ping","name":""}' })));
	})()`)
	b.until(func() bool { return strings.Contains(b.text(".tools"), " of 2") }, func() string { return b.text(".tools") })
	b.eval("location.hash = '#/'")
	b.sees("h1", "Specimen")
	opens("4")
}

// TestSizeOfText: the sizes of text blocks and pictures are in bytes.
func TestSizeOfText(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "sizes", framework.Tool("sizes", func(context.Context, none) (framework.Content, error) {
		return framework.Content{protocol.Text{Text: "鏡は鏡"}, protocol.Image{Data: dot(), MIME: "image/gif"}}, nil
	}, framework.Describe("Returns a text and a picture."), framework.ReadOnly()))))
	b.click(".rail a", "sizes")
	b.click("[data-call]", "Call")
	b.sees(".block .bh", "9 bytes")
	b.sees("[aria-label='What the server says']", fmt.Sprintf("image/gif, %d bytes", len(dot())))
}

// TestEarlierIsWrittenOnce: a change of the form does not write the arguments of all earlier calls again.
func TestEarlierIsWrittenOnce(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "pick", `{"type":"object","properties":{"a":{"type":"string"}}}`)))
	b.click(".rail a", "pick")
	for _, text := range []string{"needle 1", "needle 2", "other"} {
		b.fill("#f_a", text)
		b.keys(kb.Enter)
		b.sees(".calls", text)
	}
	b.eval("(() => { const plain = JSON.stringify; window.written = 0; JSON.stringify = (v, ...rest) => { if (String(v).includes('needle')) written++; return plain(v, ...rest); }; })()")
	b.fill("#f_a", "more")
	b.sees("#f_a-l", "a")
	b.settles()
	if n := b.eval("window.written"); n != "0" {
		t.Errorf("the arguments of earlier calls were written %s times", n)
	}
}

// TestTableWithLists: a list of objects is a table also if they have short lists.
func TestTableWithLists(t *testing.T) {
	type row struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	b := newTab(t)
	b.open(serve(t, offering(t, "rows", framework.Tool("rows", func(context.Context, none) ([]row, error) {
		return []row{{"one", []string{"a", "b"}}, {"two", nil}}, nil
	}, framework.Describe("Rows."), framework.ReadOnly()))))
	b.click(".rail a", "rows")
	b.click("[data-call]", "Call")
	b.sees("table.data tbody", `["a","b"]`)
}

// TestOnlyAsATask: the page says what to do with a tool that runs only as a task, which 2026-07-28 does not list.
func TestOnlyAsATask(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, offering(t, "tasks", framework.Tool("always", func(context.Context, none) (string, error) { return "done", nil },
		framework.Describe("Is done."), framework.ReadOnly(), framework.Task(framework.TaskRequired)))))
	b.click(".rail a", "always")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", `Check "As a task", and call again.`)
	b.click(".side .opt input", "")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "done")
}
