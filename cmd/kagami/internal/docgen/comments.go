package docgen

import (
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// functions collects the comments of functions that may be components. A function may be a
// component if its first parameter is a context, or if the package passes it to another function. A
// method may also be one that framework.Methods finds.
func (p *Package) functions(files []*ast.File) {
	passed, methods := arguments(files)
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				if name = receiver(f.Recv.List[0].Type); name == "" {
					continue
				}
				name += "." + f.Name.Name
			}
			if !takesContext(f) && !passed[f.Name.Name] && (!methods || f.Recv == nil || !f.Name.IsExported()) {
				continue
			}
			p.note(name, f.Name.Name, f.Doc)
		}
	}
}

// arguments returns the names that are arguments of calls, and reports whether a function Methods is called.
func arguments(files []*ast.File) (names map[string]bool, methods bool) {
	names = map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			methods = methods || lastName(call.Fun) == "Methods"
			for _, arg := range call.Args {
				if name := lastName(arg); name != "" {
					names[name] = true
				}
			}
			return true
		})
	}
	return names, methods
}

// lastName returns the name of an identifier or a selector, and "" for all other expressions.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return lastName(e.X)
	case *ast.IndexListExpr:
		return lastName(e.X)
	}
	return ""
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	return lastName(e)
}

func takesContext(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	selector, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Context" && lastName(selector.X) == "context"
}

// structs collects the comments of the members of structs.
func (p *Package) structs(files []*ast.File) {
	for name, spec := range declarations(files) {
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range s.Fields.List {
			if !member(field) {
				continue
			}
			for _, ident := range field.Names {
				said := ident.Name
				if len(field.Names) > 1 { // the comment describes all of them
					said = ""
				}
				if ident.IsExported() {
					p.note(name+"."+ident.Name, said, field.Doc, field.Comment)
				}
			}
		}
	}
}

// member reports whether a field may become a member whose description comes from its comment.
func member(f *ast.Field) bool {
	if f.Tag == nil {
		return true
	}
	text, err := strconv.Unquote(f.Tag.Value)
	tag := reflect.StructTag(text)
	return err == nil && tag.Get("json") != "-" && tag.Get("doc") == ""
}

// declarations returns the types that a package declares at its top level.
func declarations(files []*ast.File) map[string]*ast.TypeSpec {
	all := map[string]*ast.TypeSpec{}
	for _, file := range files {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					break
				}
				if t.Doc == nil && len(general.Specs) == 1 {
					t.Doc = general.Doc
				}
				all[t.Name.Name] = t
			}
		}
	}
	return all
}

// note registers the first comment that has words.
func (p *Package) note(key, name string, comments ...*ast.CommentGroup) {
	if text := firstWords(name, comments...); text != "" {
		p.Docs[key] = text
	}
}

// firstWords returns the words of the first comment that has any, or "".
func firstWords(name string, comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text := words(name, c); text != "" {
			return text
		}
	}
	return ""
}

// words returns a doc comment as a description, with one line for each paragraph. It removes the
// name at the start.
func words(name string, c *ast.CommentGroup) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(c.Text()), "\n\n") {
		if line := strings.Join(strings.Fields(paragraph), " "); line != "" {
			paragraphs = append(paragraphs, line)
		}
	}
	text := strings.Join(paragraphs, "\n")
	rest, named := strings.CutPrefix(text, name+" ")
	if !named || name == "" {
		return text
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:]
}

// open is the directive in the doc comment of a type that also has values other than its constants.
const open = "//kagami:open"

func isOpen(c *ast.CommentGroup) bool {
	return c != nil && slices.ContainsFunc(c.List, func(line *ast.Comment) bool { return strings.TrimSpace(line.Text) == open })
}
