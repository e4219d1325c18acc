package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is the Go code of one package without its tests, as far as a message needs it: declarations
// by name, without types.
type source struct {
	dir    string // from the root of the repository
	names  []string
	files  []*ast.File // by name
	funcs  map[string]*ast.FuncDecl
	values map[string]ast.Expr // of constants and variables
}

// parsed reads the Go files of a directory.
func parsed(t *testing.T, dir string) *source {
	t.Helper()
	s := &source{dir: dir, funcs: map[string]*ast.FuncDecl{}, values: map[string]ast.Expr{}}
	paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no Go files: %v", dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		s.names = append(s.names, filepath.Base(path))
		s.files = append(s.files, file)
		s.declare(file)
	}
	return s
}

func (s *source) declare(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if _, twice := s.funcs[d.Name.Name]; twice {
				s.funcs[d.Name.Name] = nil // ambiguous: methods of two types
				continue
			}
			s.funcs[d.Name.Name] = d
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for i, name := range v.Names {
						if i < len(v.Values) {
							s.values[name.Name] = v.Values[i]
						}
					}
				}
			}
		}
	}
}

// Bounds of what texts follows: deeper, or with more forms, a text is "…".
const (
	maxForms = 8
	maxCalls = 3
)

const unknown = "…"

// wording finds the texts that an expression can have. Whatever is known only when the program runs is
// "…".
type wording struct {
	*source
	body  ast.Node // the function around the expression
	calls int
}

func (w wording) texts(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.texts(e.X)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return joined(w.texts(e.X), w.texts(e.Y))
		}
	case *ast.Ident:
		return w.variable(e.Name)
	case *ast.CallExpr:
		return w.called(e)
	}
	return []string{unknown}
}

func joined(a, b []string) []string {
	if len(a)*len(b) > maxForms {
		return []string{unknown}
	}
	var all []string
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// formats are the functions whose first argument is a format.
var formats = []string{"Sprintf", "Errorf", "UserErrorf", "NotFoundf", "usagef"}

var verb = regexp.MustCompile(`%[-+# 0]*[\d*]*(\.[\d*]+)?(\[\d+\])?[a-zA-Z]`)

func (w wording) called(call *ast.CallExpr) []string {
	name := calleeName(call)
	switch {
	case slices.Contains(formats, name) && len(call.Args) > 0:
		all := w.texts(call.Args[0])
		for i := range all {
			if first := w.wrapped(call); first != "" && strings.HasPrefix(all[i], "%w") {
				all[i] = first + all[i][len("%w"):]
			}
			all[i] = strings.ReplaceAll(verb.ReplaceAllString(all[i], unknown), "%%", "%")
		}
		return all
	case name == "New" && len(call.Args) == 1:
		return w.texts(call.Args[0])
	case w.funcs[name] != nil:
		return w.results(w.funcs[name], 0)
	}
	return []string{unknown}
}

// wrapped returns the text of the error that is the second argument of a call, if it is a variable of the package.
func (w wording) wrapped(call *ast.CallExpr) string {
	if len(call.Args) < 2 {
		return ""
	}
	id, ok := call.Args[1].(*ast.Ident)
	if !ok || w.values[id.Name] == nil || w.calls == maxCalls {
		return ""
	}
	if text := (wording{w.source, nil, w.calls + 1}).texts(w.values[id.Name])[0]; text != unknown {
		return text
	}
	return ""
}

func calleeName(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}

// results returns the texts of one result of a function of the package.
func (w wording) results(fn *ast.FuncDecl, result int) []string {
	if w.calls == maxCalls || fn.Body == nil {
		return []string{unknown}
	}
	inner := wording{w.source, fn.Body, w.calls + 1}
	var all []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if result < len(n.Results) {
				all = append(all, inner.texts(n.Results[result])...)
			}
		}
		return true
	})
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(text string) bool { return text == "" }) // it stands for no problem
	}
	return few(all)
}

// variable returns the texts that a constant, or a variable of the function, is given.
func (w wording) variable(name string) []string {
	var all []string
	if w.body != nil {
		ast.Inspect(w.body, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && (a.Tok == token.ASSIGN || a.Tok == token.DEFINE) {
				all = append(all, w.assigned(a, name)...)
			}
			return true
		})
	}
	if len(all) == 0 && w.values[name] != nil && w.calls < maxCalls {
		return wording{w.source, nil, w.calls + 1}.texts(w.values[name])
	}
	return few(all)
}

func (w wording) assigned(a *ast.AssignStmt, name string) []string {
	for i, left := range a.Lhs {
		if id, ok := left.(*ast.Ident); !ok || id.Name != name {
			continue
		}
		if len(a.Lhs) == len(a.Rhs) {
			return w.texts(a.Rhs[i])
		}
		if call, ok := a.Rhs[0].(*ast.CallExpr); ok && w.funcs[calleeName(call)] != nil {
			return w.results(w.funcs[calleeName(call)], i)
		}
	}
	return nil
}

func few(all []string) []string {
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 || len(all) > maxForms {
		return []string{unknown}
	}
	return all
}
