package binding

import (
	"context"
	"reflect"
)

// Kept returns the number of findings that a refused call is corrected from.
func Kept(p *Plan, raw []byte) int {
	_, found, _ := p.Plan.Decode(context.Background(), raw, reflect.New(p.Type()).Elem())
	return len(found)
}
