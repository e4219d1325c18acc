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
