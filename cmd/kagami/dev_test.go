package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// devSource is a server whose results contain the version of its source.
const devSource = `package main

import (
	"context"
	"os"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

const version = "VERSION"

func main() {
	app := framework.New("followed", "1").Add(
		framework.Tool("version", func(context.Context, struct{}) (string, error) { return version, nil }),
		framework.Tool("slow", func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(1500 * time.Millisecond)
			return version, nil
		}),
		framework.Tool("crash", func(context.Context, struct{}) (string, error) { os.Exit(3); return "", nil }),
		framework.Tool("agree", func(ctx context.Context, _ struct{}) (string, error) {
			ok, err := framework.Elicit[bool](ctx, "Really?")
			if err != nil || !ok {
				return "no", err
			}
			return version, nil
		}),
	)
	EXTRA
	serve.Main(app)
}
`

const followedModule = "module example.com/followed\n\ngo 1.26.0\n"

// followed is a package whose source a test changes, with a client of "kagami dev".
type followed struct {
	t      *testing.T
	dir    string
	temp   string // where dev keeps its binaries
	client *client.Client
	dev    *os.Process // of HTTP, if the test does not end it
	log    *shared
	told   chan string
}

var devProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kagami-dev-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "kagami")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
})

// follow connects a client to "kagami dev" over HTTP, or over stdin and stdout.
func follow(t *testing.T, overHTTP bool, revision protocol.Revision, opts ...client.Option) *followed {
	t.Helper()
	f := newFollowed(t)
	f.source("v1", "")
	f.connect(overHTTP, nil, append(opts, client.Revisions(revision))...)
	return f
}

// newFollowed makes the module of the package. It has no source yet.
func newFollowed(t *testing.T) *followed {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{t: t, dir: t.TempDir(), temp: t.TempDir(), log: &shared{}, told: make(chan string, 100)}
	f.file("go.mod", followedModule)
	f.file("go.work", "go 1.26.0\n\nuse (\n\t.\n\t"+strconv.Quote(root)+"\n)\n")
	return f
}

// connect starts "kagami dev" with these variables in its environment, and connects the client.
func (f *followed) connect(overHTTP bool, env []string, opts ...client.Option) {
	f.t.Helper()
	program, err := devProgram()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(program, "dev", f.dir)
	cmd.Stderr = f.log
	cmd.Env = append(append(os.Environ(), "TMPDIR="+f.temp), env...)
	opts = append(opts, client.OnNotification(func(_ context.Context, n protocol.Notification) {
		select {
		case f.told <- n.Method:
		default:
		}
	}))
	ctx, cancel := context.WithTimeout(f.t.Context(), 60*time.Second)
	defer cancel()
	to := client.Command(cmd)
	if overHTTP {
		url := f.serves(cmd)
		to = client.HTTP(url)
		f.lands(url)
	}
	f.client, err = client.Connect(ctx, to, opts...)
	if err != nil {
		f.t.Fatalf("%v\n%s", err, f.log)
	}
	f.t.Cleanup(func() {
		_ = f.client.Close()
		if f.t.Failed() {
			f.t.Logf("stderr:\n%s", f.log)
		}
	})
}

// serves starts the command, and returns the URL of its server.
func (f *followed) serves(cmd *exec.Cmd) string {
	f.t.Helper()
	cmd.Args = append(cmd.Args, "--http", "127.0.0.1:0")
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.dev = cmd.Process
	f.t.Cleanup(func() {
		if f.dev != nil {
			_ = f.dev.Signal(os.Interrupt)
		}
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
			f.t.Errorf("dev ends with %v", err)
		}
	})
	for range 500 {
		if found := regexp.MustCompile(`http://\S+/mcp`).FindString(f.log.String()); found != "" {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("it prints no URL:\n%s", f.log)
	return ""
}

// lands opens the landing page for browsers. It must show the address of the command, and not the
// address of the process.
func (f *followed) lands(url string) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, strings.TrimSuffix(url, "mcp"), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	page, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(page), url) {
		f.t.Errorf("the page does not show %s: %v\n%.2000s", url, err, page)
	}
}

