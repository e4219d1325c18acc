package engine_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readingOrder returns the files that the package comment lists, with their positions.
func readingOrder(t *testing.T) map[string]int {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	order := map[string]int{}
	for i, name := range regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(string(doc), -1) {
		if _, twice := order[name]; twice {
			t.Errorf("doc.go names %s twice", name)
		}
		order[name] = i
	}
	return order
}

// TestReadingOrder compares the files that the package comment lists with the files that there are.
func TestReadingOrder(t *testing.T) {
	t.Parallel()
	listed := readingOrder(t)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if _, ok := listed[name]; !ok && !strings.HasSuffix(name, "_test.go") && name != "doc.go" {
			t.Errorf("doc.go does not name %s", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("doc.go names %s, which is not there", name)
	}
}

// upwards are the uses of later files that there have to be.
var upwards = map[string]string{
	"accept.go: batch": "a batch is accepted as a frame, and consists of messages that are accepted",
}

// TestReadingDirection: a file uses functions, methods, variables and constants of the files before it
// only. Types may name later ones, because the types of the state refer to each other.
func TestReadingDirection(t *testing.T) {
	t.Parallel()
	order, unused := readingOrder(t), map[string]bool{}
	for use := range upwards {
		unused[use] = true
	}
	fset := token.NewFileSet()
	uses := usesOfPackage(t, fset, order)
	if len(uses) < 1000 {
		t.Fatalf("only %d uses were found", len(uses))
	}
	for id, object := range uses {
		from, to := fset.Position(id.Pos()), filepath.Base(fset.Position(object.Pos()).Filename)
		file := filepath.Base(from.Filename)
		if !directed(object) || order[to] <= order[file] {
			continue
		}
		delete(unused, file+": "+id.Name)
		if upwards[file+": "+id.Name] == "" {
			t.Errorf("%s uses %s of %s, which doc.go lists later", from, id.Name, to)
		}
	}
	for use := range unused {
		t.Errorf("upwards has %q, which no file does", use)
	}
}

// usesOfPackage returns what each identifier of the listed files stands for, if that is in this
// package. Imports are not loaded. A method of a value that an imported function returns is therefore
// missing, which few are.
func usesOfPackage(t *testing.T, fset *token.FileSet, listed map[string]int) map[*ast.Ident]types.Object {
	t.Helper()
	var files []*ast.File
	for name := range listed {
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := config.Check("engine", fset, files, info) // its error is that there are no imports
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			delete(info.Uses, id)
		}
	}
	return info.Uses
}

// directed reports whether uses of the object must follow the reading order.
func directed(object types.Object) bool {
	switch object.(type) {
	case *types.Func:
		return true
	case *types.Var, *types.Const:
		return object.Parent() == object.Pkg().Scope()
	}
	return false
}

// noImports is an importer without packages.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }
