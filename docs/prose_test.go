package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plain are the directories whose comments have been rewritten. The list grows until it has all
// packages.
var plain = []string{
	"transport", "protocol/engine", "protocol/dialect", "protocol/jsonrpc", "protocol/jsontext",
	"protocol/rounds", "framework/store", "framework/serve/page", "framework/serve/surface",
	"framework/serve/clients", "framework/serve/inspect", "framework/serve/record", "testkit/storetest", "testkit",
	"protocol/task", "protocol/session", "protocol/eventlog", "protocol/claim", "protocol/change",
	"protocol/lazyctx", "protocol/client", "middleware", "cmd/kagami", "docs/code", "examples",
}

// later are directories below plain that have not been rewritten yet.
var later = []string{"testkit/bench", "testkit/interop"}

// banned are constructions that send a reader back to look for a noun, or that another word says more
// plainly.
var banned = regexp.MustCompile(`(?i)\b(that of|those of|whoever|nobody|somebody|anew|says whether|says that|is told|are told|is no|are no|is none of|are none of|(in|for|by|of|from|to|on|with) which)\b`)

// accepted are phrases that contain a banned construction and are right.
var accepted = []string{
	"there is no", "there are no", "There is no", "There are no", "is no longer", "are no longer",
}

// TestProse looks for the banned constructions in the comments of the packages in plain.
func TestProse(t *testing.T) {
	t.Parallel()
	for _, dir := range plain {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && slices.Contains(later, filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))) {
				return filepath.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			checkProse(t, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
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