func (f *followed) file(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) source(version, extra string) {
	f.t.Helper()
	f.file("main.go", strings.NewReplacer("VERSION", version, "EXTRA", extra).Replace(devSource))
}

// call returns the text of a tool's result.
func (f *followed) call(tool string) (text string, failed bool) {
	result, err := f.client.CallTool(f.t.Context(), tool, json.RawMessage("{}"))
	if err != nil {
		return err.Error(), true
	}
	for _, block := range result.Content {
		if b, ok := block.(protocol.Text); ok {
			text += b.Text
		}
	}
	return text, result.IsError
}

// until calls a tool until its answer contains want.
func (f *followed) until(tool, want string) {
	f.t.Helper()
	var last string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if last, _ = f.call(tool); strings.Contains(last, want) {
			return
		}
	}
	f.t.Fatalf("%s returns %q, want %q", tool, last, want)
}

// keepsOne waits until only the last build is kept.
func (f *followed) keepsOne() {
	f.t.Helper()
	var kept []string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if kept, _ = filepath.Glob(filepath.Join(f.temp, "kagami-dev-*", "[0-9]*")); len(kept) == 1 {
			return
		}
	}
	f.t.Errorf("the builds %q are kept, want the last one", kept)
}

func (f *followed) hears(method string) {
	f.t.Helper()
	for end := time.After(30 * time.Second); ; {
		select {
		case got := <-f.told:
			if got == method {
				return
			}
		case <-end:
			f.t.Fatalf("no notification %s", method)
		}
	}
}

func TestDev(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	for _, way := range []string{"stdio 2025-11-25", "stdio 2026-07-28", "http 2025-11-25", "http 2026-07-28"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			carrier, name, _ := strings.Cut(way, " ")
			revision, _ := protocol.ParseRevision(name)
			f := follow(t, carrier == "http", revision, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
				return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": true}}, nil
			}))
			f.until("version", "v1")
			if name == "2026-07-28" {
				stop, err := f.client.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true})
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
			}

			slow := make(chan string, 1)
			go func() {
				text, _ := f.call("slow")
				slow <- text
			}()
			time.Sleep(200 * time.Millisecond)
			f.source("v2", `app.Add(framework.Tool("added", func(context.Context, struct{}) (string, error) { return "new", nil }))`)
			f.until("version", "v2")
			f.hears(protocol.NotificationToolsChanged)
			f.until("added", "new")
			if got := <-slow; got != "v1" {
				t.Errorf("a call that began before the change returns %q", got)
			}

			f.source("v3", "this is no Go")
			f.until("version", "main.go")
			if text, failed := f.call("version"); !failed || !strings.Contains(text, "syntax error") && !strings.Contains(text, "undefined") {
				t.Errorf("while it does not compile: %t, %s", failed, text)
			}
			f.source("v4", `app.Add(framework.Tool("late", func(context.Context, chan int) (string, error) { return "", nil }))`)
			f.until("version", "type chan int has no JSON form")
			f.source("v5", "")
			f.until("version", "v5")
			if text, failed := f.call("agree"); failed || text != "v5" {
				t.Errorf("a question: %t, %s", failed, text)
			}
			time.Sleep(2 * crashPause)
			f.keepsOne()
			if text, failed := f.call("crash"); !failed || carrier == "stdio" && !strings.Contains(text, "the server ended") {
				t.Errorf("a crash: %t, %s", failed, text)
			}
			f.until("version", "v5")
			if log := f.log.String(); !strings.Contains(log, "additive: tool added: added") || !strings.Contains(log, "breaking: tool added: removed") {
				t.Errorf("no differences in\n%s", log)
			}
		})
	}
}

