package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// allCodes runs doctor and returns the codes of its findings. errs also has their texts.
func allCodes(t *testing.T, args ...string) (found []string, fine, errs string, code int) {
	t.Helper()
	out, errs, code := kagami(t, append([]string{"doctor", "--json", "--idle", "300ms"}, args...)...)
	var report struct {
		Findings []finding
		Fine     []string
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Findings == nil || report.Fine == nil {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	for _, f := range report.Findings {
		found = append(found, f.Code)
		errs += f.Code + ": " + f.What + "\n"
	}
	return found, strings.Join(report.Fine, "\n"), errs, code
}

// codes is like allCodes, but leaves out slow-start, because a busy machine starts each program slowly.
func codes(t *testing.T, args ...string) (found []string, fine, errs string, code int) {
	t.Helper()
	found, fine, errs, code = allCodes(t, args...)
	return slices.DeleteFunc(found, func(c string) bool { return c == "slow-start" }), fine, errs, code
}

func TestDoctorOfSlowProgram(t *testing.T) {
	t.Parallel()
	found, _, errs, code := allCodes(t, "--", "sh", "-c", "sleep 3.1; exec "+everything)
	if !slices.Contains(found, "slow-start") || code != 0 {
		t.Errorf("%v, exit code %d\n%s", found, code, errs)
	}
}

func TestDoctorOfPrograms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
		code int
		says string
	}{
		"healthy":  {[]string{weather}, "", 0, ""},
		"warnings": {[]string{"./testdata/warned"}, "warnings", 0, ""},
		"noise":    {[]string{"--", "sh", "-c", "echo Welcome; exec " + everything}, "clients stdout", 1, "Welcome"},
		"ends":     {[]string{"--", "sh", "-c", "echo no database >&2; exit 1"}, "start", 1, "no database"},
		"ends at a list": {[]string{"--", "sh", "-c", `while read -r line; do case $line in *tools/list*) echo panic: no tools >&2; exit 2; esac
			printf '%s\n' "$line"; done | ` + everything}, "start", 1, "panic: no tools"},
		"a list of something else": {[]string{"--", "sh", "-c", "echo two tools >&2; " + everything + ` | while read -r line; do
			printf '%s\n' "$line" | sed 's/"tools":\[/"tools":[7,/'; done`}, "lists", 1, "two tools"},
		"no such program": {[]string{"/no/such/program"}, "build", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, fine, errs, code := codes(t, tt.args...)
			slices.Sort(found)
			if got := strings.Join(found, " "); got != tt.want || code != tt.code || !strings.Contains(errs, tt.says) {
				t.Errorf("%q, exit code %d, want %q, %d, and %q\n%s\n%s", got, code, tt.want, tt.code, tt.says, fine, errs)
			}
		})
	}
}

