package binding

import (
	"context"
	"reflect"
)

// Kept is how many findings a refused call is corrected from.
func Kept(p *Plan, raw []byte) int {
	_, found, _ := p.Plan.Decode(context.Background(), raw, reflect.New(p.Type()).Elem())
	return len(found)
}
