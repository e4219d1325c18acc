package binding

import (
	"context"
	"errors"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/framework/internal/binding/repair"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/rules"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Plan is one compiled Go type. It also corrects the calls that it refuses. It is immutable and safe for
// concurrent use.
type Plan struct{ *plan.Plan }

// Compile compiles t. If there is a fault that is not a warning, the plan is nil. Compile never
// panics, whatever the type, unless a method of the type does so outside
// Values, JSONSchema and JSONSchemaExtend.
func Compile(t reflect.Type, mode Mode, opts Options) (*Plan, []Fault) {
	p, faults := plan.Compile(t, mode, opts)
	if p == nil {
		return nil, faults
	}
	return &Plan{p}, faults
}

// Decode reads raw into into, a settable value of the plan's type, which it
// overwrites. raw must have passed jsontext.Check; empty means {}. Decode does not
// retain it. The error is an *Invalid with all faults at once, up to 64, and a corrected call. If a Validate
// method returned the cancellation of ctx, the error is that cancellation.
func (p *Plan) Decode(ctx context.Context, raw []byte, into reflect.Value) (Report, error) {
	if len(raw) == 0 {
		raw = jsonedit.EmptyObject
	}
	done, found, err := p.Plan.Decode(ctx, raw, into)
	if invalid, ok := errors.AsType[*Invalid](err); ok && !invalid.Stopped {
		invalid.Try, invalid.Examples = repair.Suggest(ctx, p.Plan, raw, found)
	}
	return done, err
}

// DecodeStrings reads texts by member name, the form of prompt arguments and URI variables. An empty text is
// an absent member, unless the type is a text. The plan must have been compiled for Strings.
func (p *Plan) DecodeStrings(ctx context.Context, values map[string]string, into reflect.Value) error {
	object, err := p.ObjectOf(values)
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
		out = jsonedit.AppendMember(out, key.String(), jsontext.Quote(nil, jsonedit.TextOf(value)))
	}
	return string(append(out, '}'))
}

// MaskOf returns nil if no member of the plan's type is secret.
func MaskOf(p *Plan) *plan.Mask {
	if p == nil {
		return nil
	}
	return plan.MaskOf(p.Plan)
}

// Names of the packages below, for callers that import only this package.
type (
	// Mode is the purpose of a plan.
	Mode = plan.Mode
	// Options of one plan.
	Options = plan.Options
	// Union lists the struct types that implement an interface.
	Union = plan.Union
	// Field is one top-level member.
	Field = plan.Field
	// Report lists what Decode did beyond reading.
	Report = plan.Report
	// Mask hides the secret members of the values of one plan.
	Mask = plan.Mask
	// Fault is one thing that is wrong with a type.
	Fault = report.Fault
	// Issue is one thing that is wrong with a call.
	Issue = report.Issue
	// Invalid is the error of a refused call.
	Invalid = report.Invalid
	// Panic is a panic of a method of the program.
	Panic = report.Panic
	// Raw is a compiled schema that was written by hand.
	Raw = schema.Raw
	// Narrowing lists what a schema for clients must not have.
	Narrowing = schema.Narrowing
	// Check is a validate tag of the application.
	Check = rules.Check
	// URL is an absolute URL, a string in JSON.
	URL = gotype.URL
)

// Modes.
const (
	Input   = plan.Input
	Output  = plan.Output
	Strings = plan.Strings
	Form    = plan.Form
)

// LegalName reports whether a name has no quote, backslash, comma or control character.
func LegalName(name string) bool { return plan.LegalName(name) }

// NewInvalid returns an error for issues found elsewhere.
func NewInvalid(issues ...Issue) *Invalid { return report.NewInvalid(issues...) }

// Sentence returns the text with a period at the end, unless another mark already ends it.
func Sentence(text string) string { return report.Sentence(text) }

// CompileRaw compiles a schema that was written by hand.
func CompileRaw(text []byte) (*Raw, error) { return schema.CompileRaw(text) }