func TestDoctorOverHTTP(t *testing.T) {
	t.Parallel()
	server, err := framework.New("diagnosis", "1").Add(framework.Func("add", func(a, b int) int { return a + b }, framework.Params("a", "b"), framework.Describe("Adds"))).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.WithoutCancel(t.Context())) })
	healthy := nethttp.Handler(server)
	var requests atomic.Int64
	old := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"healthy": {healthy.ServeHTTP, ""},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html>")
		}, "html"},
		"another path": {http.NotFound, "start"},
		"a list of something else": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if id := regexp.MustCompile(`"id":("?\w+"?)`).FindSubmatch(body); bytes.Contains(body, []byte(`"tools/list"`)) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":7}]}}`, id[1])
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			healthy.ServeHTTP(w, r)
		}, "lists"},
		"host": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "this host is not allowed", http.StatusForbidden)
		}, "host"},
		"clock": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", old)
			healthy.ServeHTTP(w, r)
		}, "clock"},
		"pages of others": {func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Origin")
			healthy.ServeHTTP(w, r)
		}, "origin"},
		"two processes without a store": {func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost && requests.Add(1)%2 == 0 {
				http.NotFound(w, r)
				return
			}
			healthy.ServeHTTP(w, r)
		}, "session"},
		"idle streams are cut": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "text/event-stream")
				return
			}
			healthy.ServeHTTP(w, r)
		}, "cut"},
		"login without metadata": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "metadata"},
		"login of another resource": {func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
				_, _ = fmt.Fprintf(w, `{"resource":"https://other.example/mcp","authorization_servers":["http://%s"]}`, r.Host)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, "audience issuer login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tt.handler)
			t.Cleanup(s.Close)
			found, fine, errs, code := codes(t, s.URL+"/mcp")
			if name == "two processes without a store" { // half of the other requests also fail
				found = slices.DeleteFunc(found, func(c string) bool { return c == "start" || c == "lists" || c == "revisions" })
			}
			fatal := slices.ContainsFunc(problems, func(a problem) bool { return a.fatal && slices.Contains(found, a.code) })
			if got := strings.Join(found, " "); got != tt.want || (code == 1) != fatal && name != "two processes without a store" {
				t.Errorf("%q, exit code %d, want %q\n%s\n%s", got, code, tt.want, fine, errs)
			}
		})
	}
	if found, _, _, code := codes(t, "http://127.0.0.1:1/mcp"); code != 1 || !slices.Equal(found, []string{"unreachable"}) {
		t.Errorf("no server: %v, exit code %d", found, code)
	}
	secure := httptest.NewTLSServer(healthy)
	t.Cleanup(secure.Close)
	if found, _, _, code := codes(t, secure.URL+"/mcp"); code != 1 || !slices.Equal(found, []string{"certificate"}) {
		t.Errorf("an unknown certificate: %v, exit code %d", found, code)
	}
}

// TestDoctorForPeople checks that the text has each finding with its remedy.
func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "doctor", "./testdata/warned")
	if code != 0 || !strings.Contains(out, "ok    warned 1; tools: 1") || !strings.Contains(out, "note  warnings: ") || !strings.Contains(out, "      Run `kagami inspect`") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

const (
	troublesBegin = "<!-- the findings, written by go test ./cmd/kagami -run TestDoctorGuide -update -->\n"
	troublesEnd   = "<!-- end of the findings -->\n"
)

// TestDoctorGuide checks that docs/troubleshooting.md has each code, and that the code has the
// messages that the page quotes.
func TestDoctorGuide(t *testing.T) {
	t.Parallel()
	const page = "../../docs/troubleshooting.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(text), troublesBegin)
	_, after, ended := strings.Cut(after, troublesEnd)
	if !found || !ended {
		t.Fatalf("%s has no lines %s and %s", page, troublesBegin, troublesEnd)
	}
	want := before + troublesBegin + "\n| code | clients work | fix |\n|---|---|---|\n"
	for _, a := range problems {
		works := "yes"
		if a.fatal {
			works = "no"
		}
		want += fmt.Sprintf("| `%s` | %s | %s |\n", a.code, works, a.remedy)
	}
	want += "\n" + troublesEnd + after
	_, messages, _ := strings.Cut(before, "## Messages")
	messages, _, _ = strings.Cut(messages, "\n## ")
	source := sources(t)
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(messages, -1) {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(source, quoted[1]) {
				t.Errorf("no message contains %q", quoted[1])
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is stale: go test ./cmd/kagami -run TestDoctorGuide -update", page)
	}
}

// sources returns all Go files of the product as one text.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"framework", "transport", "protocol", "middleware", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.WriteString(strings.ReplaceAll(string(text), `\"`, `"`))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestDoctorOfEarlierRevisions checks that doctor examines a server that refuses the newest
// revision, as most servers of other SDKs do.
func TestDoctorOfEarlierRevisions(t *testing.T) {
	t.Parallel()
	server, err := framework.New("diagnosis", "1").Add(framework.Func("add", func(a, b int) int { return a + b }, framework.Params("a", "b"), framework.Describe("Adds"))).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.WithoutCancel(t.Context())) })
	handler := nethttp.Handler(server)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
			http.Error(w, "an unknown revision", http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	found, fine, errs, code := codes(t, s.URL+"/mcp")
	if code != 0 || !slices.Contains(found, "revisions") || strings.Count(fine, "diagnosis 1; tools: 1") != 1 {
		t.Errorf("%q, exit code %d\n%s\n%s", found, code, fine, errs)
	}
}
