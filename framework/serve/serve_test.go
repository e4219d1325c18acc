package serve_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// run is Run with streams of its own: no input, and what it wrote.
func run(t *testing.T, app *framework.App, args []string, opts ...serve.Option) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	opts = append([]serve.Option{serve.Streams(strings.NewReader(""), &stdout, &stderr)}, opts...)
	err = serve.Run(t.Context(), app, args, opts...)
	return stdout.String(), stderr.String(), err
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--nope"}, "unknown flag --nope"},
		{[]string{"--http", "8080"}, "want HOST:PORT"},
		{[]string{"--http"}, "--http"},
		{[]string{"extra"}, `unexpected argument "extra"`},
		{[]string{"--inspect", "json"}, "write --inspect=json"},
		{[]string{"--inspect=xml"}, `invalid value "xml" for --inspect: want text or json`},
		{[]string{"--stdio=false"}, "leaves nothing to serve"},
		{[]string{"--stdio=perhaps"}, "perhaps"},
		{[]string{"--worker", "--http", ":0"}, "--worker serves no client"},
		{[]string{"--store", "sql://user:hidden@host"}, "want file:PATH"},
		{[]string{"--store", "file:"}, "want file:PATH"},
		{[]string{"--store", ""}, `--store "": want file:PATH`},
		{[]string{"--http", ""}, `--http "": want HOST:PORT`},
		{[]string{"--allow-host", "mcp.example.com"}, "--allow-host is about HTTP: give --http, too"},
		{[]string{"--http", ":0", "--body-limit", "much"}, "want a size such as 8MB"},
		{[]string{"--http", ":0", "--body-limit=-1"}, "want a size such as 8MB"},
		{[]string{"--http", ":0", "--body-limit", "4GB"}, "less than 2GB"},
		{[]string{"--http", ":0", "--session-idle", "soon"}, "session-idle"},
		{[]string{"--http", ":0", "--session-idle", "-1s"}, "want a time such as 30m"},
		{[]string{"--http", ":0", "--tls-cert", "cert.pem"}, "--tls-cert and --tls-key belong together"},
		{[]string{"--http", ":0", "--tls-cert", "", "--tls-key", ""}, `--tls-cert "": want a file`},
		{[]string{"--http", ":0", "--tls-cert", "cert.pem", "--tls-key", ""}, `--tls-key "": want a file`},
		{[]string{"--log-level", "loud"}, "want debug, info, warn or error"},
		{[]string{"--log-format", "xml"}, "want json or console"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			out, _, err := run(t, greeter(), tt.args)
			var usage *serve.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Run(%q) = %v; want a usage error with %q", tt.args, err, tt.want)
			}
			if !strings.Contains(err.Error(), "Flags: --stdio, --http, --allow-host, ") {
				t.Errorf("the error does not list the flags: %v", err)
			}
			if code := serve.ExitCode(err); code != 2 {
				t.Errorf("ExitCode = %d, want 2", code)
			}
			if out != "" {
				t.Errorf("stdout: %q", out)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	if got := serve.ExitCode(nil); got != 0 {
		t.Errorf("nil: %d", got)
	}
	if got := serve.ExitCode(io.ErrUnexpectedEOF); got != 1 {
		t.Errorf("a failure: %d", got)
	}
	if got := serve.ExitCode(errors.Join(io.EOF, &framework.BuildError{})); got != 2 {
		t.Errorf("a faulty app: %d", got)
	}
}

func TestFaultyApps(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--inspect"}, {"--version"}} {
		_, _, err := run(t, apps["faulty"](), args)
		var build *framework.BuildError
		if !errors.As(err, &build) || len(build.Faults) < 2 {
			t.Errorf("Run(%q) = %v, want a BuildError with both faults", args, err)
		}
	}
	if _, _, err := run(t, nil, nil); err == nil {
		t.Error("Run without an app succeeded")
	}
	if _, _, err := run(t, apps["unstartable"](), nil); err == nil || serve.ExitCode(err) != 1 {
		t.Errorf("an app that cannot start: %v", err)
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--help", "-h", "-help"} {
		out, _, err := run(t, greeter(), []string{flag}, serve.Env("GREET"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"--stdio", "GREET_STDIO", "--inspect[=json]", "GREET_INSPECT", "GREET_ALLOW_HOST", "--log-format", "--version"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not mention %s:\n%s", flag, want, out)
			}
		}
	}
	if out, _, err := run(t, greeter(), []string{"--help"}, serve.Env("")); err != nil || strings.Contains(out, "_STDIO") {
		t.Errorf("without an environment: %v\n%s", err, out)
	}
	if out, _, err := run(t, greeter(), []string{"--version"}); out != "greeter 1.2.3\n" || err != nil {
		t.Errorf("--version: %q, %v", out, err)
	}
}

