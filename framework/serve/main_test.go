package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	_ "github.com/kagami-mcp/kagami/framework/store/redisstore"
)

// asServer makes the test binary a server program: the app of that name, under Main.
const asServer = "SERVE_TEST_APP"

// built is the program that the cluster tests run.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if name := os.Getenv(asServer); name != "" {
		serve.Main(apps[name]())
	}
	// A server of httptest closes the idle connections of http.DefaultTransport when it ends. That may
	// cancel a request of another test, so connections are not kept.
	http.DefaultTransport = &http.Transport{DisableKeepAlives: true}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(built.dir) // "" is nothing
		os.Exit(code)
	}), // fasthttp sleeps on for a while after its end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

var apps = map[string]func() *framework.App{
	"greeter": greeter,
	"orderly": orderly,
	"reader": func() *framework.App { // takes from stdin what it can get
		return greeter().OnStart(func(context.Context, *framework.Server) error {
			child := exec.Command("cat")
			child.Stdin = os.Stdin
			go func() { _, _ = io.Copy(io.Discard, os.Stdin) }()
			return child.Start()
		})
	},
	"faulty": func() *framework.App {
		return framework.New("faulty", "1").Add(
			framework.Tool("bad name!", hello), framework.Tool("twice", hello), framework.Tool("twice", hello))
	},
	"loud": func() *framework.App {
		say := func(what string) func(context.Context, *framework.Server) error {
			return func(context.Context, *framework.Server) error {
				_, err := fmt.Println(what)
				return err
			}
		}
		return greeter().OnStart(say("starting")).OnStop(say("stopping"))
	},
	"unstartable": func() *framework.App {
		return greeter().OnStart(func(context.Context, *framework.Server) error { return errors.New("no database") })
	},
}

// stopped names the file in which "orderly" leaves word when it has stopped.
const stopped = "SERVE_TEST_STOPPED"

// orderly logs, as programs do, before it does what has to be done in the end.
func orderly() *framework.App {
	return greeter().OnStop(func(context.Context, *framework.Server) error {
		_, _ = fmt.Fprintln(os.Stderr, "stopping") // the reader may be gone
		_, _ = fmt.Println("stopping")
		return os.WriteFile(os.Getenv(stopped), []byte("in order"), 0o600)
	})
}

type helloIn struct {
	Name string `json:"name" doc:"who to greet" validate:"min=1"`
	Mood string `json:"mood" doc:"how" default:"happy" validate:"oneof=happy sad"`
}

func hello(_ context.Context, in helloIn) (string, error) { return "Hello, " + in.Name + "!", nil }

// noisy prints where it must not: Main has to keep stdout clean.
func noisy(context.Context, struct{}) (string, error) {
	_, err := fmt.Println("noise")
	return "done", err
}

type napIn struct {
	Milliseconds int  `json:"milliseconds"`
	Deaf         bool `json:"deaf,omitempty"`
}

// nap tells when it has begun, by a notification, and ends early when cancelled, unless it is deaf.
func nap(ctx context.Context, in napIn) (string, error) {
	if in.Deaf {
		framework.Progress(ctx, 1, 2, "asleep")
		time.Sleep(time.Duration(in.Milliseconds) * time.Millisecond)
		return "rested", nil
	}
	framework.Progress(ctx, 1, 2, "asleep")
	timer := time.NewTimer(time.Duration(in.Milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return "rested", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// patience is a bound on what takes no time unless something is broken.
const patience = 45 * time.Second

// within returns what arrives on c, and fails the test if nothing does.
func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-c:
		return v
	case <-timer.C:
		t.Fatal("nothing happened")
		panic("unreachable")
	}
}

func greeter() *framework.App {
	return framework.New("greeter", "1.2.3", framework.WithInstructions("Greets.")).Add(
		framework.Tool("hello", hello, framework.Describe("Greet a person by name."), framework.ReadOnly()),
		framework.Tool("noisy", noisy, framework.Describe("Prints to stdout.")),
		framework.Tool("nap", nap, framework.Describe("Takes its time.")),
		framework.Resource("greet://all", func(context.Context) ([]string, error) { return []string{"hello"}, nil },
			framework.Name("all"), framework.Describe("All greetings.")),
	)
}
