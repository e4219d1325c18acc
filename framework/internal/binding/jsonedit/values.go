package jsonedit

import (
	"bytes"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Unquoted returns the JSON value that a string contains, if it is of one of the wanted kinds. It may alias raw.
func Unquoted(raw []byte, want ...jsontext.Kind) ([]byte, bool) {
	inner, ok := jsontext.Text(raw)
	if !ok {
		return nil, false
	}
	inner = bytes.Trim(inner, " \t\r\n")
	switch string(inner) { // as Python writes them
	case "True", "False", "TRUE", "FALSE":
		inner = bytes.ToLower(inner)
	}
	if !slices.Contains(want, jsontext.KindOf(inner)) || jsontext.Check(inner, jsontext.DefaultLimits()) != nil {
		return nil, false
	}
	return slices.Clip(inner), true
}

// IsContainer reports whether a JSON text is an array or an object.
func IsContainer(raw []byte) bool {
	kind := jsontext.KindOf(raw)
	return kind == jsontext.KindArray || kind == jsontext.KindObject
}

// TextOf is a scalar without quotes.
func TextOf(raw []byte) string {
	if s, ok := jsontext.String(raw); ok {
		return s
	}
	return string(raw)
}

// EmptyObject is the JSON text {}. It must not be changed.
var EmptyObject = []byte("{}")

// List renders JSON texts as an array.
func List(items [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// QuoteAll returns the texts as JSON strings.
func QuoteAll(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = jsontext.Quote(nil, t)
	}
	return out
}
