package plan

import (
	"context"
	"reflect"
)

// Quick reports whether the fast checks of the plan may speak for validator.
func Quick(p *Plan) bool { return p.quick }

// Slow returns the plan without its fast checks: validator judges whole values.
func Slow(p *Plan) *Plan {
	slow := *p
	slow.quick = false
	return &slow
}

// Verdicts are what the fast checks and validator say, each for itself, of a text
// that decodes.
func Verdicts(p *Plan, raw []byte) (decodes, accepted, valid bool) {
	read := func(p *Plan) (faults, all int) {
		d := p.decoder(false, raw)
		defer d.release()
		v := reflect.New(p.t).Elem()
		p.root.decode(d, raw, v, nil)
		faults = len(d.found)
		p.judge(context.Background(), d, raw, v)
		return faults, len(d.found)
	}
	faults, all := read(p)
	_, slow := read(Slow(p))
	return faults == 0, all == 0, slow == 0
}