func TestNilStreams(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"--version"}, {"--inspect"}, {"--nothing"}} {
		err := serve.Run(t.Context(), greeter(), args, serve.Streams(nil, nil, nil))
		if (err == nil) == slices.Contains(args, "--nothing") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, greeter(), []string{"--inspect"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"greeter 1.2.3", "Greets.", "hello (read-only)", "Greet a person by name.", "who to greet", "one of happy, sad", `default "happy"`, "greet://all"} {
		if !strings.Contains(out, want) {
			t.Errorf("--inspect does not mention %q:\n%s", want, out)
		}
	}
	out, _, err = run(t, greeter(), []string{"--inspect=json"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Server struct{ Name string }
		Tools  []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
		Resources         []struct{ URI string }
		ResourceTemplates []any
		Prompts           []any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Server.Name != "greeter" || len(got.Tools) != 3 || len(got.Tools[0].InputSchema.Properties) != 2 ||
		len(got.Resources) != 1 || got.Resources[0].URI != "greet://all" || got.ResourceTemplates == nil || got.Prompts == nil {
		t.Errorf("--inspect=json:\n%s", out)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GREET_INSPECT", "json")
	if out, _, err := run(t, greeter(), nil, serve.Env("GREET")); err != nil || !strings.HasPrefix(out, "{") {
		t.Errorf("GREET_INSPECT=json: %v\n%s", err, out)
	}
	if out, _, err := run(t, greeter(), []string{"--inspect=text"}, serve.Env("GREET")); err != nil || strings.HasPrefix(out, "{") {
		t.Errorf("the flag does not win: %v\n%s", err, out)
	}
	if out, _, err := run(t, greeter(), nil, serve.Env("OTHER")); err != nil || out != "" {
		t.Errorf("another prefix: %v\n%s", err, out)
	}
	t.Setenv("GREET_INSPECT", "")
	t.Setenv("GREET_HTTP", "nowhere")
	if out, errs, err := run(t, greeter(), []string{"--stdio", "--http="}, serve.Env("GREET")); err != nil || out != "" {
		t.Errorf("a variable that does not count: %v\n%s%s", err, out, errs)
	}
	t.Setenv("GREET_HTTP", "")
	t.Setenv("GREET_PAGE", "true")
	if _, _, err := run(t, greeter(), []string{"--worker", "--page=false"}, serve.Env("GREET")); err == nil || !strings.Contains(err.Error(), "--worker: a worker needs a store") {
		t.Errorf("a worker without the page of the environment: %v", err)
	}
	t.Setenv("GREET_PAGE", "")
	t.Setenv("GREET_HTTP", ":0")
	if _, _, err := run(t, greeter(), []string{"--worker"}, serve.Env("GREET")); err == nil || !strings.Contains(err.Error(), "--worker: a worker needs a store") {
		t.Errorf("a worker with the address of the environment: %v", err)
	}
	t.Setenv("GREET_STDIO", "maybe")
	if _, _, err := run(t, greeter(), nil, serve.Env("GREET")); err == nil || !strings.Contains(err.Error(), `GREET_STDIO is "maybe": want true or false`) {
		t.Errorf("a wrong value: %v", err)
	}
	if _, _, err := run(t, greeter(), []string{"--worker=maybe"}); err == nil || !strings.Contains(err.Error(), `"maybe" for --worker: want true or false`) {
		t.Errorf("a wrong value of a flag: %v", err)
	}
}

func TestServesTheStreams(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if err := serve.Run(t.Context(), greeter(), nil, serve.Streams(in, &out, &errs)); err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q (stderr: %s)", out.String(), want, errs.String())
	}
}

// TestSessionIdleWithoutUnit: the answer says how a time is written, also for the variable.
func TestSessionIdleWithoutUnit(t *testing.T) {
	const want = "want a time such as 30m"
	if _, _, err := run(t, greeter(), []string{"--http", ":0", "--session-idle", "30"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the flag: %v", err)
	}
	t.Setenv("KAGAMI_SESSION_IDLE", "30")
	if _, _, err := run(t, greeter(), []string{"--http", ":0"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the variable: %v", err)
	}
}

// TestWorkerWithoutWorkers: the error of a worker that must not run tasks is not about its store.
func TestWorkerWithoutWorkers(t *testing.T) {
	t.Parallel()
	app := framework.New("greeter", "1.2.3", framework.WithStore(memory.New()), framework.WithTaskWorkers(0)).Add(
		framework.Tool("hello", hello, framework.Describe("Greet a person by name.")),
	)
	_, _, err := run(t, app, []string{"--worker"})
	if err == nil || !strings.Contains(err.Error(), "WithTaskWorkers is 0") || strings.Contains(err.Error(), "redis") {
		t.Errorf("%v", err)
	}
}
