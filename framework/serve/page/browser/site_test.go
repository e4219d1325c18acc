package browser_test

import (
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var sitePictures = flag.String("site-pictures", "", "write pictures of the site of the guides into this directory")

// sitePages are the pages of the site that the browser reads.
var sitePages = []string{"index.html", "start.html", "tools.html", "auth.html"}

// buildSite builds the site of the guides, and returns its directory.
var buildSite = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "docs", "site"))
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, {"run", "build"}} {
		npm := exec.Command("npm", args...)
		npm.Dir = dir
		if out, err := npm.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm %s: %w\n%s", args[0], err, out)
		}
	}
	return filepath.Join(dir, "dist"), nil
})

// site returns the directory of the built site.
func site(t *testing.T) string {
	t.Helper()
	dir, err := buildSite()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveSite serves the site on a free port of 127.0.0.1 and returns its address.
func serveSite(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.FileServer(http.Dir(site(t))))
	t.Cleanup(web.Close)
	return web.URL
}

// requests collects the requests of a tab that failed or went to another host.
type requests struct {
	own string

	mu     sync.Mutex
	faults []string
}

func (r *requests) listen(event any) {
	fault := ""
	switch e := event.(type) {
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			fault = fmt.Sprintf("%d for %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			fault = e.ErrorText
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, r.own) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") {
			fault = "a request to " + u
		}
	}
	if fault != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.faults = append(r.faults, fault)
	}
}

func (r *requests) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("network: %s", fault)
	}
	r.faults = nil
}

// siteTab returns a tab that watches its requests.
func siteTab(t *testing.T, address string) *tab {
	t.Helper()
	b := newTab(t)
	watched := &requests{own: address}
	chromedp.ListenTarget(b.ctx, watched.listen)
	b.run(network.Enable())
	t.Cleanup(func() { watched.check(t) })
	return b
}

// TestSite reads the site of the guides, wide and narrow, in light and dark.
func TestSite(t *testing.T) {
	address := serveSite(t)
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range sitePages {
		t.Run(page, func(t *testing.T) {
			b := siteTab(t, address)
			for _, dark := range []bool{false, true} {
				b.dark(dark)
				b.open(address + "/" + page)
				b.sees("h1", "")
				b.until(func() bool { return b.eval("document.documentElement.classList.contains('dark')") == fmt.Sprint(dark) },
					func() string { return "the theme does not follow the system" })
				for _, width := range []int64{1440, 390} {
					state := fmt.Sprintf("%s, dark %v, %d px wide", page, dark, width)
					b.size(width, 900)
					b.settles()
					b.fits(state)
					b.judge(source, state)
					if *sitePictures != "" {
						b.picture(filepath.Join(*sitePictures, fmt.Sprintf("%s-%v-%d.png", page, dark, width)))
					}
				}
			}
		})
	}
}

// settles waits until the colors of a new theme and the parts of a new layout have faded in.
func (b *tab) settles() {
	b.t.Helper()
	const frame = "await new Promise(requestAnimationFrame);"
	b.eval("(async () => {" + frame + frame + "await Promise.allSettled(document.getAnimations().map(a => a.finished)) })()")
}

// fits fails the test if the document is wider than the window.
func (b *tab) fits(state string) {
	b.t.Helper()
	wide := b.eval(`(() => { const w = document.documentElement.clientWidth; return document.documentElement.scrollWidth <= w ? '' :
		[...document.querySelectorAll('.vp-doc *')].filter(e => e.getBoundingClientRect().right > w).slice(0, 3).map(e => e.outerHTML.slice(0, 100)).join('\n') || 'something outside of the text' })()`)
	if wide != "" {
		b.t.Errorf("%s: the document is wider than the window:\n%s", state, wide)
	}
}

// TestSiteSearch finds a guide by a word in it.
func TestSiteSearch(t *testing.T) {
	address := serveSite(t)
	b := siteTab(t, address)
	b.open(address + "/start.html")
	b.until(func() bool { return b.eval("!!document.querySelector('#app').__vue_app__") == "true" },
		func() string { return "the scripts of the page do not start" })
	b.click("button.DocSearch-Button", "Search")
	b.fill("#localsearch-input", "elicit")
	if *sitePictures != "" {
		defer func() { b.picture(filepath.Join(*sitePictures, "search.png")) }()
	}
	b.until(func() bool { return b.eval("!!document.querySelector('a.result[href*=\"/asking.html\"]')") == "true" },
		func() string { return "the search for elicit does not find asking: " + b.text(".VPLocalSearchBox") })
}

var siteLink = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

// TestSiteLinks follows the links between pages, with their anchors. VitePress does not check
// anchors. It also looks for scripts, styles and pictures of other hosts.
func TestSiteLinks(t *testing.T) {
	dir := site(t)
	pages := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	foreign := regexp.MustCompile(`<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"`)
	for path, text := range pages {
		for _, found := range foreign.FindAllString(text, -1) {
			t.Errorf("%s loads from another host: %s", filepath.Base(path), found)
		}
		for _, link := range siteLink.FindAllStringSubmatch(text, -1) {
			if why := deadLink(dir, path, link[1], pages); why != "" {
				t.Errorf("%s: %s: %s", filepath.Base(path), link[1], why)
			}
		}
	}
}

// deadLink returns why a link of a page leads nowhere, or "".
func deadLink(dir, from, link string, pages map[string]string) string {
	if strings.Contains(link, ":") { // another host
		return ""
	}
	name, anchor, _ := strings.Cut(link, "#")
	to := from
	switch {
	case strings.HasPrefix(name, "/"):
		to = filepath.Join(dir, filepath.FromSlash(name))
	case name != "":
		to = filepath.Join(filepath.Dir(from), filepath.FromSlash(name))
	}
	if strings.HasSuffix(name, "/") {
		to = filepath.Join(to, "index.html")
	}
	if _, err := os.Stat(to); err != nil {
		return "the file does not exist"
	}
	if anchor != "" && filepath.Ext(to) == ".html" && !strings.Contains(pages[to], `id="`+anchor+`"`) {
		return "the anchor does not exist"
	}
	return ""
}
