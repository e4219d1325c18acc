package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// longest is a name of a tool as generators write them, without a place to break.
const longest = "projects_locations_clusters_node_pools_complete_upgrade"

type byID struct {
	ID string `json:"id"`
}

// long returns the options of a page for a server whose names are long.
func long(t *testing.T) page.Options {
	t.Helper()
	server, err := framework.New("long", "1.0").Add(
		framework.Tool(longest, func(context.Context, none) (string, error) { return "done", nil }, framework.Describe("Has a long name."), framework.ReadOnly(), framework.Task(framework.TaskOptional)),
		framework.Tool("dotted.name", func(context.Context, none) (string, error) { return "", nil }, framework.Describe("Has a name that some APIs refuse."), framework.ReadOnly()),
		framework.Resource("files://"+longest, func(context.Context) (string, error) { return "A note.", nil }, framework.Name("note"), framework.Describe("Has a long address.")),
		framework.ResourceTemplate("files://"+longest+"/{id}", func(context.Context, byID) (string, error) { return "A note.", nil }, framework.Name("notes"), framework.Describe("Has a long address.")),
		framework.Prompt(longest, func(context.Context, none) (framework.Messages, error) { return framework.Messages{}, nil }, framework.Describe("Has a long name.")),
	).Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./long"}
}

// inView reports whether the upper edge of an element, and the whole of it if whole is set, lies
// between the bar at the top and the bar with the button Call.
func (b *tab) inView(selector string, whole bool) bool {
	b.t.Helper()
	edge := "0"
	if whole {
		edge = "r.height"
	}
	return b.eval(fmt.Sprintf(`(() => {
		const r = document.querySelector(%q)?.getBoundingClientRect(), bar = document.querySelector('.callbar');
		const end = bar?.offsetHeight ? bar.getBoundingClientRect().top : innerHeight;
		return Boolean(r && r.top >= 52 && r.top + %s <= end);
	})()`, selector, edge)) == "true"
}

func (b *tab) comesIntoView(selector string, whole bool) {
	b.t.Helper()
	b.until(func() bool { return b.inView(selector, whole) }, func() string {
		return selector + " is not in view: " + b.eval(fmt.Sprintf("JSON.stringify([scrollY, innerHeight, document.querySelector(%q)?.getBoundingClientRect()])", selector))
	})
}

