package auth_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/middleware/auth"
)

// TestContractNamesAllMethods: an authenticator that wraps one of this package loses each method that the
// comment of transport.Authenticator does not name.
func TestContractNamesAllMethods(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "transport", "auth.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var doc string
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && strings.HasPrefix(g.Doc.Text(), "Authenticator ") {
			doc = g.Doc.Text()
		}
	}
	for method := range reflect.TypeOf(auth.Bearer(auth.Static{})).Methods() {
		if name := method.Name; name != "Authenticate" && !strings.Contains(doc, name+"(") {
			t.Errorf("the comment of transport.Authenticator does not name %s", name)
		}
	}
}
