package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kagami-mcp/kagami"

// file is one parsed Go file; dir and path are relative to the module's root.
type file struct {
	dir, path string
	test      bool
	fset      *token.FileSet
	ast       *ast.File
	text      string
}

// load parses all Go files of the main module.
func load(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, path, d)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parse(root, path)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("found only %d files: this test does not see the module", len(files))
	}
	return files
}

// skip leaves out hidden and vendored directories, test data and nested modules.
func skip(root, path string, d fs.DirEntry) error {
	if path == root {
		return nil
	}
	if name := d.Name(); strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func parse(root, path string) (file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(root, path)
	rel = filepath.ToSlash(rel)
	return file{
		dir: filepath.ToSlash(filepath.Dir(rel)), path: rel, test: strings.HasSuffix(rel, "_test.go"),
		fset: fset, ast: tree, text: string(text),
	}, err
}

func below(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

func ruleFor(dir string) (rule, bool) {
	var best rule
	found := false
	for _, r := range table {
		if below(dir, r.prefix) && len(r.prefix) >= len(best.prefix) {
			best, found = r, true
		}
	}
	return best, found
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		r, known := ruleFor(f.dir)
		if !known {
			t.Errorf("%s: its package is not in table_test.go; add it, with what it may import", f.path)
			continue
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !allowed(f, r, path) {
				t.Errorf("%s imports %s, which %s may not: lower knows nothing of higher (docs/architecture.md)", f.path, path, r.prefix)
			}
		}
	}
}

func allowed(f file, r rule, path string) bool {
	inside, own := strings.CutPrefix(path, module+"/")
	switch {
	case own && f.test: // tests may use everything that users may
		return !strings.Contains(inside, "/internal/") || below(f.dir, "framework") || allowedInside(r, inside)
	case own:
		return allowedInside(r, inside)
	case !strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return true // the standard library
	}
	return anyBelow(path, r.external) || f.test && anyBelow(path, inTests)
}

// allowedInside: a row speaks for the packages that it is the longest match of.
func allowedInside(r rule, dir string) bool {
	other, _ := ruleFor(dir)
	return other.prefix == r.prefix && r.prefix != "examples" || slices.Contains(r.internal, other.prefix)
}

func anyBelow(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return below(path, p) })
}

func TestTableHasNoDeadRows(t *testing.T) {
	t.Parallel()
	files := load(t)
	for _, r := range table {
		used := false
		for _, f := range files {
			used = used || below(f.dir, r.prefix)
		}
		if !used {
			t.Errorf("table_test.go has a row for %s, where nothing is", r.prefix)
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range load(t) {
		if !f.test {
			documented[f.dir] = documented[f.dir] || f.ast.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

var revisionName = regexp.MustCompile(`\bRev20\d{6}\b`)

func TestRevisionsAreNamedInOnePlace(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.test || f.dir == "protocol" || f.dir == "protocol/dialect" || below(f.dir, "examples") {
			continue
		}
		if name := revisionName.FindString(f.text); name != "" {
			t.Errorf("%s names %s: ask the dialect for a trait instead", f.path, name)
		}
	}
}

// TestMethodsAreNotLookedUp by names that the linker does not know, where a server is built with
// validator's tag against that: it would keep all methods of all types, 11 MB of them. What only
// framework.Methods needs is in a program only if it calls that.
func TestMethodsAreNotLookedUp(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		served := slices.ContainsFunc([]string{"framework", "protocol", "transport", "middleware"}, func(dir string) bool { return below(f.dir, dir) })
		if f.test || !served || f.path == "framework/methods.go" || !strings.Contains(f.text, `"reflect"`) || strings.HasPrefix(f.text, "//go:build !validator_novalidatefn\n") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && looksUpMethod(call) {
				t.Errorf("%s: see framework/internal/binding/lint_method.go", f.fset.Position(call.Pos()))
			}
			return true
		})
	}
}

// looksUpMethod says that a call may be one of Method or MethodByName of package reflect with a name, or
// a number, which is no constant.
func looksUpMethod(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || f.Sel.Name != "Method" && f.Sel.Name != "MethodByName" {
		return false
	}
	_, literal := call.Args[0].(*ast.BasicLit)
	return !literal || f.Sel.Name == "Method"
}

func TestExportedIsDocumented(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and has no comment", f.path, name)
			}
		}
	}
}

func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		return undocumentedSpecs(d)
	}
	return nil
}

func undocumentedSpecs(d *ast.GenDecl) []string {
	var names []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			if s.Names[0].IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
				names = append(names, s.Names[0].Name)
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch generic := typ.(type) {
	case *ast.IndexExpr:
		typ = generic.X
	case *ast.IndexListExpr:
		typ = generic.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if f.test {
			continue
		}
		if n := strings.Count(f.text, "\n"); n > 600 {
			t.Errorf("%s has %d lines; 600 is the most: one topic to a file", f.path, n)
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := f.fset.Position(d.End()).Line - f.fset.Position(d.Pos()).Line - 1
			first := strings.Split(f.text, "\n")[f.fset.Position(d.Pos()).Line-1]
			if n > 60 && !strings.Contains(first, "//nolint:funlen") {
				t.Errorf("%s: %s has %d lines; 60 is the most", f.path, d.Name.Name, n)
			}
		}
	}
}

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|t\.Skip\(\)`)

func TestNothingUnfinished(t *testing.T) {
	t.Parallel()
	for _, f := range load(t) {
		if found := unfinished.FindString(f.text); found != "" && f.dir != "framework/internal/archtest" {
			t.Errorf("%s: %s: finish it or file an issue; a skip says why", f.path, found)
		}
	}
}
