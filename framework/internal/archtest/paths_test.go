package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// outside finds paths that exist on one machine only: below home directories and
// their like. Members of URIs (file:///home/...) are examples.
var outside = regexp.MustCompile(`(?m)(?:^|[^/\w.~-])/(?:work|home|root|Users)/\S*`)

// mayPointOutside is the one file that may look beside the checkout, for the
// official schemas.
const mayPointOutside = ".ci/run"

// TestNothingPointsOutside reads all files, also the files of nested modules, because a clone has
// nothing beside it.
func TestNothingPointsOutside(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.Name() == ".git" { // of a git worktree
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !d.Type().IsRegular() || filepath.ToSlash(rel) == mayPointOutside || below(filepath.ToSlash(rel), "framework/internal/archtest") {
			return err
		}
		text, err := os.ReadFile(path)
		if found := outside.Find(text); found != nil {
			t.Errorf("%s mentions %q, which a clone does not have; only %s may point outside the repository", rel, found, mayPointOutside)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutsideFindsPaths(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		`dir := "/home/ann/src"`:             true,
		"open /Users/ann/x":                  true,
		`uri: "file:///home/user/project"`:   false,
		"https://example.com/work/items":     false,
		"examples/home/main.go":              false,
		`replace kagami => ../..`:            false,
		`[the design](../architecture.md)`:   false,
		`{"/orders/{id}", "/homework/list"}`: false,
	}
	for line, want := range tests {
		if got := outside.MatchString(line); got != want {
			t.Errorf("%s: found is %v", line, got)
		}
	}
}

// TestImportRulesBite holds the judge of TestImports against imports that must
// fail, so that a slip in it cannot pass everything.
func TestImportRulesBite(t *testing.T) {
	t.Parallel()
	const m = module + "/"
	tests := []struct {
		dir, path string
		test      bool
		want      bool
	}{
		{"protocol/jsontext", "encoding/json", false, true},
		{"protocol/jsontext", m + "protocol/jsonrpc", false, false},
		{"protocol/jsonrpc", m + "protocol/jsontext", false, true},
		{"protocol", m + "protocol/dialect", false, false},
		{"protocol/engine", m + "framework", false, false},
		{"protocol/engine", m + "framework/internal/catalog", true, false},
		{"protocol/engine", m + "testkit", true, true},
		{"protocol/engine", "go.uber.org/zap", false, false},
		{"transport/stdio", m + "protocol/engine", false, false},
		{"transport/stdio", "golang.org/x/sys/unix", false, true},
		{"framework", "go.uber.org/zap/zapcore", false, true},
		{"framework", "github.com/invopop/jsonschema", false, false},
		{"framework/internal/binding", "github.com/invopop/jsonschema", false, true},
		{"framework/internal/uritemplate", m + "protocol", false, false},
		{"examples/hello", m + "framework", false, true},
		{"examples/hello", m + "framework/internal/binding", false, false},
		{"examples/hello", m + "examples/weather", false, false},
		{"cmd/kagami", "github.com/spf13/cobra", false, true},
		{"framework", "github.com/spf13/cobra", false, false},
		{"protocol", "go.uber.org/goleak", true, true},
		{"protocol", "go.uber.org/goleak", false, false},
	}
	for _, tt := range tests {
		r, known := ruleFor(tt.dir)
		if !known {
			t.Errorf("no row for %s", tt.dir)
			continue
		}
		if got := allowed(file{dir: tt.dir, test: tt.test}, r, tt.path); got != tt.want {
			t.Errorf("%s (test %v) imports %s: allowed is %v", tt.dir, tt.test, tt.path, got)
		}
	}
	if _, known := ruleFor("elsewhere"); known {
		t.Error("a package that is not in the table has a row")
	}
}
