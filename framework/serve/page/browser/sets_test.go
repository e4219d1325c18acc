package browser_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSet: earlier calls are kept as a file, and another tab uses them, by keys alone.
func TestSet(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "unlock")
	for _, door := range []string{"east", "west", "east"} {
		b.fill("#f_door", door)
		b.fill("#f_password", "sesame")
		b.click("[data-call]", "Call")
		b.sees("[aria-label='What the server says']", "door "+door)
	}
	dir := t.TempDir()
	b.run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir))
	b.click(".calls button", "Keep as a set")
	b.sees(".toast", "Kept 2 calls")
	file := filepath.Join(dir, "unlock.calls.json")
	want := `{"kagamiCalls":1,"calls":[{"method":"tools/call","name":"unlock","arguments":{"door":"east"}},{"method":"tools/call","name":"unlock","arguments":{"door":"west"}}]}`
	b.until(func() bool { return compact(file) == want }, func() string { return "the file has " + compact(file) })

	other := newTab(t)
	other.open(serve(t, specimen(t)))
	other.click(".rail a", "unlock")
	other.chooses(t, file)
	other.keys("k", input.ModifierCtrl)
	other.sees(".pal", "unlock")
	other.keys("open a set" + kb.Enter)
	other.sees(".toast", "unlock: 2 calls of unlock")
	other.sees(".set h2", "Set unlock")
	other.judge(source, "a set")
	other.eval("document.querySelector('.set li:last-child button').focus()")
	other.keys(kb.Enter)
	other.until(func() bool {
		return other.eval("document.querySelector('#f_door').value + document.activeElement.hasAttribute('data-call')") == "westtrue"
	}, func() string { return "the form is not filled, or the focus is not on Call" })
	if n := other.eval("document.querySelectorAll('.calls:not(.set) li').length"); n != "0" {
		t.Errorf("the set made %s calls", n)
	}
	other.picturesOf("set")
	other.run(chromedp.Reload())
	other.sees(".set", `{"door":"west"}`)
	other.click(".set button", "Close the set")
	other.until(func() bool { return other.eval("document.querySelector('.set') === null") == "true" }, func() string { return "the set stays" })
}

// TestForeignSet: a file of any kind is refused with the reason, and what it holds is text.
func TestForeignSet(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, specimen(t)))
	b.click(".rail a", "unlock")
	for text, want := range map[string]string{
		"no JSON":          "line 1, column 1",
		`{"kagamiPage":1}`: "it is not a set of calls",
		`{"kagamiCalls":1,"calls":[{"method":"ping","name":"unlock"}]}`: "call 1 is not a call of a tool or prompt",
		`"` + strings.Repeat("x", 1<<20) + `"`:                          "larger than 1 MB",
	} {
		file := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.opensSet(t, file)
		b.sees(".toast", want)
	}
	file := filepath.Join(t.TempDir(), "x.json")
	hostile := `{"kagamiCalls":1,"calls":[{"method":"tools/call","name":"unlock","arguments":{"door":"<img src=x onerror=alert(1)>` + "\u202e" + `","n":9007199254740993}}]}`
	if err := os.WriteFile(file, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	b.opensSet(t, file)
	b.sees(".set", `onerror=alert(1)>⟨U+202E⟩","n":9007199254740993`)
	if n := b.eval("document.querySelectorAll('.set img').length"); n != "0" {
		t.Errorf("%s images came from the file", n)
	}
}

// opensSet opens a file by the button of a tool. A browser opens the dialog only after a real press.
func (b *tab) opensSet(t *testing.T, file string) {
	t.Helper()
	b.chooses(t, file)
	b.eval("document.querySelector('.calls:not(.set) .end button:last-child').focus()")
	b.keys(kb.Enter)
}

// chooses answers the next dialog for a file.
func (b *tab) chooses(t *testing.T, file string) {
	t.Helper()
	ctx, done := context.WithCancel(b.ctx)
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*cdppage.EventFileChooserOpened); ok {
			done()
			go func() {
				to := chromedp.FromContext(b.ctx).Target
				_ = dom.SetFileInputFiles([]string{file}).WithBackendNodeID(e.BackendNodeID).Do(cdp.WithExecutor(b.ctx, to)) // the test waits for what the page says
			}()
		}
	})
	b.run(cdppage.SetInterceptFileChooserDialog(true))
}

// picturesOf makes pictures of a state in light and dark, wide and narrow, if they are wanted.
func (b *tab) picturesOf(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	b.picture(filepath.Join(*pictures, name+".png"))
	b.dark(true)
	b.picture(filepath.Join(*pictures, name+"-dark.png"))
	b.dark(false)
	b.size(390, 844)
	b.picture(filepath.Join(*pictures, name+"-narrow.png"))
	b.size(1440, 900)
}

// compact returns a file of JSON without blanks, or why it cannot be read.
func compact(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err.Error()
	}
	out, err := json.Marshal(raw)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
