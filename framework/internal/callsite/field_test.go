package callsite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

const source = `package shop

type Order struct {
	ID string ` + "`json:\"{id\"`" + `
	// Total is named here, and not declared.
	Lines []struct {
		Total int
	}
	Total, Paid int
}

type (
	Pair[T any] struct { // two
		First T
	}
	Twice struct {
		A int
	}
)

func f() {
	type Twice struct {
		A int
	}
}
`

func TestField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"order.go": source, "other.go": "package shop\n\ntype Other struct {\n\tX int\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for field, want := range map[string]string{
		"Order.ID": "order.go:4", "Order.Total": "order.go:9", "Order.Paid": "order.go:9", "Order.Lines": "order.go:6", "Pair.First": "order.go:14",
		"Other.X": "other.go:4", "Order.None": "", "None.X": "", "Twice.A": "",
	} {
		structName, name, _ := strings.Cut(field, ".")
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := callsite.Field(filepath.Join(dir, "main.go")+":7", structName, name); got != want {
			t.Errorf("%s is at %q, want %q", field, got, want)
		}
	}
	if got := callsite.Field(callsite.Beside("cmd/shop/main.go:7", "example.com/m/cmd/shop", "example.com/m/order"), "Order", "ID"); got != "" {
		t.Errorf("found %q where there is nothing", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "cmd", "shop", "main.go") + ":7"
	if got, want := callsite.Field(callsite.Beside(main, "example.com/m/cmd/shop", "example.com/m"), "Order", "ID"), filepath.Join(dir, "order.go:4"); got != want {
		t.Errorf("a type of another package is at %q, want %q", got, want)
	}
	if got := callsite.Field("", "Order", "ID") + callsite.Field("/no/such/file.go:3", "Order", "ID") + callsite.Field("nowhere", "Order", "ID"); got != "" {
		t.Errorf("found %q where there is nothing", got)
	}
}

func TestConstants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `package paint

const One Color = "one"

const (
	// A Shape is none.
	Low, high = 1, 2
	Flat Finish = iota
)

var Plain Gloss = "plain"

// A Port is any.
//
//kagami:open
type Port int

const Web Port = 80
`
	if err := os.WriteFile(filepath.Join(dir, "paint.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"Color": true, "Finish": true, "Gloss": false, "Shape": false, "Fin": false, "Port": false} {
		if got := callsite.Constants(filepath.Join(dir, "main.go")+":7", name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if callsite.Constants(filepath.Join(dir, "gone", "main.go")+":7", "Color") || callsite.Constants("", "Color") {
		t.Error("found constants where there is nothing")
	}
}
