package testkit_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// The test package of a user may have this flag: testkit's own must not be in its way,
// and honors it.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	t.Parallel()
	testkit.AllRevisions(t, newHandles().app(), func(_ *testing.T, s *testkit.Session) {
		for _, list := range []string{"tools", "resources", "templates", "prompts", "nested/tools"} {
			s.Golden(list)
		}
	})
	if *update {
		return
	}
	files, err := filepath.Glob("testdata/*.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	// A revision with the same list as the newest revision has no file.
	for _, name := range []string{"tools.golden.json", "tools.2024-11-05.golden.json", "prompts.golden.json"} {
		if !slices.Contains(files, filepath.Join("testdata", name)) {
			t.Errorf("no %s in %q", name, files)
		}
	}
	if slices.Contains(files, "testdata/prompts.2025-11-25.golden.json") {
		t.Error("a file for a revision that does not differ")
	}
}

// TestGoldenWithWindowsLines: git on Windows may have converted the files.
// Not parallel: the directory is the process's.
func TestGoldenWithWindowsLines(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	files, err := filepath.Glob("testdata/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			unix := strings.ReplaceAll(string(text), "\r\n", "\n")
			err = os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(unix, "\n", "\r\n")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	testkit.AllRevisions(t, newHandles().app(), func(_ *testing.T, s *testkit.Session) {
		s.Golden("tools")
		s.Golden("prompts")
	})
}

// TestGoldenUpdate checks that the flag makes the files, and files for older revisions only if they
// differ. It is not parallel, because the flag and the directory belong to the process.
func TestGoldenUpdate(t *testing.T) {
	t.Chdir(t.TempDir())
	old := flag.Lookup("testkit.update").Value.String()
	set := func(value string) {
		if err := flag.Set("testkit.update", value); err != nil {
			t.Fatal(err)
		}
	}
	defer set(old)
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/prompts.2025-11-25.golden.json", []byte("stale"), 0o644); err != nil {
		t.Fatal(err)
	}
	body := func(_ *testing.T, s *testkit.Session) {
		s.Golden("tools")
		s.Golden("prompts")
	}
	const merged = "locks/mcp.lock"
	contracts := func() {
		testkit.Contract(t, newHandles().app(), "mcp.lock")
		testkit.Contract(t, newHandles().app(), "locks/new/mcp.lock") // in a folder that is not there
		testkit.Contract(t, newHandles().app(), merged)
	}
	if err := errors.Join(os.Mkdir("locks", 0o755), os.WriteFile(merged, []byte("<<<<<<< HEAD\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if !*update {
		mustFail{func(t testing.TB) { testkit.CheckContract(t, newHandles().app(), merged) }, []string{merged, "-testkit.update writes it"}}.once(t)
	}
	set("true")
	testkit.AllRevisions(t, newHandles().app(), body)
	contracts()
	if !*update {
		set("false")
		testkit.AllRevisions(t, newHandles().app(), body)
		contracts()
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(files, "testdata/prompts.2025-11-25.golden.json") || !slices.Contains(files, "testdata/prompts.golden.json") {
		t.Errorf("%q", files)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	testkit.Contract(t, newHandles().app(), "testdata/mcp.lock")
	raw, err := os.ReadFile("testdata/mcp.lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"tasks": "forbidden"`, `"tea://cups/{name}"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in the lock file", want)
		}
	}
}

// shop is an app of which the tests below change something.
func shop(find framework.Component, more ...framework.Component) *framework.App {
	return framework.New("shop", "1").Add(find).Add(more...)
}

type findIn struct {
	Query string `json:"query" validate:"min=1"`
	Limit int    `json:"limit,omitempty" default:"10" validate:"min=1,max=100"`
}

type findLess struct {
	Query string `json:"query" validate:"min=1"`
	Limit int    `json:"limit,omitempty" default:"20" validate:"min=1,max=50"`
	Shop  string `json:"shop"`
}

func find(opts ...framework.Option) framework.Component {
	return framework.Tool("find", func(_ context.Context, in findIn) (string, error) {
		if in.Query == "nothing" {
			return "", framework.UserErrorf("nothing is called %q", in.Query)
		}
		return "found " + in.Query, nil
	}, opts...)
}

// broken are tests that fail, each for a reason of its own. The message alone must
// tell what was sent, what came back and what was expected: read the files.
func broken() map[string]func(testing.TB) {
	lock := "testdata/shop.lock"
	less := framework.Tool("find", func(context.Context, findLess) (string, error) { return "", nil }, framework.Describe("Finds things."))
	return map[string]func(testing.TB){
		"an error instead of success": func(t testing.TB) {
			testkit.New(t, shop(find())).CallRaw("find", `{"query":"nothing"}`).OK()
		},
		"arguments that do not fit": func(t testing.TB) {
			testkit.New(t, shop(find())).CallRaw("find", `{"query":"tea","limit":"lots"}`).OK()
		},
		"success instead of an error": func(t testing.TB) {
			testkit.New(t, shop(find()), testkit.At(protocol.Rev20251125)).CallRaw("find", `{"query":"tea"}`).IsError()
		},
		"another error": func(t testing.TB) { testkit.New(t, shop(find())).Read("shop://none").Code(-32002) },
		"a text without a word": func(t testing.TB) {
			testkit.New(t, shop(find()), testkit.At(protocol.Rev20251125)).CallRaw("find", `{"query":"tea"}`).Mentions("found", "coffee")
		},
		"an unexpected question": func(t testing.TB) {
			s := testkit.New(t, newHandles().app())
			s.OnElicit("age", 30)
			s.CallRaw("greet", "{}").OK()
		},
		"a question out of order": func(t testing.TB) {
			s := testkit.New(t, asking(), testkit.Ordered())
			s.OnElicit("second", "b")
			s.OnElicit("first", "a")
			s.CallRaw("ask", "").OK()
		},
		"an answer that the form refuses": func(t testing.TB) {
			s := testkit.New(t, newHandles().app())
			s.OnElicit("name", 30)
			s.CallRaw("greet", "{}").OK()
		},
		"a handler that is not deterministic": func(t testing.TB) {
			s := testkit.New(t, varying)
			s.OnElicit("", "x")
			s.CallRaw("vary", "{}")
		},
		"a notification that did not come": func(t testing.TB) {
			testkit.New(t, shop(find()), testkit.Timeout(time.Second)).AwaitNotification("notifications/tools/list_changed")
		},
		"an answer that nobody asked for": func(t testing.TB) {
			s := testkit.New(t, shop(find()), testkit.At(protocol.Rev20251125))
			s.OnElicit("Really?", true)
			s.CallRaw("find", `{"query":"tea"}`).OK()
		},
		"notifications in another order": func(t testing.TB) {
			s := testkit.New(t, newHandles().app(), testkit.At(protocol.Rev20251125))
			s.CallRaw("wait", `{"for":"1s"}`).OK()
			s.InOrder("notifications/progress \"progress\":2", "notifications/progress \"progress\":1,")
		},
		"a task that goes on": func(t testing.TB) {
			tool := framework.Tool("render", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, framework.Task(framework.TaskOptional))
			s := testkit.New(t, framework.New("films", "1").Add(tool), testkit.Timeout(time.Minute))
			_, _ = testkit.Start(s, tool, struct{}{}).Await()
		},
		"a list that is not golden":  func(t testing.TB) { testkit.New(t, shop(find(framework.ReadOnly()))).Golden("shop/tools") },
		"a golden that is not there": func(t testing.TB) { testkit.New(t, shop(find())).Golden("lost/tools") },
		"a contract that is broken":  func(t testing.TB) { testkit.CheckContract(t, shop(less), lock) },
		"a contract that is extended": func(t testing.TB) {
			testkit.CheckContract(t, shop(find(), framework.Tool("more", func(context.Context, struct{}) (string, error) { return "", nil })), lock)
		},
	}
}

// asking asks two questions.
func asking() *framework.App {
	return framework.New("kit", "1").Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		first, err := framework.Elicit[string](ctx, "The first?")
		if err != nil {
			return "", err
		}
		second, err := framework.Elicit[string](ctx, "The second?")
		return first + second, err
	}))
}

// Ordered changes nothing where the order is right.
func TestOrdered(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, asking, func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("first", "a")
		s.OnElicit("second", "b")
		s.CallRaw("ask", "").OK().Mentions("ab")
	}, testkit.Ordered())
}

// TestShop compares the app with the files that broken uses.
func TestShop(t *testing.T) {
	t.Parallel()
	testkit.New(t, shop(find())).Golden("shop/tools")
	testkit.Contract(t, shop(find()), "testdata/shop.lock")
}

func TestFailureMessages(t *testing.T) {
	t.Parallel()
	for name, body := range broken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *update {
				t.Skip("the assertions would write their files: run again with -messages")
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = strings.Join(failures(t, body), "\n") + "\n" })
			file := filepath.Join("testdata", "failures", strings.ReplaceAll(name, " ", "_")+".txt")
			if *messages {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (go test -messages writes it)", err)
			}
			if got != string(want) {
				t.Errorf("%s (go test -messages writes it)\n--- got\n%s--- want\n%s", file, got, want)
			}
		})
	}
}

var messages = flag.Bool("messages", false, "rewrite the golden messages of failing tests")
