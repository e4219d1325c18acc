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
