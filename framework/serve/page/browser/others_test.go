package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestOtherSDKs: servers of the official Go SDK and of mcp-go, on stdio and over HTTP.
func TestOtherSDKs(t *testing.T) {
	for _, name := range []string{"gosdk", "mcpgo"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			build := exec.Command("go", "build", "-o", path, "./targets/"+name)
			build.Dir = filepath.Join("..", "..", "..", "..", "testkit", "bench")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b := newTab(t)
			b.open(serve(t, page.Options{Where: name, Command: func(context.Context) (*exec.Cmd, error) { return exec.Command(path, "stdio"), nil }}))
			b.click(".rail a", "add")
			b.sees("h1", "add")
			b.fill("#f_a", "2")
			b.fill("#f_b", "40")
			press(b)
			b.sees("[aria-label='What the server says']", "42")
			b.eval("location.hash = '#/wire'")
			b.sees(".axis", "tools/call")
		})
	}
}

// press calls a tool that does not say whether it destroys: that takes two presses.
func press(b *tab) {
	b.t.Helper()
	b.click("[data-call]", "Call")
	b.click("[data-call]", "may destroy")
}

// misbehaves names the variable that makes a process of this test a server that breaks the rules.
const misbehaves = "KAGAMI_TEST_MISBEHAVES"

func init() { //nolint:gochecknoinits // before the tests of a process that is no test
	switch os.Getenv(misbehaves) {
	case "":
		return
	case "loudly":
		loud()
	default:
		misbehave()
	}
	os.Exit(0)
}

// misbehave is a server on stdio with a schema of 5 MB, garbage between its answers, answers to
// nothing, a tool that never answers and one that answers with what is no result.
func misbehave() {
	large := strings.Repeat(`{"type":"string","description":"`+strings.Repeat("x", 900)+`"},`, 5500)
	tools := `[7, {"name":"large","inputSchema":{"type":"object","properties":{"a":{"anyOf":[` + large + `{"type":"null"}]}}}},
		{"name":"silent","inputSchema":{"type":"object"}}, {"name":"unknown","inputSchema":{"type":"object"}}, {"name":"embedded","inputSchema":{"type":"object"}}, {"name":"","inputSchema":{"type":"object"}}, {"name":"odd","inputSchema":"no schema"}, {"name":"strange","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}},
		{"name":"ahead","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)"}}}}, {"name":"nothing","inputSchema":{"type":"object"}}, {"name":"faulty","inputSchema":{"type":"object"}},
		{"name":"single","inputSchema":{"type":"object","dependentRequired":7,"allOf":[{"required":7}]}},
		{"name":"endless","inputSchema":` + endless() + `}]`
	results := map[string]string{
		"initialize":   `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"odd","version":"1"}}`,
		"tools/list":   `{"tools":` + tools + `}`,
		"prompts/list": `{"prompts":[{"name":"plain","arguments":{"a":"no list"}},{"name":"nameless","arguments":[{"description":"x"},{"name":5}]}]}`,
		"large":        `{"content":[{"type":"text","text":"it came"}]}`,
		"odd":          `[1,2,3]`,
		"faulty":       `{"isError":true,"content":[],"_meta":{"kagami/invalidArguments":{"issues":[{"path":7,"got":{"toString":1},"want":"text"}]}}}`,
		"strange":      `{"content":[],"structuredContent":{"b":1}}`,
		"ahead":        `{"content":[],"structuredContent":{"a":"x"}}`,
		"nothing":      `{"content":[{"type":"text","text":"beside null"}],"structuredContent":null}`,
		"single":       `{"content":{"type":"text","text":"no list"},"structuredContent":{"b":1}}`,
		"embedded":     `{"content":[{"type":"resource","resource":{"uri":"a://dot","mimeType":"image/gif","blob":"` + base64.URLEncoding.EncodeToString(dot()) + `"}}]}`,
		"unknown":      `{"content":[{"type":"hologram","depth":7},{"type":"text","text":"beside it"}]}`,
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		fmt.Print("this is no JSON\n{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n[]\n{\"method\":7}\n")
		key := m.Method
		if key == "tools/call" {
			key = m.Params.Name
		}
		if key == "prompts/list" {
			fmt.Print(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":{"toString":1},"logger":["a",{"valueOf":1,"toString":2}],"data":"logged"}}` + "\n")
		}
		if result, ok := results[key]; ok {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, strings.ReplaceAll(result, "\n", ""))
		} else if key != "silent" {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n", m.ID)
		}
	}
}

// changes is how often the loud server announces that its tools have changed.
const changes = 300