// TestDevStandIn checks that a client can connect while the first build fails or takes long, and that
// it gets the lists of the server as soon as there is one.
func TestDevStandIn(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	for _, name := range []string{"2025-11-25", "2026-07-28"} {
		t.Run("broken "+name, func(t *testing.T) {
			t.Parallel()
			f := newFollowed(t)
			f.source("v1", "this is no Go")
			f.standsIn(name, nil, "main.go")
			f.source("v2", "")
			f.takesOver("v2")
		})
		t.Run("slow "+name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("the slow go command is a shell script")
			}
			f := newFollowed(t)
			f.source("v1", "")
			program, err := exec.LookPath("go")
			if err != nil {
				t.Fatal(err)
			}
			slow, released := t.TempDir(), filepath.Join(f.dir, "released")
			script := fmt.Sprintf("#!/bin/sh\nwhile [ $1 = build ] && [ ! -e '%s' ]; do sleep 0.05; done\nexec '%s' \"$@\"\n", released, program)
			if err := os.WriteFile(filepath.Join(slow, "go"), []byte(script), 0o700); err != nil { //nolint:gosec // a script must be executable
				t.Fatal(err)
			}
			f.standsIn(name, []string{"PATH=" + slow + string(os.PathListSeparator) + os.Getenv("PATH")}, "still being built")
			f.file("released", "")
			f.takesOver("v1")
		})
	}
}

// TestDevHeals checks that a change counts that makes the package readable again: in go.mod, in a go.work
// above, and when the directory comes back.
func TestDevHeals(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	const revision = "2026-07-28"
	for _, name := range []string{"go.mod", "go.work"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollowed(t)
			above := *f
			f.dir = filepath.Join(above.dir, "module")
			if err := os.Mkdir(f.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			work, err := os.ReadFile(filepath.Join(above.dir, "go.work"))
			if err != nil {
				t.Fatal(err)
			}
			broken := map[string]*followed{"go.mod": f, "go.work": &above}[name]
			mended := map[string]string{"go.mod": followedModule, "go.work": strings.Replace(string(work), "\t.\n", "\t./module\n", 1)}
			above.file("go.work", mended["go.work"])
			f.file("go.mod", followedModule)
			f.source("v1", "")
			broken.file(name, "this is no module\n")
			f.standsIn(revision, nil, name)
			broken.file(name, mended[name])
			f.takesOver("v1")
		})
	}
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		r, _ := protocol.ParseRevision(revision)
		f := follow(t, false, r)
		f.until("version", "v1")
		work, err := os.ReadFile(filepath.Join(f.dir, "go.work"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(f.dir); err != nil {
			t.Fatal(err)
		}
		f.until("version", "building the server")
		if err := os.Mkdir(f.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f.file("go.work", string(work))
		f.file("go.mod", followedModule)
		f.source("v2", "")
		f.until("version", "v2")
	})
}

// standsIn connects a client, which must get the stand-in with this reason.
func (f *followed) standsIn(revision string, env []string, reason string) {
	f.t.Helper()
	r, _ := protocol.ParseRevision(revision)
	f.connect(false, env, client.Revisions(r))
	f.until("kagami_dev", reason)
	stop, err := f.client.Listen(f.t.Context(), protocol.SubscriptionFilter{Tools: true})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(stop)
}

// takesOver waits until the real server has replaced the stand-in.
func (f *followed) takesOver(version string) {
	f.t.Helper()
	f.until("version", version)
	f.hears(protocol.NotificationToolsChanged)
	if text, failed := f.call("kagami_dev"); !failed {
		f.t.Errorf("the stand-in still answers: %s", text)
	}
}

// TestDevUnderLoad checks that no call fails and that the session stays while the source changes
// again and again. KAGAMI_DEV_CHANGES sets the number of changes.
func TestDevUnderLoad(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	changes := 3
	if text := os.Getenv("KAGAMI_DEV_CHANGES"); text != "" {
		var err error
		if changes, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, carrier := range []string{"stdio", "http"} {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			underLoad(t, carrier == "http", changes)
		})
	}
}

func underLoad(t *testing.T, overHTTP bool, changes int) {
	t.Helper()
	revision, _ := protocol.ParseRevision("2025-11-25")
	f := follow(t, overHTTP, revision)
	f.until("version", "v1")
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var calls atomic.Int64
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if text, failed := f.call("version"); failed || !strings.HasPrefix(text, "v") {
					t.Errorf("a call fails: %s", text)
				}
				calls.Add(1)
			}
		})
	}
	for i := range changes {
		version := fmt.Sprintf("v%d", i+2)
		f.source(version, "")
		f.until("version", version)
	}
	close(stop)
	callers.Wait()
	t.Logf("%d calls during %d changes", calls.Load(), changes)
}

