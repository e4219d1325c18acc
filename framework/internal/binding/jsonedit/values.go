package jsonedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Unquoted returns the JSON value that a string contains, if it is of one of the wanted kinds.
func Unquoted(raw []byte, want ...jsontext.Kind) ([]byte, bool) {
	text, ok := jsontext.String(raw)
	if !ok {
		return nil, false
	}
	switch text { // as Python writes them
	case "True", "False", "TRUE", "FALSE":
		text = strings.ToLower(text)
	}
	inner := []byte(text)
	if !slices.Contains(want, jsontext.KindOf(inner)) || jsontext.Check(inner, jsontext.DefaultLimits()) != nil {
		return nil, false
	}
	return inner, true
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
