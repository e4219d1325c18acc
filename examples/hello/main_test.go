package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

// asServer is the environment variable that makes the test binary the program itself.
const asServer = "HELLO_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
	}
	goleak.VerifyTestMain(m, // goroutines of fasthttp sleep for a while after its end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// The server works with every client over every carrier.
func TestHello(t *testing.T) {
	t.Parallel()
	testkit.Matrix(t, newApp, func(t *testing.T, s *testkit.Session) {
		got, err := testkit.CallAs[string](s, "hello", Input{Name: "Ada"})
		if got != "Hello, Ada!" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		s.CallRaw("hello", `{"name":""}`).IsError().Mentions("/name")
		s.CallRaw("hello", `{"names":"Ada"}`).IsError().Mentions("/names", "name")
	})
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	testkit.Mistakes(t, framework.Tool("hello", Hello))
}

// The program itself serves on its stdin and stdout.
func TestProgram(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), asServer+"=1")
			c, err := client.Connect(t.Context(), client.Command(cmd), client.Revisions(rev))
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Call[string](t.Context(), c, "hello", Input{Name: "Ada"})
			if got != "Hello, Ada!" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := client.Call[string](t.Context(), c, "hello", Input{}); err == nil {
				t.Error("there is no greeting")
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A program has only the stores that it imports. The error for another store names the missing
// import.
func TestStoresAreImported(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://user:hidden@127.0.0.1:6379/0": `import _ "github.com/kagami-mcp/kagami/framework/store/redisstore"`,
		"file:x.db":                            `import _ "github.com/kagami-mcp/kagami/framework/store/boltstore"`,
	} {
		err := serve.Run(t.Context(), newApp(), []string{"--store", url})
		if err == nil || serve.ExitCode(err) != 2 || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
