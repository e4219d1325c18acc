package plan

import (
	"cmp"
	"context"
	"errors"
	"reflect"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// userCheck calls a type's own Validate method.
type userCheck func(ctx context.Context, v reflect.Value) error

type (
	checker        interface{ Validate() error }
	contextChecker interface {
		Validate(ctx context.Context) error
	}
)

// userCheckOf looks for Validate among the methods of t and of its pointer.
func userCheckOf(t reflect.Type) userCheck {
	p := reflect.PointerTo(gotype.Deref(t))
	receiver := func(v reflect.Value) any { return behind(v).Addr().Interface() }
	switch {
	case p.Implements(reflect.TypeFor[checker]()):
		return func(_ context.Context, v reflect.Value) error { return custom(receiver(v).(checker).Validate()) }
	case p.Implements(reflect.TypeFor[contextChecker]()):
		return func(ctx context.Context, v reflect.Value) error {
			err := receiver(v).(contextChecker).Validate(ctx)
			if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			return custom(err)
		}
	}
	return nil
}

// run calls the method, which may panic. Nothing is called if the type has none.
func (c userCheck) run(ctx context.Context, v reflect.Value) (err error) {
	if c == nil {
		return nil
	}
	defer report.Recovered(&err)
	return c(ctx, v)
}

// custom turns an error of the program's Validate into issues: its text was written for the
// caller. Joined errors are one issue each.
func custom(err error) error {
	if err == nil {
		return nil
	}
	errs := []error{err}
	_, keeps := err.(keeper) //nolint:errorlint // err itself; what it wraps is looked at below
	if joined, ok := err.(interface{ Unwrap() []error }); ok && !keeps && len(joined.Unwrap()) > 0 {
		errs = joined.Unwrap()
	}
	issues := make([]report.Issue, 0, len(errs))
	var causes []error
	for _, e := range errs {
		for k, ok := errors.AsType[keeper](e); ok; k, ok = errors.AsType[keeper](e) {
			shown, cause := k.Kept()
			e, causes = shown, append(causes, cause)
		}
		if invalid, ok := errors.AsType[*report.Invalid](e); ok {
			with := *invalid
			with.Cause = errors.Join(append(causes, invalid.Cause)...)
			return &with
		}
		text := cmp.Or(jsontext.Clip(report.OneLine(e.Error()), 500), "not valid")
		issues = append(issues, report.Issue{Hint: report.Sentence(text), Rule: report.RuleCustom})
	}
	invalid := report.NewInvalid(issues...)
	invalid.Cause = errors.Join(causes...)
	return invalid
}

// keeper is an error that shows one error to the caller, and keeps another one for the log.
type keeper interface {
	error
	Kept() (shown, cause error)
}