// loud is a server on stdio with one tool. A call of it announces changes of the tools, one after the
// other.
func loud() {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"loud","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"shout","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"I have shouted."}]}`,
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == "tools/call" {
			fmt.Print(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", changes))
		}
		if result, ok := results[m.Method]; ok {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, result)
		} else {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n", m.ID)
		}
	}
}

// TestManyChanges: changes that come together lead to few readings of the lists.
func TestManyChanges(t *testing.T) {
	const most = 30
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Where: "loud", Command: func(context.Context) (*exec.Cmd, error) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), misbehaves+"=loudly")
		return cmd, nil
	}}))
	b.click(".rail a", "shout")
	b.sees("h1", "shout")
	b.eval(`(() => { window.readings = 0; const own = fetch; window.fetch = (path, o) => { if (path === 'api/offers') readings++; return own(path, o); }; })()`)
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "I have shouted.")
	var readings int
	b.run(chromedp.Evaluate("readings", &readings))
	if readings == 0 || readings > most {
		t.Errorf("%d changes lead to %d readings, want 1 to %d", changes, readings, most)
	}
}

// endless returns a schema that refers to itself: 26 times in required members, three times in one place, and in a ring.
func endless() string {
	properties, required := map[string]any{}, []string{}
	for letter := 'a'; letter <= 'z'; letter++ {
		properties[string(letter)] = map[string]string{"$ref": "#/$defs/tree"}
		required = append(required, string(letter))
	}
	loop := map[string]string{"$ref": "#/$defs/loop"}
	schema, _ := json.Marshal(map[string]any{
		"type": "object", "required": []string{"tree"},
		"properties": map[string]any{
			"tree": map[string]string{"$ref": "#/$defs/tree"}, "loop": loop, "ring": map[string]string{"$ref": "#/$defs/ring"},
		},
		"$defs": map[string]any{
			"tree": map[string]any{"type": "object", "required": required, "properties": properties},
			"loop": map[string]any{"allOf": []any{loop, loop, loop}},
			"ring": map[string]string{"$ref": "#/$defs/ring"},
		},
	})
	return string(schema)
}

// dot returns a picture of one pixel. The URL-safe alphabet of base64 writes it in another way than the
// standard one.
func dot() []byte {
	var out bytes.Buffer
	_ = gif.Encode(&out, image.NewPaletted(image.Rect(0, 0, 1, 1), []color.Color{color.RGBA{0xfb, 0xff, 0xbf, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}}), nil)
	return out.Bytes()
}

// TestMisbehavingServer: the page stays usable, says what is wrong, and shows the frames.
func TestMisbehavingServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{Where: "odd", Command: func(context.Context) (*exec.Cmd, error) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), misbehaves+"=1")
		return cmd, nil
	}}))
	says := "[aria-label='What the server says']"
	b.sees(".cat", "silent")
	b.click(".rail a", `""`)
	b.sees("h1", `""`)
	b.click(".rail a", "Log")
	b.sees("h1", "Log")
	for _, part := range []string{`{"toString":1}`, `["a",{"valueOf":1,"toString":2}]`, "logged"} {
		b.sees("table.data", part)
	}
	b.click(".rail a", "large")
	b.sees("h1", "large")
	press(b)
	b.sees(says, "it came")
	b.click(".rail a", "strange")
	b.sees("h1", "strange")
	press(b)
	b.sees(says, "breaks the output schema")
	b.click(".rail a", "ahead")
	b.sees("h1", "ahead")
	press(b)
	b.sees(says, "The page cannot check it against the output schema of the tool")
	b.click(".rail a", "nothing")
	b.sees("h1", "nothing")
	press(b)
	b.sees(says, "beside null")
	b.click(".rail a", "unknown")
	b.sees("h1", "unknown")
	press(b)
	b.sees(says, "a kind that the page does not know")
	b.sees(says, "beside it")
	b.click(".rail a", "embedded")
	b.sees("h1", "embedded")
	press(b)
	width := func() string { return b.eval("document.querySelector('.pix img')?.naturalWidth ?? 0") }
	b.until(func() bool { return width() == "1" }, func() string { return "the picture in the URL-safe alphabet is not shown" })
	b.click(".rail a", "single")
	b.sees("h1", "single")
	press(b)
	b.sees(says, "content must be an array")
	b.click(".rail a", "plain")
	b.sees("h1", "plain")
	b.click(".rail a", "nameless")
	b.sees("h1", "nameless")
	b.click(".rail a", "faulty")
	b.sees("h1", "faulty")
	press(b)
	b.sees(says, "Want text.")
	b.click(".rail a", "endless")
	b.sees("h1", "endless")
	b.sees(".side", "or to itself without end")
	b.sees(".side .nest", "+ Fill in")
	b.eval("location.hash = '#/tools/%'")
	b.sees("h1", "There is no tool of this name")
	b.click(".rail a", "odd")
	b.sees("h1", "odd")
	press(b)
	b.until(func() bool { return b.text(says) != "" && !strings.Contains(b.text(says), "Running") }, func() string { return b.text(says) })
	b.click(".rail a", "silent")
	b.sees("h1", "silent")
	press(b)
	b.sees(says, "Running")
	b.click(".side button", "Stop")
	b.sees(says, "Stopped")
	b.eval("location.hash = '#/wire'")
	b.sees(".axis", "not JSON-RPC")
}

// TestSavedSession: what is saved with a button is shown again, and says that nothing is called.
func TestSavedSession(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, weatherOptions(t)))
	b.click(".rail a", "forecast")
	b.fill("#f_city", "Kyoto")
	b.keys("\r")
	b.sees("[aria-label='What the server says']", "fits its schema")
	b.eval("URL.createObjectURL = blob => { blob.text().then(text => { window.kept = text; }); return '#/wire'; }; location.hash = '#/wire'")
	b.click("button", "Save the session")
	b.until(func() bool { return b.eval("typeof window.kept") == "string" }, func() string { return "nothing is saved" })
	p, err := page.Open(strings.NewReader(b.eval("window.kept")))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b.open(shown(t, p))
	b.sees(".banner", "This session was saved at")
	b.sees(".cat", "forecast")
	t.Logf("shown after %v", time.Since(began))
	b.click(".rail a", "forecast")
	b.sees("[aria-label='What the server says']", "fits its schema")
	b.fill("#f_city", "Kyoto")
	b.keys("\r")
	b.sees("body", "This is a saved session")
	b.eval("location.hash = '#/wire'")
	b.sees(".axis", "tools/call")
}
