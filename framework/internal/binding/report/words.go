package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// JoinSentences joins two texts. Both may be empty.
func JoinSentences(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// Sentence returns the text with a period at the end, unless another mark already ends it.
func Sentence(text string) string {
	const marks = ".!?\u2026\u3002\uff01\uff1f" // the last three are full width
	last, _ := utf8.DecodeLastRuneInString(text)
	if text == "" || strings.ContainsRune(marks, last) {
		return text
	}
	return text + "."
}

// GotWords returns a value as it was sent, cut short, with its kind.
func GotWords(raw []byte) string {
	if kind, ok := KindNames[jsontext.KindOf(raw)]; ok {
		return shortJSON(raw) + " (" + kind + ")"
	}
	return shortJSON(raw) // null
}

// KindNames are the words for the kinds of JSON values, except null.
var KindNames = map[jsontext.Kind]string{
	jsontext.KindString: "text", jsontext.KindNumber: "number", jsontext.KindBool: "bool", jsontext.KindArray: "list", jsontext.KindObject: "object",
}

// shortJSON returns the beginning of a value, without the space between its parts.
func shortJSON(raw []byte) string {
	const shown, read = 40, 400
	if len(raw) > read {
		return jsontext.Clip(OneLine(strings.ToValidUTF8(string(raw[:read]), "")), shown)
	}
	return jsontext.Clip(string(jsontext.Compact(nil, raw)), shown)
}

// ShortPath shortens a pointer with names that the caller chose, and each name in it.
func ShortPath(path string) string {
	const name, whole = 64, 400
	if len(path) <= name {
		return path
	}
	parts := strings.Split(jsontext.Clip(path, 4*whole), "/")
	for i := range parts {
		parts[i] = jsontext.Clip(parts[i], name)
	}
	return jsontext.Clip(strings.Join(parts, "/"), whole)
}

// OneLine returns s with single spaces instead of all white space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// QuoteShort quotes a name from the caller's text, cut short.
func QuoteShort(s string) string { return string(jsontext.Quote(nil, jsontext.Clip(s, 40))) }

// Capped returns the beginning of a long list of names, and the number of the others.
func Capped(names []string) []string {
	const most = 24
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// UniqueTexts removes repetitions from texts. It changes the slice.
func UniqueTexts(texts []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(texts, func(text string) bool {
		known := seen[text]
		seen[text] = true
		return known
	})
}
