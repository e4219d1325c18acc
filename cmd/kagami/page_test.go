package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?k=\w+`)

// TestPage checks the page of a package until the command is stopped.
func TestPage(t *testing.T) {
	t.Parallel()
	about := aboutPage(t, everything, "--revision", "2025-06-18")
	for _, want := range []string{`"name":"everything"`, `"carrier":"stdio"`, `"revision":"2025-06-18"`} {
		if !strings.Contains(about, want) {
			t.Errorf("the server is %s, want %s", about, want)
		}
	}
}

// TestPageOfFile checks the page of a saved session.
func TestPageOfFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session.json")
	if err := os.WriteFile(file, []byte(`{"kagamiPage":1,"about":{"name":"kept"},"offers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if about := aboutPage(t, "--open", file); !strings.Contains(about, `"name":"kept"`) || !strings.Contains(about, `"saved"`) {
		t.Errorf("the server is %s", about)
	}
}

// aboutPage starts the page, reads its description of the server, and stops it.
func aboutPage(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	var stderr shared
	done := make(chan int, 1)
	go func() {
		done <- (&cli{out: &stdout, errs: &stderr}).run(ctx, append([]string{"page", "--no-open"}, args...))
	}()
	address := ""
	for deadline := time.Now().Add(20 * time.Second); address == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		address = pageAddress.FindString(stderr.String())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	page := answerTo(t, client, address, "", "")
	_, rest, _ := strings.Cut(page.body, `data-secret="`)
	secret, _, _ := strings.Cut(rest, `"`)
	base, _, _ := strings.Cut(address, "?")
	about := answerTo(t, client, base+"api/server", page.cookie, secret)
	stop()
	if code := <-done; code != 0 || stdout.Len() > 0 {
		t.Errorf("exit code %d, on stdout %q\n%s", code, stdout.String(), stderr.String())
	}
	return about.body
}

func TestPageUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"page": "no server", "page --bearer x " + everything: "--header and --bearer are for servers at a URL",
		"page --open none.json":                                      "none.json",
		"page --open none.json " + everything:                        "leave SERVER out",
		"page --open page_test.go":                                   "not a session",
		"page --no-open --header nonsense http://127.0.0.1:1/mcp":    "--header: want",
		"page --no-open --revision x " + everything:                  `--revision: got "x", want one of`,
		"page --no-open http://127.0.0.1:1/mcp http://127.0.0.1/mcp": "unexpected argument",
	} {
		out, errs, code := kagami(t, strings.Fields(args)...)
		if code == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
	for _, shown := range []string{everything, "./no/such/package", "http://127.0.0.1:1/mcp", "--open none.json"} {
		for listen, want := range map[string]string{"0.0.0.0:0": "--listen: others can reach", "127.0.0.1": `--listen: address "127.0.0.1": want 127.0.0.1:PORT`} {
			_, errs, code := kagami(t, strings.Fields("page --no-open --listen "+listen+" "+shown)...)
			if code != 2 || !strings.Contains(errs, want) {
				t.Errorf("--listen %s %s: exit code %d\n%s", listen, shown, code, errs)
			}
		}
	}
}

type pageAnswer struct{ body, cookie string }

func answerTo(t *testing.T, client *http.Client, address, cookie, secret string) pageAnswer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != "" {
		request.Header.Set("Cookie", cookie)
		request.Header.Set("Kagami-Page", secret)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, _ = strings.Cut(response.Header.Get("Set-Cookie"), ";")
	return pageAnswer{string(body), cookie}
}
