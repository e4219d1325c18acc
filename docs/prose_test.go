package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
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

// TestProse looks for the banned constructions in the comments and the texts of all code, except tests.
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
		if text, found := bannedIn(group.Text()); found != "" {
			t.Errorf("%s: %q in: %.120s", files.Position(group.Pos()), found, text)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil || len(strings.Fields(value)) < shortText {
			return true // a name or a value, rather than a text for people
		}
		if text, found := bannedIn(value); found != "" {
			t.Errorf("%s: %q in: %.120s", files.Position(literal.Pos()), found, text)
		}
		return true
	})
}

// shortText is the number of words of the shortest string that is checked.
const shortText = 4

// bannedIn returns the first banned construction in a text, and the text in one line. It returns ""
// if the text has none.
func bannedIn(source string) (text, found string) {
	text = strings.Join(strings.Fields(source), " ")
	checked := text
	for _, right := range accepted {
		checked = strings.ReplaceAll(checked, right, "")
	}
	return text, banned.FindString(checked)
}
