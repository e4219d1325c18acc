package plan

import (
	"context"
	"reflect"
)

// Quick reports whether the fast checks of the plan may speak for validator.
func Quick(p *Plan) bool { return p.quick }

// Verdicts are what the fast checks and validator say, each for itself, of a text
// that decodes.
func Verdicts(p *Plan, raw []byte) (decodes, accepted, valid bool) {
	d := p.decoder(false, raw)
	defer d.release()
	v := reflect.New(p.t).Elem()
	p.root.decode(d, raw, v, nil)
	if decodes = d.total == 0; !decodes {
		return false, false, false
	}
	accepted = !d.doubt
	d.doubt = true
	p.judge(context.Background(), d, raw, v)
	return true, accepted, d.total == 0
}
