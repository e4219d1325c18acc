package page

import (
	"cmp"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of the kept rounds of one call.
const (
	mostRounds  = 100
	mostEffects = 100 // per round
	mostSteps   = 100 // per round
)

// round is one execution of a call. A call without questions has one round.
type round struct {
	Asks    int          `json:"asks"`            // number of questions that ended the execution; 0 if it ended with the answer, or still runs
	State   int          `json:"state,omitempty"` // size of requestState in bytes
	Effects []effectSeen `json:"effects,omitempty"`
	Steps   []stepSeen   `json:"steps,omitempty"` // of the chain, outermost first
}

// stepSeen is a step of the chain in one round.
type stepSeen struct {
	Name string  `json:"name"`
	Ms   float64 `json:"ms"`  // with the steps further in
	Own  float64 `json:"own"` // without them

	at int
}

// effectSeen is one framework.Once of a round.
type effectSeen struct {
	Key string  `json:"key"`
	How string  `json:"how"`
	Ms  float64 `json:"ms"`
}

// round changes a round of a running call with edit, and adds an event for the browser.
func (p *Page) round(id string, n int, edit func(*round)) {
	p.calls.mu.Lock()
	one := p.calls.byID[id]
	p.calls.mu.Unlock()
	if one == nil || n >= mostRounds {
		return
	}
	p.tellCall(p.calls.change(one, func() {
		for len(one.Rounds) <= n {
			one.Rounds = append(one.Rounds, round{})
		}
		edit(&one.Rounds[n])
	}))
}

// asksAgain starts another round if the frame is a result that asks questions.
func (p *Page) asksAgain(f *frame) {
	if f.Sent || f.Call == "" || f.Kind != "result" {
		return
	}
	result, _ := jsontext.Member(f.text, "result")
	if textIn(result, "resultType") != "input_required" {
		return
	}
	asks := 0
	requests, _ := jsontext.Member(result, "inputRequests")
	for range jsontext.Members(requests) {
		asks++
	}
	state, _ := jsontext.Member(result, "requestState")
	p.round(f.Call, p.answered(f.Call), func(r *round) { r.Asks, r.State = max(asks, 1), len(state) })
}

// answered returns how many rounds of a call have ended with questions.
func (p *Page) answered(id string) int {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	n := 0
	if one := p.calls.byID[id]; one != nil {
		for _, r := range one.Rounds {
			if r.Asks > 0 {
				n++
			}
		}
	}
	return n
}

// step adds the time of a step. A step may run the rest of the chain more than once; then its times
// are added up.
func (r *round) step(e effectlog.Effect) {
	i, known := slices.BinarySearchFunc(r.Steps, e.At, func(s stepSeen, at int) int { return cmp.Compare(s.at, at) })
	if !known && len(r.Steps) >= mostSteps {
		return
	}
	if !known {
		r.Steps = slices.Insert(r.Steps, i, stepSeen{Name: e.Key, at: e.At})
	}
	r.Steps[i].Ms += float64(e.Took.Microseconds()) / 1000
	for i := range r.Steps {
		r.Steps[i].Own = r.Steps[i].Ms
		if i+1 < len(r.Steps) {
			r.Steps[i].Own = max(0, r.Steps[i].Ms-r.Steps[i+1].Ms) // inner calls may overlap
		}
	}
}

// effect adds an execution of Once, or a step of the chain, to a call of this page.
func (p *Page) effect(e effectlog.Effect) {
	if e.How == effectlog.Step {
		p.round(e.Mark, e.Round, func(r *round) { r.step(e) })
		return
	}
	p.round(e.Mark, e.Round, func(r *round) {
		if len(r.Effects) < mostEffects {
			r.Effects = append(r.Effects, effectSeen{Key: e.Key, How: e.How, Ms: milliseconds(e.Took)})
		}
	})
}
