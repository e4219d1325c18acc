package binding_test

import (
	"errors"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type cSearch struct {
	Query string   `json:"query" doc:"words to look for"`
	Limit int      `json:"limit,omitempty" default:"10" validate:"min=1,max=100"`
	Page  int      `json:"page,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

type cItem struct {
	SKU string `json:"sku" validate:"min=1"`
	Qty uint8  `json:"qty" validate:"min=1"`
}

type cOrder struct {
	ID     string            `json:"id" validate:"alphanum,uppercase"`
	Items  []cItem           `json:"items" validate:"min=1,max=3"`
	Status string            `json:"status" validate:"oneof=open paid sent"`
	Due    time.Time         `json:"due,omitzero"`
	Wait   time.Duration     `json:"wait,omitempty" default:"5m" validate:"min=1s"`
	Mail   *string           `json:"mail" validate:"email"`
	Addr   netip.Addr        `json:"addr,omitzero"`
	Blob   []byte            `json:"blob,omitempty"`
	Level  tLevel            `json:"level,omitempty"`
	Size   tSize             `json:"size,omitempty"`
	Labels map[string]string `json:"labels,omitempty" validate:"dive,keys,alphanum,endkeys,min=1"`
	From   int               `json:"from,omitempty"`
	To     int               `json:"to,omitempty" validate:"gtefield=From"`
	PIN    string            `json:"pin,omitempty" validate:"len=4" secret:"true"`
	Pair   [2]int            `json:"pair,omitzero"`
	Extra  any               `json:"extra,omitempty"`
}

var callTypes = map[string]reflect.Type{
	"search": reflect.TypeFor[cSearch](), "order": reflect.TypeFor[cOrder](), "none": reflect.TypeFor[struct{}](),
	"map": reflect.TypeFor[map[string]int](), "self": reflect.TypeFor[vUser](),
}

func TestWrongCalls(t *testing.T) {
	t.Parallel()
	calls, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*binding.Plan{}
	for name, typ := range callTypes {
		plans[name] = mustCompile(t, typ, binding.Input, binding.Options{})
	}
	var got strings.Builder
	wrong, mended := 0, 0
	for line := range strings.Lines(string(calls)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, raw, _ := strings.Cut(line, " ")
		p := plans[name]
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		invalid, ok := errors.AsType[*binding.Invalid](err)
		if !ok {
			t.Errorf("%s was accepted (%v)", line, err)
			continue
		}
		wrong++
		if invalid.Try != "" {
			mended++
			if report, err := p.Decode(t.Context(), []byte(invalid.Try), reflect.New(p.Type()).Elem()); err != nil || len(report.Repaired) > 0 {
				t.Errorf("%s: Try %s does not pass: %v", line, invalid.Try, err)
			}
		}
		got.WriteString("> " + line + "\n" + invalid.Text(name) + "\n\n")
	}
	if wrong < 40 || mended*100 < wrong*90 {
		t.Errorf("%d wrong calls, %d mended", wrong, mended)
	}
	golden(t, "testdata/calls.golden", got.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(raw), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("%s:%d\n got %s\nwant %s", file, i+1, g, w)
		}
	}
}