// TestNarrow is stories 2, 3 and 10 on a phone: each step shows what comes next without scrolling by hand.
func TestNarrow(t *testing.T) {
	b := newTab(t)
	b.size(390, 844)
	b.open(serve(t, weatherOptions(t)))
	b.click(".cat a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.fill("#f_days", "15")
	b.click(".callbar button", "Call")
	b.sees(".teach", "/days")
	b.comesIntoView(".teach", true)
	b.click(".try button", "Try this")
	b.until(func() bool { return b.eval("document.activeElement.closest('.callbar') !== null") == "true" }, func() string {
		return "the focus is on " + b.eval("document.activeElement.outerHTML")
	})
	if over := b.eval("document.querySelector('.toast').getBoundingClientRect().bottom > document.querySelector('.callbar').getBoundingClientRect().top"); over == "true" {
		t.Error("the notice covers the button that it names")
	}
	b.click(".callbar button", "Call")
	b.sees("table.data", "summary")
	b.comesIntoView(".stat", true)
	if there := b.eval("[...document.querySelectorAll('.calls li button')].some(e => e.textContent === 'Again' && e.offsetHeight >= 44)"); there != "true" {
		t.Error("there is no button Again")
	}
	if broken := b.eval("document.querySelector('table.data tbody td').offsetHeight > 40"); broken == "true" {
		t.Error("a date is broken into lines")
	}
	b.eval("location.hash = '#/prompts/plan_trip'")
	b.sees(".callbar", "Get")
}

// TestNarrowQuestion: a question comes into view with its buttons, and nothing beside them looks like an answer.
func TestNarrowQuestion(t *testing.T) {
	b := newTab(t)
	b.size(390, 844)
	b.open(serve(t, specimen(t)))
	b.click(".cat a", "order")
	b.fill("#f_item", "tea")
	b.click(".callbar button", "Call")
	b.sees(".asks", "Order tea for €58.00?")
	b.comesIntoView(".asks", true)
	if there := b.eval("document.querySelector('.callbar') !== null"); there == "true" {
		t.Error("the button Call stays beside the buttons of the question")
	}
	b.eval("location.hash = '#/wire'")
	b.eval("document.querySelector('.bar .icon').click()")
	b.sees(".rail [href='#/tools/order']", "asks")
	b.click(".rail a", "order")
	b.comesIntoView(".asks", true)
	b.click(".asks .opt", "yes")
	b.click(".asks .go button", "Answer")
	b.sees(".stat", "Result")
	b.comesIntoView(".stat", true)
}

// TestNoSidewaysScrolling: no screen is wider than a phone, whatever the names are.
func TestNoSidewaysScrolling(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, long(t)))
	b.click(".cat a", longest)
	b.click(".side .opt", "As a task")
	b.click("[data-call]", "Call")
	b.sees(".stat", "Result")
	for _, place := range []string{"#/", "#/tools/" + longest, "#/read/files%3A%2F%2F" + longest, "#/templates/files%3A%2F%2F" + longest + "%2F%7Bid%7D", "#/prompts/" + longest, "#/tasks", "#/wire", "#/clients", "#/connect", "#/log"} {
		b.eval("location.hash = '" + place + "'")
		if strings.HasPrefix(place, "#/read/") {
			b.sees(".textblock", "A note.")
		}
		for _, width := range []int64{320, 390} {
			b.size(width, 844)
			b.until(func() bool { return b.eval("document.documentElement.scrollWidth > innerWidth") == "false" }, func() string {
				return fmt.Sprintf("%s is %s px wide in a window of %d px", place, b.eval("document.documentElement.scrollWidth"), width)
			})
		}
	}
}

// TestKeysDialog: the switch for single letters has its words beside it.
func TestKeysDialog(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.sees(".cat", "forecast")
	b.keys("?")
	b.sees(".pal", "Single letters are keys")
	if cut := b.eval("(() => { const p = document.querySelector('.pal'); return p.scrollWidth > p.clientWidth || document.querySelector('.pal .opt').offsetHeight > 30 })()"); cut == "true" {
		t.Error("the words of the switch are cut off")
	}
}

// TestNarrowManyTools: the menu of a narrow window has all entries, and a screen opens at its top.
func TestNarrowManyTools(t *testing.T) {
	schema := map[string]any{}
	for i := range 20 {
		schema[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string"}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": schema})
	if err != nil {
		t.Fatal(err)
	}
	var all []framework.Component
	for i := range 300 {
		all = append(all, framework.Tool(fmt.Sprintf("tool_%04d", i), func(context.Context, json.RawMessage) (string, error) { return "", nil },
			framework.Describe("One of many."), framework.ReadOnly(), framework.InputSchema(text)))
	}
	b := newTab(t)
	b.size(390, 844)
	b.open(serve(t, offering(t, "many", all...)))
	b.sees(".cat", "tool_0099")
	b.eval("scrollTo(0, 1e6)")
	b.click(".cat a", "tool_0099")
	b.sees("h1", "tool_0099")
	b.until(func() bool { return b.eval("scrollY") == "0" }, func() string { return "the screen opens at " + b.eval("scrollY") })
	b.eval("document.querySelector('.bar .icon').click()")
	for _, place := range []string{"tasks", "wire", "log", "clients", "connect"} {
		at := func() string {
			return b.eval("document.querySelector(\".rail [href='#/" + place + "']\").getBoundingClientRect().bottom <= innerHeight")
		}
		b.until(func() bool { return at() == "true" }, func() string { return place + " is below the window" })
	}
	b.click(".rail a.it", "tool_0299")
	b.sees("h1", "tool_0299")
}
