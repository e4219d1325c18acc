package rules

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Check is a rule of the application: a validate tag, what the tag demands of values of one Go type, and the
// words for it.
type Check struct {
	Tag    string
	Type   reflect.Type             // type of the values, without pointers
	Holds  func(reflect.Value) bool // called with values of Type only; safe for concurrent use
	Schema json.RawMessage          // keywords for the schema of a value; may be empty
	Want   string                   // what is wanted, as in "a Dutch postcode such as 1234 AB"
}

var tagName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Problem returns what is wrong with the check itself, or "".
func (k Check) Problem() string {
	switch {
	case !tagName.MatchString(k.Tag):
		return fmt.Sprintf("%q is not a name of a tag; use a-z, 0-9 and _", k.Tag)
	case isBuiltIn(k.Tag):
		return fmt.Sprintf("the tag %q exists already", k.Tag)
	case k.Holds == nil:
		return fmt.Sprintf("the function of %q is nil", k.Tag)
	case k.Type == nil || k.Type.Kind() == reflect.Pointer || k.Type.Kind() == reflect.Interface:
		return fmt.Sprintf("%q is for the type %v; use the type of the values themselves", k.Tag, k.Type)
	case strings.TrimSpace(k.Want) == "":
		return fmt.Sprintf("%q does not say what it wants", k.Tag)
	case len(k.Schema) == 0:
		return ""
	}
	return k.schemaProblem()
}

// notForChecks are keywords that the plan sets itself, or that refer to other schemas.
var notForChecks = []string{"type", "$ref", "$defs", "$id", "$schema", "$anchor", "$dynamicRef", "default", "title", "description"}

func (k Check) schemaProblem() string {
	if jsontext.KindOf(k.Schema) != jsontext.KindObject {
		return fmt.Sprintf("the schema of %q is not a JSON object", k.Tag)
	}
	if _, err := schema.CompileRaw(k.Schema); err != nil {
		return fmt.Sprintf("the schema of %q: %v", k.Tag, err)
	}
	for _, w := range schema.Parse(k.Schema) {
		if slices.Contains(notForChecks, w.Name) {
			return fmt.Sprintf("the schema of %q has %s, which comes from the Go type and the other tags", k.Tag, w.Name)
		}
		if pattern, ok := jsontext.String(w.Value); ok && w.Name == "pattern" && strings.Contains(pattern, schema.GoClass) {
			return fmt.Sprintf("the pattern of %q uses %s, which JSON Schema does not know", k.Tag, schema.GoClass)
		}
	}
	return ""
}

// isBuiltIn reports whether validator has the tag. Validator reports an unknown tag only by a panic. For words
// of the tag syntax it panics with another text.
func isBuiltIn(tag string) (known bool) {
	defer func() {
		if r := recover(); r != nil {
			known = !strings.HasPrefix(fmt.Sprint(r), undefined)
		}
	}()
	// Only whether it panics matters, not the verdict on the sample.
	_ = validator.New().Var("x", tag)
	return true
}

// NewValidator returns a validator with the application's own rules, and with functions of this package for
// long texts; long are the formats that refuse such a text by themselves. A rule that has a problem is left out;
// using it is a fault then.
func NewValidator(checks []Check, long map[string]bool) *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for tag, scan := range scans {
		register(v, tag, func(fl validator.FieldLevel) bool {
			if fl.Field().Kind() != reflect.String {
				return builtIn(fl, tag)
			}
			return scan(fl.Field().String())
		})
	}
	for tag := range long {
		register(v, tag, func(fl validator.FieldLevel) bool {
			tooLong := fl.Field().Kind() == reflect.String && fl.Field().Len() > longest[tag]
			return !tooLong && builtIn(fl, tag)
		})
	}
	for tag := range forbidden { // Build refuses these, but does not see the fields of types that decode themselves
		register(v, tag, func(validator.FieldLevel) bool { return true })
	}
	for _, k := range checks {
		if k.Problem() == "" {
			register(v, k.Tag, func(fl validator.FieldLevel) bool { return k.holds(fl.Field()) })
		}
	}
	return v
}

// register adds a rule to v. Validator refuses only an empty tag and a nil function, so it does not panic.
func register(v *validator.Validate, tag string, holds validator.Func) {
	if err := v.RegisterValidation(tag, holds); err != nil {
		panic(fmt.Sprintf("validate rule %q: %v", tag, err))
	}
}

// Validator returns a validator for single values. It is made at its first use: registering 170 rules
// takes time.
func (c *Compiler) Validator() *validator.Validate {
	if c.judge == nil {
		c.judge = NewValidator(c.Checks, c.Long)
	}
	return c.judge
}

// holds calls the function of the check. If the function panics, holds returns false.
func (k *Check) holds(v reflect.Value) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return v.Type() == k.Type && k.Holds(v)
}

// attach finds the application's checks among the rules of a tag.
func (c *Compiler) attach(k *Constraints) {
	if k == nil || len(c.Checks) == 0 {
		return
	}
	attachTo(k.Rules, c.Checks)
	c.attach(k.Keys)
	c.attach(k.Elem)
}

func attachTo(rules []Rule, checks []Check) {
	for i := range rules {
		attachTo(rules[i].alts, checks)
		if at := slices.IndexFunc(checks, func(k Check) bool { return k.Tag == rules[i].Name }); at >= 0 {
			rules[i].check = &checks[at]
		}
	}
}

// lintCheck reports whether the check can be used on type t, and files a fault if not.
func (c *Compiler) lintCheck(r Rule, t reflect.Type) bool {
	switch problem := r.check.Problem(); {
	case problem != "":
		c.Fault("", "Validation: "+problem, "Correct the option")
	case r.Param != "":
		c.Fault("", fmt.Sprintf("validate rule %q has a parameter", r), "Write "+r.Name)
	case t != r.check.Type:
		c.Fault("", fmt.Sprintf("validate rule %q is for type %s, not %s", r, r.check.Type, t), "Use it on fields of that type")
	default:
		return true
	}
	return false
}

func (k *Check) sentence() string { return "Must be " + k.wanted() + "." }

func (k *Check) wanted() string { return strings.TrimSuffix(strings.TrimSpace(k.Want), ".") }

// CheckWords returns the words of the check if it is the only rule, and "" otherwise.
func (c *Constraints) CheckWords() string {
	if c == nil {
		return ""
	}
	words := ""
	for _, r := range c.Rules {
		switch {
		case r.structural():
		case r.check == nil || words != "":
			return ""
		default:
			words = r.check.wanted()
		}
	}
	return words
}
