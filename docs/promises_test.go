package docs_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// flagDefinitions are the methods of package flag and pflag that define a flag, with the position of its name.
var flagDefinitions = map[string]int{
	"Bool": 0, "Duration": 0, "Int": 0, "String": 0, "Func": 0, "BoolFunc": 0,
	"Var": 1, "BoolVar": 1, "DurationVar": 1, "IntVar": 1, "StringVar": 1, "TextVar": 1,
	"BoolVarP": 1, "DurationVarP": 1, "IntVarP": 1, "StringVarP": 1, "StringArrayVar": 1, "StringArrayVarP": 1, "StringSliceVar": 1, "VarP": 1,
}

// environment are variables that Kagami reads and that other programs define.
var environment = []string{"APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "TERM", "SSH_CONNECTION"}

// promise is a name that users write, with where the code reads it.
type promise struct{ name, from string }

// TestPromises: each flag, environment variable and key of a struct tag that the code reads is in a guide.
func TestPromises(t *testing.T) {
	t.Parallel()
	guides := guideText(t)
	found := map[string]int{}
	check := func(kind, quoted string, all []promise) {
		found[kind] = len(all)
		for _, p := range all {
			if !regexp.MustCompile(strings.ReplaceAll(quoted, "NAME", regexp.QuoteMeta(p.name))).MatchString(guides) {
				t.Errorf("no page of docs names the %s %s of %s", kind, p.name, p.from)
			}
		}
	}
	check("flag", `--?NAME\b`, flagNames(t))
	check("environment variable", `\bNAME\b`, variables(t))
	check("tag key", "`NAME[`:]", tagKeys(t))
	for kind, least := range map[string]int{"flag": 70, "environment variable": 12, "tag key": 9} {
		if found[kind] < least {
			t.Errorf("found %d of kind %s, want at least %d: the test misses some", found[kind], kind, least)
		}
	}
}

// guideText returns the guides in one text.
func guideText(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// callsIn visits each call in the packages of dirs.
func callsIn(t *testing.T, dirs []string, visit func(w wording, call *ast.CallExpr)) {
	t.Helper()
	for _, dir := range dirs {
		if !slices.ContainsFunc(goPaths(t, dir), isProgramFile) {
			continue
		}
		s := parsed(t, dir)
		for _, file := range s.files {
			inFunctions(file, func(n ast.Node, fn *ast.FuncDecl) {
				if call, ok := n.(*ast.CallExpr); ok {
					visit(within(s, fn), call)
				}
			})
		}
	}
}

func flagNames(t *testing.T) []promise {
	t.Helper()
	var all []promise
	callsIn(t, []string{"framework/serve", "testkit", "cmd/kagami"}, func(w wording, call *ast.CallExpr) {
		at, defines := flagDefinitions[calleeName(call)]
		if !defines || len(call.Args) < 3 {
			return
		}
		for _, name := range w.texts(call.Args[at]) {
			if name != unknown {
				all = append(all, promise{name, w.dir})
			}
		}
	})
	return all
}

// variables returns the environment variables that are read by their name.
func variables(t *testing.T) []promise {
	t.Helper()
	var all []promise
	callsIn(t, append(publicDirs(t), "cmd/kagami", "cmd/kagami/internal/login", "protocol/client/oauth"), func(w wording, call *ast.CallExpr) {
		if !slices.Contains([]string{"Getenv", "getenv", "LookupEnv"}, calleeName(call)) || len(call.Args) != 1 {
			return
		}
		names := w.texts(call.Args[0])
		if selector, ok := call.Args[0].(*ast.SelectorExpr); ok {
			names = wording{source: parsed(t, "cmd/kagami/internal/login")}.texts(selector.Sel)
		}
		for _, name := range names {
			if !strings.Contains(name, unknown) && !slices.Contains(environment, name) {
				all = append(all, promise{name, w.dir})
			}
		}
	})
	return all
}

// tagKeys returns the keys of struct tags that the compiler of types reads.
func tagKeys(t *testing.T) []promise {
	t.Helper()
	var all []promise
	dirs := []string{"framework/internal/binding", "framework/internal/binding/plan", "framework/internal/binding/rules", "framework/internal/binding/schema", "framework/internal/binding/gotype"}
	callsIn(t, dirs, func(w wording, call *ast.CallExpr) {
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "Get" && method.Sel.Name != "Lookup" || len(call.Args) != 1 {
			return
		}
		tag, ok := method.X.(*ast.SelectorExpr)
		if key, literal := call.Args[0].(*ast.BasicLit); ok && literal && tag.Sel.Name == "Tag" {
			all = append(all, promise{strings.Trim(key.Value, `"`), w.dir})
		}
	})
	slices.SortFunc(all, func(a, b promise) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b promise) bool { return a.name == b.name })
}
