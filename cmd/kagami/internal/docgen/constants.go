package docgen

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
)

// constants collects the constants of named strings and integers, and their comments.
//
// It does not load imports. A constant whose value needs another package gets no comment.
func (p *Package) constants(fset *token.FileSet, files []*ast.File) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	check := types.Config{
		Importer: noImports{}, IgnoreFuncBodies: true, FakeImportC: true,
		Error: func(error) {}, // the compiler reports what does not compile
	}
	pkg, _ := check.Check(p.Name, fset, files, info)
	enums := map[string]*found{}
	for _, file := range files {
		for _, decl := range file.Decls {
			if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.CONST {
				p.group(general, pkg, info, enums)
			}
		}
	}
	declared := declarations(files)
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		e := enums[name]
		p.describe(name, e)
		spec := declared[name]
		if len(e.names) < 2 || e.flags || isOpen(spec.Doc) || types.NewMethodSet(types.NewPointer(e.t)).Lookup(pkg, "Values") != nil {
			continue
		}
		p.Enums = append(p.Enums, Enum{name, e.listed()})
	}
}

// found are the constants of one type.
type found struct {
	t      *types.Named
	names  []string
	values []constant.Value
	docs   []string
	flags  bool // the constants are bits of a set
}

// group collects the constants of one declaration.
func (p *Package) group(decl *ast.GenDecl, pkg *types.Package, info *types.Info, enums map[string]*found) {
	shifts := false // the expression that Go repeats contains a shift
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) > 0 {
			shifts = slices.ContainsFunc(spec.Values, isShift)
		}
		for _, ident := range spec.Names {
			c, _ := info.Defs[ident].(*types.Const)
			if c == nil || ident.Name == "_" {
				continue
			}
			named, _ := c.Type().(*types.Named)
			if named == nil || named.Obj().Pkg() != pkg || !listable(named) {
				continue
			}
			name := named.Obj().Name()
			if enums[name] == nil {
				enums[name] = &found{t: named}
			}
			comments := []*ast.CommentGroup{spec.Doc, spec.Comment}
			if len(decl.Specs) == 1 {
				comments = append(comments, decl.Doc)
			}
			enums[name].add(c, shifts, comments...)
		}
	}
}

// add adds a constant. Its description is the first of the comments that has words.
func (e *found) add(c *types.Const, shifts bool, comments ...*ast.CommentGroup) {
	e.names, e.values, e.docs = append(e.names, c.Name()), append(e.values, c.Val()), append(e.docs, firstWords(c.Name(), comments...))
	e.flags = e.flags || shifts
}

// describe registers the comments of constants.
func (p *Package) describe(name string, e *found) {
	for i, value := range e.values {
		if e.docs[i] == "" {
			continue
		}
		key := name + "="
		switch v := constant.Val(value).(type) {
		case string:
			key += v
		case int64:
			key += strconv.FormatInt(v, 10)
		default:
			continue
		}
		if p.Docs[key] == "" { // a second name of the value, such as Default = Red, does not replace the first
			p.Docs[key] = e.docs[i]
		}
	}
}

// listed returns the names to list. These are the exported names, or all names if none is exported.
func (e *found) listed() []string {
	exported := slices.DeleteFunc(slices.Clone(e.names), func(name string) bool { return !ast.IsExported(name) })
	if len(exported) > 0 {
		return exported
	}
	return e.names
}

// listable reports whether the underlying type is a string or an integer.
func listable(t *types.Named) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsString|types.IsInteger) != 0
}

// isShift reports whether an expression contains a shift, as constants of flags have.
func isShift(e ast.Expr) (shifts bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		binary, ok := n.(*ast.BinaryExpr)
		shifts = shifts || ok && binary.Op == token.SHL
		return !shifts
	})
	return shifts
}

// noImports is an importer that finds no package.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not loaded")
}
