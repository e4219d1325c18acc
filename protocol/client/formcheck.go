package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Check returns what is wrong with one value of the field, as "must be ...", or nil. A value that
// is not JSON is wrong. Formats are checked only well enough to catch typing errors.
func (f *Field) Check(value json.RawMessage) error {
	if err := f.checkType(value); err != nil {
		return err
	}
	switch {
	case f.Type == "array":
		return f.checkList(value)
	case f.Choices != nil:
		return f.checkChoice(value)
	}
	if text, ok := jsontext.String(value); ok {
		return f.checkText(text)
	}
	return f.checkNumber(value)
}

// fieldTypes maps each type of a field to its JSON type and to its name in an error text.
var fieldTypes = map[string]struct {
	kind jsontext.Kind
	name string
}{
	"string":  {jsontext.KindString, "a string"},
	"boolean": {jsontext.KindBool, "a boolean"},
	"number":  {jsontext.KindNumber, "a number"},
	"integer": {jsontext.KindNumber, "an integer"},
	"array":   {jsontext.KindArray, "an array"},
}

func (f *Field) checkType(value []byte) error {
	kind := jsontext.KindInvalid
	if jsontext.Check(value, limits(len(value))) == nil {
		kind = jsontext.KindOf(value)
	}
	want, typed := fieldTypes[f.Type]
	switch {
	case !typed && kind == jsontext.KindInvalid:
		return errors.New("must be a JSON value")
	case typed && kind != want.kind, f.Type == "integer" && !integral(value):
		return fmt.Errorf("must be %s", want.name)
	}
	return nil
}

// integral reports whether a number is an integer of JSON Schema. 3.0 is one, and so are numbers
// beyond int64 if they are written without an exponent.
func integral(value []byte) bool {
	_, ok := jsontext.Int64(value)
	return ok || jsontext.IsInteger(value)
}

func (f *Field) checkChoice(value []byte) error {
	key := valueKey(value)
	if slices.ContainsFunc(f.Choices, func(c Choice) bool { return valueKey(c.Value) == key }) {
		return nil
	}
	return fmt.Errorf("must be one of %s", f.listing())
}

// listing returns the choices, for an error text.
func (f *Field) listing() string {
	texts := make([]string, len(f.Choices))
	for i, c := range f.Choices {
		texts[i] = string(c.Value)
	}
	return strings.Join(texts, ", ")
}

// valueKey returns a key that is equal for all spellings of the same text.
func valueKey(value []byte) string {
	if text, ok := jsontext.String(value); ok {
		return `"` + text
	}
	return string(value)
}

func (f *Field) checkList(value []byte) error {
	n := int64(jsontext.Len(value))
	switch {
	case f.MinItems != nil && n < *f.MinItems:
		return fmt.Errorf("must have at least %d of the choices", *f.MinItems)
	case f.MaxItems != nil && n > *f.MaxItems:
		return fmt.Errorf("must have at most %d of the choices", *f.MaxItems)
	case f.Choices == nil:
		return nil
	}
	choices := make(map[string]bool, len(f.Choices))
	for _, c := range f.Choices {
		choices[valueKey(c.Value)] = true
	}
	for one := range jsontext.Elements(value) {
		if !choices[valueKey(one)] {
			return fmt.Errorf("must hold only %s", f.listing())
		}
	}
	return nil
}

func (f *Field) checkText(text string) error {
	n := int64(utf8.RuneCountInString(text))
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Errorf("must have at least %s", characters(*f.MinLength))
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Errorf("must have at most %s", characters(*f.MaxLength))
	}
	return checkFormat(f.Format, text)
}

func characters(n int64) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.FormatInt(n, 10) + " characters"
}

func checkFormat(format, text string) error {
	switch format {
	case "email":
		user, host, ok := strings.Cut(text, "@")
		if !ok || user == "" || host == "" || strings.ContainsAny(text, " \t\r\n") || strings.Contains(host, "@") {
			return errors.New("must be an email address")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return errors.New("must be a URI with its scheme")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return errors.New("must be a date as 2006-01-31")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return errors.New("must be a date and time as 2006-01-31T15:04:05Z")
		}
	}
	return nil
}

func (f *Field) checkNumber(value []byte) error {
	if jsontext.KindOf(value) != jsontext.KindNumber {
		return nil
	}
	switch {
	case f.Minimum != nil && less(value, f.Minimum):
		return fmt.Errorf("must be at least %s", f.Minimum)
	case f.Maximum != nil && less(f.Maximum, value):
		return fmt.Errorf("must be at most %s", f.Maximum)
	}
	return nil
}

// less compares integers exactly, and other numbers as floating-point numbers, as most programs do.
func less(x, y []byte) bool {
	i, exact := jsontext.Int64(x)
	j, too := jsontext.Int64(y)
	if exact && too {
		return i < j
	}
	p, _ := strconv.ParseFloat(string(x), 64) // value is a number; if it is too large, the result is infinite
	q, _ := strconv.ParseFloat(string(y), 64)
	return p < q
}
