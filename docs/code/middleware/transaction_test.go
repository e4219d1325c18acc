package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// ledger is a database with transactions, for one call at a time.
type ledger struct{ kept []string }

func (l *ledger) begin(context.Context) (Tx, error) { return &draft{of: l}, nil }

// draft is a transaction of a ledger.
type draft struct {
	of    *ledger
	lines []string
	over  bool
}

func (d *draft) Commit() error {
	if slices.Contains(d.lines, "impossible") {
		return errors.New("a constraint is violated")
	}
	d.of.kept, d.over = append(d.of.kept, d.lines...), true
	return nil
}

func (d *draft) Rollback() error {
	if d.over {
		return errors.New("the transaction is over")
	}
	d.lines = nil
	return nil
}

func write(ctx context.Context, line string) {
	d := ctx.Value(txKey{}).(*draft)
	d.lines = append(d.lines, line)
}

type writeIn struct {
	Then string `json:"then"`
}

// app returns an app with a tool that writes a line, and then does what its argument names.
func (l *ledger) app() *framework.App {
	return framework.New("ledger", "1.0.0").Use(Transaction(l.begin)).Add(
		framework.Tool("write", func(ctx context.Context, in writeIn) (framework.Rich[string], error) {
			write(ctx, in.Then)
			if in.Then == "charge and ask" { // an effect outside the transaction is final when it returns
				_, err := framework.Once(ctx, "charge", func(context.Context) (struct{}, error) {
					l.kept = append(l.kept, "charged")
					return struct{}{}, nil
				})
				if err != nil {
					return framework.Rich[string]{}, err
				}
			}
			if strings.HasSuffix(in.Then, "ask") {
				if _, err := framework.Elicit[bool](ctx, "Sure?"); err != nil {
					return framework.Rich[string]{}, err
				}
			}
			switch in.Then {
			case "panic":
				panic("as if the program had done it")
			case "refuse":
				return framework.Rich[string]{}, framework.UserErrorf("no")
			case "fail":
				return framework.Rich[string]{Value: "no", IsError: true}, nil
			}
			return framework.Rich[string]{Value: "written"}, nil
		}, framework.Describe("Write a line.")),
	)
}

func TestTransaction(t *testing.T) {
	for then, want := range map[string][]string{
		"end": {"end"}, "ask": {"ask"}, "charge and ask": {"charged", "charge and ask"},
		"panic": nil, "refuse": nil, "fail": nil, "impossible": nil,
	} {
		var l *ledger
		testkit.BothEras(t, func() *framework.App { l = &ledger{}; return l.app() }, func(t *testing.T, s *testkit.Session) {
			if strings.HasSuffix(then, "ask") {
				s.OnElicit("Sure?", true)
			}
			answer := s.CallRaw("write", `{"then":"`+then+`"}`)
			if want == nil {
				answer.IsError()
			} else {
				answer.OK().Mentions("written")
			}
			if !slices.Equal(l.kept, want) {
				t.Errorf("%s: the ledger has %q, want %q", then, l.kept, want)
			}
		})
	}
}
