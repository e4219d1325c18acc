package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// patience bounds each wait for something to appear.
const patience = 20 * time.Second

// tab is one tab of a browser with an empty profile.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // of the console; a refused request is one
}

// newTab starts a browser. Errors in the console, and what the policy has blocked, fail the test.
func newTab(t *testing.T) *tab {
	t.Helper()
	path := chromium(t)
	profile, err := os.MkdirTemp("", "kagami-browser-") //nolint:usetesting // a process of the browser may write into it until it is gone
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(profile),
	)
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocated)
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			b.keepPicture()
		}
		end()
		cancel()
		for range 40 { // a process of the browser may still write into it
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	chromedp.ListenTarget(ctx, b.listen)
	b.run(cdplog.Enable())
	b.size(1440, 900)
	return b
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium: install Debian's package chromium")
	return ""
}

func (b *tab) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.LevelError {
			text = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if text != "" {
		b.mu.Lock()
		b.faults = append(b.faults, text)
		b.mu.Unlock()
	}
}

func (b *tab) noFaults() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		b.t.Errorf("in the console: %s", fault)
	}
	b.faults = nil
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	ctx := b.ctx
	if chromedp.FromContext(ctx).Target != nil { // the first run starts the browser, which lives as long as its context
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text("body"))
	}
}

// open goes to an address.
func (b *tab) open(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
	// Before the page ends, which its script would report.
	b.t.Cleanup(func() {
		b.noFaults()
		if !b.t.Failed() {
			b.run(chromedp.Navigate("about:blank"))
		}
	})
}

// eval runs a script, and returns its text.
func (b *tab) eval(script string) string {
	b.t.Helper()
	var out any
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Evaluate(script, &out, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })); err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return fmt.Sprint(out)
}

// text returns the visible text of an element, or "" if the element does not exist.
func (b *tab) text(selector string) string {
	var out string
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector), &out))
	return out
}

// sees waits until an element shows a text.
func (b *tab) sees(selector, part string) {
	b.t.Helper()
	b.until(func() bool { return strings.Contains(b.text(selector), part) }, func() string {
		return fmt.Sprintf("%s shows %q, want %q", selector, b.text(selector), part)
	})
}

// until waits for a condition.
func (b *tab) until(ok func() bool, why func() string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			b.t.Fatal(why())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// click presses the first element of that kind whose text has a part.
func (b *tab) click(selector, part string) {
	b.t.Helper()
	script := fmt.Sprintf(`(() => { const e = [...document.querySelectorAll(%q)].find(e => e.innerText.includes(%q) && e.offsetParent); if (!e) return 'none'; e.scrollIntoView({block:'center'}); e.click(); return 'done' })()`, selector, part)
	b.until(func() bool { return b.eval(script) == "done" }, func() string { return fmt.Sprintf("no %s with %q:\n%s", selector, part, b.text("body")) })
}

// fill types into a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Focus(selector, chromedp.ByQuery),
		chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).select?.()", selector), nil))
	b.keys(kb.Delete + text)
}

// keys types keys at the current focus. As with a real keyboard, a key types its character unless a
// script prevents that.
func (b *tab) keys(keys string, modifiers ...input.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		for _, event := range kb.Encode(r) {
			if event.Type == input.KeyChar {
				continue
			}
			for _, m := range modifiers {
				event.Modifiers |= m
			}
			if event.Type != input.KeyUp {
				event.Type = input.KeyDown
				if len(modifiers) == 0 && (r >= ' ' && r < 0x7f || r == '\r') {
					event.Text = string(r)
				}
			}
			b.run(event)
		}
	}
}

// size sets the window.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, height, 1, false))
}

// dark chooses the theme that the system prefers.
func (b *tab) dark(on bool) {
	b.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[on]
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}

func (b *tab) picture(path string) {
	b.t.Helper()
	var png []byte
	b.run(chromedp.CaptureScreenshot(&png))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// keepPicture keeps what a failed test has seen.
func (b *tab) keepPicture() {
	var png []byte
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)) == nil {
		path := filepath.Join(os.TempDir(), "kagami-page-"+strings.ReplaceAll(b.t.Name(), "/", "-")+".png")
		if os.WriteFile(path, png, 0o644) == nil {
			b.t.Logf("what it looked like: %s", path)
		}
	}
}

// serve starts a page and returns its address with the key.
func serve(t *testing.T, o page.Options) string {
	t.Helper()
	p, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return shown(t, p)
}

// shown serves a page that is there already.
func shown(t *testing.T, p *page.Page) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, "127.0.0.1:0", func(address string) { ready <- address }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case address := <-ready:
		return address
	case err := <-served:
		t.Fatal(err)
		return ""
	}
}

// scratch is a folder for what several tests use.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kagami-browser-")
	if err != nil {
		log.Fatal(err)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// weather builds examples/weather, once.
var weather = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "weather")
	build := exec.Command("go", "build", "-o", path, "./examples/weather")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, nil
})

// weatherOptions returns the options of a page for examples/weather on stdio.
func weatherOptions(t *testing.T) page.Options {
	t.Helper()
	path, err := weather()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Where: "./weather", Command: func(context.Context) (*exec.Cmd, error) { return exec.Command(path), nil }}
}

// clearCookies forgets all cookies of the profile.
func clearCookies(ctx context.Context) error { return network.ClearBrowserCookies().Do(ctx) }

// decode reads JSON.
func decode(t *testing.T, from io.Reader, into any) {
	t.Helper()
	if err := json.NewDecoder(from).Decode(into); err != nil {
		t.Fatal(err)
	}
}
