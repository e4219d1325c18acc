package repair

import (
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// mendBetween corrects a member by a rule that compares it with another member. If the two are in the wrong
// order, it swaps them. Otherwise it moves the member next to the other one, and the member is then an
// example. It returns false for other rules, and if that does not help.
func (a *attempt) mendBetween(f plan.Finding, parent, name string) bool {
	other, sign, ok := f.Between(name)
	if !ok {
		return false
	}
	p, changed := a.plan, false
	first := a.times[f.Path] == 0
	a.edit(parent, func(object []byte) []byte {
		mine, _ := jsontext.Member(object, name)
		theirs, given := jsontext.Member(object, other.Name)
		if !given {
			theirs = other.DefaultJSON
		}
		if first && given && sign != 0 && p.Fits(f.Node, f.Rules, theirs) && p.Fits(other.Node, other.Rules, mine) && p.ordered(f, theirs, mine, sign) {
			changed = true
			return jsonedit.Replaced(jsonedit.Replaced(object, name, theirs), other.Name, mine)
		}
		if next := adjacentValue(plan.KindOf(f.Node), theirs, sign); next != nil && p.Fits(f.Node, f.Rules, next) {
			changed = true
			a.examples = append(a.examples, f.Path)
			return jsonedit.Replaced(object, name, next)
		}
		return object
	})
	if changed {
		a.times[f.Path]++
	}
	return changed
}

// ordered reports whether mine is beyond theirs in the wanted direction.
func (p guesser) ordered(f plan.Finding, mine, theirs []byte, sign int) bool {
	switch plan.KindOf(f.Node) {
	case rules.TimeKind:
		a, errA := time.Parse(time.RFC3339Nano, jsonedit.TextOf(mine))
		b, errB := time.Parse(time.RFC3339Nano, jsonedit.TextOf(theirs))
		return errA == nil && errB == nil && a.Compare(b) == sign
	case rules.DurationKind:
		a, errA := time.ParseDuration(jsonedit.TextOf(mine))
		b, errB := time.ParseDuration(jsonedit.TextOf(theirs))
		return errA == nil && errB == nil && (a > b) == (sign > 0) && a != b
	case rules.IntKind, rules.UintKind, rules.FloatKind:
		return schema.CompareNumbers(mine, theirs) == sign
	case rules.TextKind:
		return strings.Compare(jsonedit.TextOf(mine), jsonedit.TextOf(theirs)) == sign
	default:
		return false
	}
}

// adjacentValue returns a value next to the given one: a natural step above it if sign is 1, below it if sign
// is -1, and the value itself if sign is 0. For other kinds it returns nil.
func adjacentValue(what rules.Kind, value []byte, sign int) []byte {
	if len(value) == 0 || sign == 0 {
		return value
	}
	switch what {
	case rules.TimeKind:
		if t, err := time.Parse(time.RFC3339Nano, jsonedit.TextOf(value)); err == nil {
			return jsontext.Quote(nil, t.Add(time.Duration(sign)*time.Hour).Format(time.RFC3339Nano))
		}
	case rules.DurationKind:
		if d, err := time.ParseDuration(jsonedit.TextOf(value)); err == nil {
			return jsontext.Quote(nil, gotype.DurationText(d+time.Duration(sign)*time.Second))
		}
	case rules.IntKind, rules.UintKind:
		return jsonedit.AddOne(value, int64(sign))
	case rules.FloatKind:
		if x, err := strconv.ParseFloat(string(value), 64); err == nil {
			return jsontext.AppendFloat(nil, x+float64(sign))
		}
	default:
	}
	return nil
}
