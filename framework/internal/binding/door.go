package binding

import (
	"context"
	"errors"
	"reflect"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Plan is one compiled Go type, which corrects the calls that it refuses. It is
// immutable and safe for concurrent use.
type Plan struct{ *core }

// Compile compiles t. If there is a fault that is not a warning, the plan is nil. Compile never
// panics, whatever the type, unless a method of the type does so outside
// Values, JSONSchema and JSONSchemaExtend.
func Compile(t reflect.Type, mode Mode, opts Options) (*Plan, []Fault) {
	p, faults := compileCore(t, mode, opts)
	if p == nil {
		return nil, faults
	}
	return &Plan{p}, faults
}

// Decode reads raw into into, a settable value of the plan's type, which it
// overwrites. raw must have passed jsontext.Check; empty means {}. Decode does not
// retain it. The error is an *Invalid with all faults at once and a corrected call, or the
// cancellation of ctx as the type's own Validate returned it.
func (p *Plan) Decode(ctx context.Context, raw []byte, into reflect.Value) (Report, error) {
	report, found, err := p.core.Decode(ctx, raw, into)
	if err == nil {
		return report, nil
	}
	if len(raw) == 0 {
		raw = emptyObject
	}
	if invalid, ok := errors.AsType[*Invalid](err); ok {
		invalid.Try, invalid.Examples = suggest(ctx, p.core, raw, found)
	}
	return report, err
}

// DecodeStrings reads texts by member name, as prompt arguments and URI
// variables arrive. An empty text is an absent member, except where the type
// is a text. The plan must have been compiled for Strings.
func (p *Plan) DecodeStrings(ctx context.Context, values map[string]string, into reflect.Value) error {
	object, err := p.objectOf(values)
	if err != nil {
		return err
	}
	_, err = p.Decode(ctx, object, into)
	if invalid, ok := errors.AsType[*Invalid](err); ok && invalid.Try != "" {
		invalid.Try = asTexts(invalid.Try)
	}
	return err
}

// asTexts writes a corrected call as it must be sent: every value as a text.
func asTexts(object string) string {
	out := []byte{'{'}
	for key, value := range jsontext.Members([]byte(object)) {
		out = appendMember(out, key.String(), jsontext.Quote(nil, textOf(value)))
	}
	return string(append(out, '}'))
}

// MaskOf returns nil if no member of the plan's type is secret.
func MaskOf(p *Plan) *Mask {
	if p == nil {
		return nil
	}
	return maskOf(p.core)
}
