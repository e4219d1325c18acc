package engine

import (
	"context"
	"slices"
	"strings"
	"time"
)

// ReplayError reports a handler that does not do the same when it runs again on the
// same answers, as it will in the next round: its effects may happen twice, and
// answers may go to other questions.
type ReplayError struct {
	Diff string // lines of the first run marked "-", of the second "+"
}

// Error shows the difference.
func (e *ReplayError) Error() string {
	return "the handler asks or does something else when it runs again on the same answers:\n" + e.Diff
}

// replayPatience bounds the second run: a check must not hold up the answer for long.
const replayPatience = 5 * time.Second

// checkReplay runs the handler again, with nothing new allowed, and compares.
func (x *exchange) checkReplay(ctx context.Context, h Handler, first *round) {
	probe := &Call{
		Params: x.call.Params, Dialect: x.call.Dialect, Meta: x.call.Meta, Round: x.call.Round,
		x: x, id: x.call.id, silent: true,
	}
	probe.effects.done, probe.effects.only = x.call.effects.all(), true
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), replayPatience)
	defer stop()
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, probe))
	defer cancel(nil)
	second := &round{x: x, call: probe, cancel: cancel, journal: first.journal.Clone()}
	probe.round.Store(second)
	_, err := guarded(ctx, h, probe)
	second.end()
	was := append(first.deeds(), x.call.effects.deeds()...)
	is := append(second.deeds(), probe.effects.deeds()...)
	if err != nil && len(second.open) == 0 {
		is = append(is, "fails: "+err.Error())
	}
	if diff := difference(was, is); diff != "" {
		x.conn.e.failed(ctx, x.call, &ReplayError{Diff: diff})
	}
}

// deeds are the questions that were filed, a line each.
func (r *round) deeds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, len(r.filed))
	for i, q := range r.filed {
		text, err := r.x.dialect.AppendParams(nil, q.Params, nil)
		if err != nil {
			text = []byte(err.Error())
		}
		lines[i] = "asks " + q.Key + ": " + q.Params.Method() + " " + string(text)
	}
	return lines
}

func (f *effects) deeds() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := make([]string, len(f.keys))
	for i, key := range f.keys {
		lines[i] = "does " + key
	}
	return lines
}

// difference lists what only one of the two has.
func difference(was, is []string) string {
	var diff strings.Builder
	for _, line := range was {
		if !slices.Contains(is, line) {
			diff.WriteString("- " + line + "\n")
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			diff.WriteString("+ " + line + "\n")
		}
	}
	return diff.String()
}
