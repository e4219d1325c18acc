package docgen_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/docgen"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		docs   []string // key: text, sorted
		enums  string
	}{
		"functions": {
			source: `
// Tool does it. Well.
func Tool(ctx context.Context, in In) error { return nil }

// passed is passed.
func passed() {}

// called is only called.
func called() {}

// Get gets.
func (s *Svc[T]) Get(ctx context.Context) {}

// Other is not found without Methods.
func (s *Svc[T]) Other() {}

//go:noinline
func Directive(ctx context.Context) {}

func init() { framework.Func("x", passed); called() }
`,
			docs: []string{"Svc.Get: Gets.", "Tool: Does it. Well.", "passed: Passed."},
		},
		"methods": {
			source: `
// All are its methods.
func (s Svc) All() {}

// hidden is not exported.
func (s Svc) hidden() {}

var c = framework.Methods(Svc{})
`,
			docs: []string{"Svc.All: Its methods."},
		},
		"members": {
			source: `
type In struct {
	// A and B are both.
	A, B int
	C    int // C is trailing
	d    int // not exported
	E    int ` + "`json:\"-\"`" + ` // left out
	F    int ` + "`doc:\"its own\"`" + ` // not used
	// G is above.
	G int // and trailing
	//nolint:all
	H int
	Embedded // no member of its own
}

type Func func() // none
`,
			docs: []string{"In.A: A and B are both.", "In.B: A and B are both.", "In.C: Trailing", "In.G: Above."},
		},
		"constants": {
			source: `
type Color string

const (
	Red Color = "red" // Red is hot.
	// Blue is
	// cold.
	Blue  Color = "blue"
	Green = Color("green")
	_     Color = "none"
	other       = "other"
)

type Level int

// Low is the lowest.
const Low Level = 0

const (
	Mid Level = iota + 1
	High // the highest
	numLevels
)

type small uint8

const (
	a small = iota
	b
)

type Flag int

const (
	One Flag = 1 << iota
	Two // the second
)

type Single string

const Only Single = "only"

type Own string

func (Own) Values() []Own { return nil }

const (
	X Own = "x"
	Y Own = "y"
)

type Foreign int

const (
	F1 Foreign = pkg.One // unknown here
	F2 Foreign = pkg.Two
)

const d time.Duration = 1
const e, f = 1, "two"
`,
			docs:  []string{"Color=blue: Cold.", "Color=red: Hot.", "Flag=2: the second", "Level=0: The lowest.", "Level=2: the highest"},
			enums: "[{Color [Red Blue Green]} {Foreign [F1 F2]} {Level [Low Mid High]} {small [a b]}]",
		},
		"open": {
			source: `
type (
	// Port is any.
	//
	//kagami:open
	Port int
	Kind int
)

const (
	Web, Proxy Port = 80, 8080
	K1, K2     Kind = 1, 2
)
`,
			enums: "[{Kind [K1 K2]}]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"+c.source), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := docgen.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			var docs []string
			for _, key := range slices.Sorted(maps.Keys(p.Docs)) {
				docs = append(docs, key+": "+p.Docs[key])
			}
			if !slices.Equal(docs, c.docs) {
				t.Errorf("the docs are %q, want %q", docs, c.docs)
			}
			if enums := fmt.Sprint(p.Enums); enums != c.enums && (c.enums != "" || enums != "[]") {
				t.Errorf("the enums are %s, want %s", enums, c.enums)
			}
			if _, err := p.Source(); err != nil && !p.Empty() {
				t.Error(err)
			}
		})
	}
}
