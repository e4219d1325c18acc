package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// ReplayError reports a handler that does something else when it runs again on the same answers, as
// it will in the next round. Its effects may then happen twice, and answers may go to other
// questions.
type ReplayError struct {
	Diff string // lines of the first run begin with "-", of the second with "+"
}

// Error returns a text with the difference.
func (e *ReplayError) Error() string {
	return "the handler asks or does something else when it runs again on the same answers:\n" + e.Diff
}

// replayPatience bounds the second run, because a check must not delay the answer for long.
const replayPatience = 5 * time.Second

// checkReplay runs the handler again, without new effects and questions to the client, and compares
// the two runs. It reports a difference to Config.Failed.
func (x *exchange) checkReplay(ctx context.Context, h Handler, first *round) {
	probe := &Call{
		Params: x.call.Params, Dialect: x.call.Dialect, Meta: x.call.Meta, Round: x.call.Round,
		x: x, run: x.call.run, id: x.call.ID(), silent: true,
	}
	probe.effects().done, probe.effects().only = x.call.effects().all(), true
	limit, stop := context.WithTimeout(context.WithoutCancel(ctx), replayPatience)
	defer stop()
	ctx, cancel := context.WithCancelCause(context.WithValue(limit, callKey{}, probe))
	defer cancel(nil)
	second := &round{x: x, call: probe, cancel: cancel, journal: first.journal.Clone()}
	probe.round.Store(second)
	ended := make(chan error, 1)
	go func() { // the wait for it is bounded, because the handler may ignore its context
		_, err := guarded(ctx, h, probe)
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-limit.Done():
		x.conn.e.failed(ctx, x.call, &ReplayError{Diff: "the second run did not end in time\n"})
		return
	}
	probe.returned.Store(true)
	second.end()
	asked, again := first.actions(), second.actions()
	// The second run does not enter an effect. It gets the result, or stops before the effect.
	within := func(d recordedAction) bool { return x.call.effects().inside(d.key) }
	asked, again = slices.DeleteFunc(asked, within), slices.DeleteFunc(again, within)
	if len(again) > 0 { // questions with names may be asked in any order
		asked, again = alike(asked, again), alike(again, asked)
	}
	was := append(lines(asked), lines(slices.DeleteFunc(x.call.effects().actions(), within))...)
	is := append(lines(again), lines(slices.DeleteFunc(probe.effects().actions(), within))...)
	if err != nil && len(second.open) == 0 && !errors.Is(err, ErrPending) {
		is = append(is, "fails: "+err.Error())
	}
	if diff := difference(was, is); diff != "" {
		x.conn.e.failed(ctx, x.call, &ReplayError{Diff: diff})
	}
}

// recordedAction is a question that was registered, or an effect that was requested, with its line in
// the report.
type recordedAction struct{ key, line string }

func lines(deeds []recordedAction) []string {
	all := make([]string, len(deeds))
	for i, d := range deeds {
		all[i] = d.line
	}
	return all
}

// alike returns the actions that can be compared with the other run. These are all actions that are
// identified by their position, and those with a key of their own that the other run also has.
func alike(deeds, other []recordedAction) []recordedAction {
	return slices.DeleteFunc(slices.Clone(deeds), func(d recordedAction) bool {
		return named(d.key) && !slices.ContainsFunc(other, func(o recordedAction) bool { return o.key == d.key })
	})
}

// named reports whether a key is more than a position in the order ("q1", in a part "part/q1",
// another attempt "q1#2").
func named(key string) bool {
	place, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "#")
	digits, ok := strings.CutPrefix(place, "q")
	return !ok || digits == "" || strings.Trim(digits, "0123456789") != ""
}

// actions returns the questions that were registered.
func (r *round) actions() []recordedAction {
	r.mu.Lock()
	defer r.mu.Unlock()
	deeds := make([]recordedAction, len(r.filed))
	for i, q := range r.filed {
		text, err := r.x.dialect.AppendParams(nil, q.Params, nil)
		if err != nil {
			text = []byte(err.Error())
		}
		deeds[i] = recordedAction{q.Key, "asks " + q.Key + ": " + q.Params.Method() + " " + string(text)}
	}
	return deeds
}

// inside reports whether a key belongs to an action within an effect.
func (f *effects) inside(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted != nil && slices.ContainsFunc(f.wanted.keys, func(effect string) bool { return strings.HasPrefix(key, effect+"/") })
}

// actions returns the effects that were requested.
func (f *effects) actions() []recordedAction {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted == nil {
		return nil
	}
	deeds := make([]recordedAction, len(f.wanted.keys))
	for i, key := range f.wanted.keys {
		deeds[i] = recordedAction{key, "does " + key}
	}
	return deeds
}

// difference lists the lines that only one of the two runs has.
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
