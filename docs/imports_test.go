package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importsApart are the pages with Go blocks that name their imports in another way: in the text, or beside the code of
// another SDK.
var importsApart = []string{"start.md", "porting.md", "../README.md"}

var selector = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]\w*`)

// TestImports: a page with Go blocks has a line under its beginning with the packages that the blocks use, besides
// the standard library.
func TestImports(t *testing.T) {
	t.Parallel()
	for page, dirs := range codeOfPages {
		if slices.Contains(importsApart, page) {
			continue
		}
		if want := importLine(t, page, dirs); !strings.Contains(read(t, page), "\n\n"+want+"\n\n") {
			t.Errorf("%s: below its first paragraph, want the line\n%s", page, want)
		}
	}
}

// importLine returns the line with the packages that the blocks of a page use.
func importLine(t *testing.T, page, dirs string) string {
	t.Helper()
	known := importsOf(t, dirs)
	var used []string
	for _, block := range goBlocks(t, page) {
		for _, found := range selector.FindAllStringSubmatch(block, -1) {
			if path := known[found[1]]; strings.Contains(path, ".") && !slices.Contains(used, path) {
				used = append(used, path)
			}
		}
	}
	slices.Sort(used)
	var own, others []string
	for _, path := range used {
		if short, ok := strings.CutPrefix(path, modulePath); ok {
			own = append(own, "`"+short+"`")
		} else {
			others = append(others, "`"+path+"`")
		}
	}
	switch {
	case len(own) == 0:
		return "The code imports " + strings.Join(others, ", ") + "."
	case len(others) == 0:
		return fmt.Sprintf("The code imports %s from `%s`.", strings.Join(own, ", "), strings.TrimSuffix(modulePath, "/"))
	}
	return fmt.Sprintf("The code imports %s from `%s`, and %s.", strings.Join(own, ", "), strings.TrimSuffix(modulePath, "/"), strings.Join(others, ", "))
}

// importsOf returns the packages that the files of dirs import, by name.
func importsOf(t *testing.T, dirs string) map[string]string {
	t.Helper()
	known := map[string]string{}
	for dir := range strings.FieldsSeq(dirs) {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				name := filepath.Base(imported)
				if regexp.MustCompile(`^v\d+$`).MatchString(name) {
					name = filepath.Base(filepath.Dir(imported))
				}
				if spec.Name != nil {
					name = spec.Name.Name
				}
				known[name] = imported
			}
		}
	}
	return known
}
