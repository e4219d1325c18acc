package testkit_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

type payment interface{ amount() int }

type cash struct {
	Cents int `json:"cents" validate:"min=1"`
}

func (c cash) amount() int { return c.Cents }

type split struct {
	Parts []payment `json:"parts" validate:"min=1"`
}

func (s *split) amount() int {
	sum := 0
	for _, p := range s.Parts {
		sum += p.amount()
	}
	return sum
}

type bill struct {
	Paid payment `json:"paid"`
	Tip  payment `json:"tip,omitempty"`
}

// TestOneOf: interfaces travel both ways on every revision.
func TestOneOf(t *testing.T) {
	t.Parallel()
	var pay *framework.ToolOf[bill, bill]
	app := func() *framework.App {
		pay = framework.Tool("pay", func(_ context.Context, in bill) (bill, error) {
			return bill{Paid: &split{Parts: []payment{in.Paid, cash{in.Paid.amount()}}}}, nil
		})
		return framework.New("till", "1", framework.OneOf("by", map[string]payment{"cash": cash{}, "split": &split{}})).Add(pay)
	}
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		in := &split{Parts: []payment{cash{1}, cash{2}}}
		out, err := testkit.Call(s, pay, bill{Paid: in})
		if want := (bill{Paid: &split{Parts: []payment{in, cash{3}}}}); err != nil || !reflect.DeepEqual(out, want) {
			t.Errorf("pay: %+v, %v", out, err)
		}
		var failed *testkit.Error
		_, err = testkit.Call(s, pay, bill{Paid: &split{Parts: []payment{cash{0}}}})
		if !errors.As(err, &failed) || !strings.Contains(failed.Text, "/paid/parts/0/cents: got 0 (number). Want a whole number of at least 1.") {
			t.Errorf("rule: %v", err)
		}
	})
}

// tip has a rule of the app.
type tip struct {
	Percent int     `json:"percent" validate:"round"`
	From    payment `json:"from"`
}

// builtTip is a handle that an app has been built with: its types are the app's.
func builtTip(t testing.TB) *framework.ToolOf[tip, tip] {
	t.Helper()
	tool := framework.Tool("tip", func(_ context.Context, in tip) (tip, error) { return in, nil })
	_, err := framework.New("till", "1",
		framework.OneOf("by", map[string]payment{"cash": cash{}, "split": &split{}}),
		framework.Validation("round", func(n int) bool { return n%5 == 0 }, `{"multipleOf":5}`, "a multiple of 5"),
	).Add(tool).Build()
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// What serves one tool alone knows its types as the app does that it was built in.
func TestToolAloneHasTheTypesOfItsApp(t *testing.T) {
	t.Parallel()
	tool := builtTip(t)
	if got := testkit.TryTool(t, tool, `{"percent":5,"from":{"by":"cash","cents":1}}`); got != "" {
		t.Error(got)
	}
	if err := tool.Check([]byte(`{"percent":4,"from":{"by":"cash","cents":1}}`)); err == nil || !strings.Contains(err.Error(), "a multiple of 5") {
		t.Errorf("the rule of the app: %v", err)
	}
}

func FuzzOneOf(f *testing.F) { testkit.FuzzTool(f, builtTip(f)) }

func FuzzOneOfAgreement(f *testing.F) { testkit.FuzzAgreement(f, builtTip(f)) }

func BenchmarkOneOf(b *testing.B) { testkit.Bench(b, builtTip(b), tip{5, cash{1}}) }
