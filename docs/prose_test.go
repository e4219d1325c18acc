package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned are constructions that send a reader back to look for a noun, or that another word says more
// plainly.
var banned = regexp.MustCompile(`(?i)\b(that of|those of|whoever|nobody|somebody|anew|says whether|says that|is told|are told|is no|are no|is none of|are none of|(in|for|by|of|from|to|on|with) which)\b`)

// accepted are phrases that contain a banned construction and are right.
var accepted = []string{
	"there is no", "there are no", "There is no", "There are no", "is no longer", "are no longer",
}

// TestProse looks for the banned constructions in the comments of all code, except tests.
func TestProse(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != ".." && (entry.Name() == "node_modules" || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			checkProse(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkProse(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		if text, found := bannedIn(group); found != "" {
			t.Errorf("%s: %q in: %.120s", files.Position(group.Pos()), found, text)
		}
	}
}

// bannedIn returns the text of a comment in one line, and the first banned construction; "" if it has
// none.
func bannedIn(group *ast.CommentGroup) (text, found string) {
	text = strings.Join(strings.Fields(group.Text()), " ")
	checked := text
	for _, right := range accepted {
		checked = strings.ReplaceAll(checked, right, "")
	}
	return text, banned.FindString(checked)
}