// TestDevInterruptedTwice checks that a server that does not end does not outlive dev. The server is in a
// process group of its own, so the second Ctrl-C reaches only dev.
func TestDevInterruptedTwice(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	if runtime.GOOS == "windows" {
		t.Skip("a test cannot send Ctrl-C")
	}
	f := newFollowed(t)
	f.source("v1", `app.Add(framework.Tool("pid", func(context.Context, struct{}) (int, error) { return os.Getpid(), nil }))
	app.OnStop(func(context.Context, *framework.Server) error { println("it does not end"); select {} })`)
	f.connect(true, nil)
	pid, _ := f.call("pid")
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.FindProcess(number)
	if err != nil {
		t.Fatal(err)
	}
	dev := f.dev
	f.dev = nil // a third signal would end it before it has removed its files
	if err := dev.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(f.log.String(), "it does not end"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the first signal does not reach the server\n%s", f.log)
		}
	}
	began := time.Now()
	if err := dev.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for server.Signal(syscall.Signal(0)) == nil {
		if time.Since(began) > 12*time.Second { // after 15 seconds, dev kills it without a second signal
			t.Fatalf("process %s still runs\n%s", pid, f.log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDevUsage checks that a server without source is refused at once.
func TestDevUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"dev":                         "no server",
		"dev https://example.com/mcp": "is not one",
		"dev ./nowhere":               "there is no Go package in ./nowhere",
		"dev " + everything:           "is not one",
		"dev ../../examples/weather --http 0.0.0.0:8080": "dev serves only this machine",
	} {
		if out, errs, code := kagami(t, strings.Fields(args)...); code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

// TestDevAwaitsSource checks that a package and an embedded file count that appear after the file that
// names them.
func TestDevAwaitsSource(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	revision, _ := protocol.ParseRevision("2025-11-25")
	f := follow(t, false, revision)
	f.until("version", "v1")
	f.file("extra.go", "package main\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.com/followed/internal/store\"\n)\n\n//go:embed pages/*.html\nvar page string\n")
	f.until("version", "internal/store")
	for _, file := range [][2]string{{"internal/store/store.go", "package store\n"}, {"pages/index.html", "hello\n"}} {
		if err := os.MkdirAll(filepath.Join(f.dir, filepath.Dir(file[0])), 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the directory is noticed before the file
		f.file(file[0], file[1])
	}
	f.until("version", "v1")
}

// TestDevChecksWithoutStore checks that the process which shows the API of a build does not use the
// store, whose tasks it would run.
func TestDevChecksWithoutStore(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	f := newFollowed(t)
	stores := filepath.Join(f.temp, "stores")
	f.source("v1", fmt.Sprintf(`log, _ := os.OpenFile(%q, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	_, _ = log.WriteString(os.Getenv("KAGAMI_STORE") + "\n")`, stores))
	f.connect(false, []string{"KAGAMI_STORE=memory:own"})
	f.until("version", "v1")
	if got, err := os.ReadFile(stores); err != nil || string(got) != "memory:\nmemory:own\n" {
		t.Errorf("%q, %v, want the store in the second process only", got, err)
	}
}

// TestDevInFile checks that dev refuses a store which the next process could not open.
func TestDevInFile(t *testing.T) {
	t.Setenv("KAGAMI_STORE", "file:state.db")
	if _, errs, code := kagami(t, "dev", "../../examples/weather"); code != 2 || !strings.Contains(errs, "KAGAMI_STORE=file:state.db: only one process can open it") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, errs, code := kagami(t, "dev", "../../examples/weather", "--http", "0.0.0.0:8080"); code != 2 || strings.Contains(errs, "KAGAMI_STORE") {
		t.Errorf("over HTTP: exit code %d\n%s", code, errs)
	}
}
