package binding

import (
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// mendBetween corrects a member by a rule that compares it with another one. If the two are in
// the wrong order, they are swapped; else the member is moved next to the other, which is then an
// example. It is false for other rules, and if that does not help.
func (a *attempt) mendBetween(f finding, parent, name string) bool {
	other, sign, ok := f.between(name)
	if !ok {
		return false
	}
	p, changed := a.plan, false
	first := a.times[f.Path] == 0
	a.edit(parent, func(object []byte) []byte {
		mine, _ := jsontext.Member(object, name)
		theirs, given := jsontext.Member(object, other.name)
		if !given {
			theirs = other.def
		}
		if first && given && sign != 0 && p.fits(f.n, f.c, theirs) && p.fits(other.node, other.c, mine) && p.ordered(f, theirs, mine, sign) {
			changed = true
			return replaced(replaced(object, name, theirs), other.name, mine)
		}
		if next := adjacentValue(kindOf(f.n), theirs, sign); next != nil && p.fits(f.n, f.c, next) {
			changed = true
			a.examples = append(a.examples, f.Path)
			return replaced(object, name, next)
		}
		return object
	})
	if changed {
		a.times[f.Path]++
	}
	return changed
}

// ordered reports whether mine is beyond theirs in the wanted direction.
func (p guesser) ordered(f finding, mine, theirs []byte, sign int) bool {
	switch kindOf(f.n) {
	case timeKind:
		a, errA := time.Parse(time.RFC3339Nano, textOf(mine))
		b, errB := time.Parse(time.RFC3339Nano, textOf(theirs))
		return errA == nil && errB == nil && a.Compare(b) == sign
	case durationKind:
		a, errA := time.ParseDuration(textOf(mine))
		b, errB := time.ParseDuration(textOf(theirs))
		return errA == nil && errB == nil && (a > b) == (sign > 0) && a != b
	case intKind, uintKind, floatKind:
		return compareNumbers(mine, theirs) == sign
	case textKind:
		return strings.Compare(textOf(mine), textOf(theirs)) == sign
	default:
		return false
	}
}

// adjacentValue is a value next to the given one: a natural step above, below, or equal, as sign says;
// nil if none is known.
func adjacentValue(what kind, value []byte, sign int) []byte {
	if len(value) == 0 || sign == 0 {
		return value
	}
	switch what {
	case timeKind:
		if t, err := time.Parse(time.RFC3339Nano, textOf(value)); err == nil {
			return jsontext.Quote(nil, t.Add(time.Duration(sign)*time.Hour).Format(time.RFC3339Nano))
		}
	case durationKind:
		if d, err := time.ParseDuration(textOf(value)); err == nil {
			return jsontext.Quote(nil, durationText(d+time.Duration(sign)*time.Second))
		}
	case intKind, uintKind:
		return addOne(value, int64(sign))
	case floatKind:
		if x, err := strconv.ParseFloat(string(value), 64); err == nil {
			return appendFloat(nil, x+float64(sign), 64)
		}
	default:
	}
	return nil
}

// replaced gives the first member with this name another value, and leaves it at its place.
func replaced(object []byte, name string, value []byte) []byte {
	out, _ := edit(object, jsontext.Pointer("", name), func([]byte) []byte { return value })
	return out
}
