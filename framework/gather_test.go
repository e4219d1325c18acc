package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestGatherAsksInOrder: a person who is asked several things at once sees them in the order
// in which the handler has them, also where the client may make tasks of them.
func TestGatherAsksInOrder(t *testing.T) {
	t.Parallel()
	const tasks = `{"elicitation":{"form":{}},"tasks":{"requests":{"elicitation":{"create":{}}}}}`
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		var all []framework.Question[string]
		for i := range 5 {
			all = append(all, framework.Ask[string](fmt.Sprint(i)))
		}
		got, err := framework.Gather(ctx, all...)
		return fmt.Sprint(got), err
	})))
	for _, tt := range []struct {
		rev  protocol.Revision
		caps string
	}{{protocol.Rev20250618, canElicit}, {protocol.Rev20251125, canElicit}, {protocol.Rev20251125, tasks}} {
		p := dial(t, s, tt.rev, withCaps(tt.caps), answering(func(_ string, params json.RawMessage) string {
			var q question
			unmarshal(t, params, &q)
			return `"result":` + said(fmt.Sprintf("%q", q.Message))
		}))
		for range 20 {
			if got := p.tool("t", `{}`).text(); got != "[0 1 2 3 4]" {
				t.Errorf("%s: the answers are %s", tt.rev, got)
			}
			if order := p.messages(); order != "01234" {
				t.Fatalf("%s: asked in the order %s", tt.rev, order)
			}
		}
	}
}

// messages returns the messages of the questions since its last call, in order of arrival.
func (p *peer) messages() (all string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.asked {
		var q question
		unmarshal(p.t, f.Params, &q)
		all += q.Message
	}
	p.asked = nil
	return all
}

// TestQuestionsCopyTheirOptions: two calls of append may share an array, and Gather asks after both.
func TestQuestionsCopyTheirOptions(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		common := append(make([]framework.AskOption, 0, 2), framework.Attempts(1))
		got, err := framework.Gather(ctx,
			framework.Ask[string]("a", append(common, framework.Key("first"))...),
			framework.Ask[string]("b", append(common, framework.Key("second"))...),
		)
		return fmt.Sprint(got), err
	})))
	p := dial(t, s, protocol.Rev20251125, withCaps(canElicit), answering(func(_ string, params json.RawMessage) string {
		var q question
		unmarshal(t, params, &q)
		return `"result":` + said(fmt.Sprintf("%q", q.Message))
	}))
	if got := p.tool("t", `{}`).text(); got != "[a b]" {
		t.Errorf("the answers are %s", got)
	}
}
